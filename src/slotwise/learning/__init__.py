"""What observations teach of the operators: profiles and selectivities kept current by a run.

What is measured is compared with what the plan's own profiles say of the plan, on its machines and
with as many threads per slot as it has; the profiles are corrected by the difference. So the same
rule holds for all forms of profiles, and for nodes of unequal speed. What is not measured (None)
stays as it is, and so do fixed loads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from slotwise.learning.beliefs import Beliefs
from slotwise.learning.seen import Seen
from slotwise.learning.work import Correction
from slotwise.model import Observation, Pipeline, Plan, Profiles
from slotwise.rates import sent_per_tuple

SMOOTHING = 0.8


@dataclass(frozen=True)
class Lesson:
    """What was measured of one operator, beside what its profile says of this plan."""

    operator: str
    service_ms: float
    """As measured."""
    believed_ms: float
    """As in the profile."""
    correction: Correction


@dataclass(frozen=True)
class Learned:
    """What a run shows of a pipeline."""

    lessons: Mapping[str, Lesson]
    """By operator; those of which too little was seen are not among them."""
    profiles: Profiles
    selectivities: tuple[float, ...]
    """Per stream of the topology, as measured, or as given where that is not known."""

    def of(self, pipeline: Pipeline) -> Pipeline:
        """The pipeline as it is measured to be. To plan with: a plan that is given to a deployment
        has the topology as it was.
        """
        topology = pipeline.topology
        streams = tuple(
            replace(stream, selectivity=measured)
            for stream, measured in zip(topology.streams, self.selectivities, strict=True)
        )
        return replace(
            pipeline, topology=replace(topology, streams=streams), profiles=self.profiles
        )


def learned(
    plan: Plan, observations: Sequence[Observation], smoothing: float = SMOOTHING
) -> Learned:
    """What the observations of this plan, newest last, teach.

    Means are over tuples; in each window a tuple counts `smoothing` times what it counts in the
    next one: 1 is the plain mean, 0 only the newest window.
    O(windows × (operators + streams + slots) + threads log threads); with a platform see
    `Overheads.charged`.
    """
    pipeline, topology = plan.pipeline, plan.pipeline.topology
    seen, beliefs = Seen(plan, observations, smoothing), Beliefs.of(plan)
    works = {
        operator.name: work
        for position, operator in enumerate(topology.operators)
        if pipeline.profiles.fixed(operator.name) is None
        if (work := seen.work(position)) is not None
    }
    corrections = beliefs.corrections(works, seen)
    sent = sent_per_tuple(topology, plan.placement.threads).tolist()
    corrected = {
        name: correction.of(pipeline.profiles, name, sent[topology.index[name]])
        for name, correction in corrections.items()
    }
    return Learned(
        {
            name: Lesson(
                name, 1000 * work.service_s, beliefs.time_ms(name, seen), corrections[name]
            )
            for name, work in works.items()
        },
        replace(pipeline.profiles, by_operator={**pipeline.profiles.by_operator, **corrected}),
        tuple(map(seen.selectivity, range(len(topology.streams)))),
    )

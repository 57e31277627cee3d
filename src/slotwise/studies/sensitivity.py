"""Which assumption decides how paper 4's pipeline compares with the default: one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from slotwise.studies.conditions import (
    ASSUMED,
    DEFAULT,
    IN_ORDER,
    OVERLOAD,
    PIPELINE,
    UNSTEPPED,
    USUAL,
    Conditions,
    Trial,
    latency_ms,
    sent_again,
    throughput,
)
from slotwise.studies.study import Chart, Effort, Line, Table

TITLE = "Which assumption decides: the pipeline against the default, one changed at a time"


@dataclass(frozen=True)
class Question:
    """What is assumed differently: of the conditions, or of who is compared with whom."""

    assumption: str
    value: str
    given: Conditions = ASSUMED
    load: float = USUAL
    """At which latencies are compared."""
    ours: str = PIPELINE
    theirs: str = DEFAULT


@dataclass(frozen=True)
class Answer:
    """For one topology."""

    saved: float
    """Percent that our latency is below theirs."""
    gain: float
    """Percent that our throughput under overload is above theirs."""
    sent_again: tuple[float, float]
    """Times per input, at the latencies' load: theirs, ours."""


_SMALL = replace(ASSUMED, node_buffer=1)
_PREMISE = replace(_SMALL, stalls=False, equally_far=True)
BASE = Question(
    "as assumed",
    f"{ASSUMED.node_buffer:,} tuples, sent again after {ASSUMED.resend_ms:g} ms; load {USUAL:g}",
)
TWO_TUPLES = Question("a node's receive buffer", "2 tuples", replace(ASSUMED, node_buffer=2))
ONE_TUPLE = Question("a node's receive buffer", "1 tuple", _SMALL)
PREMISE = Question("the paper's picture", "1 tuple; no stalls; all nodes equally far", _PREMISE)
"""What comes while another tuple is being received is dropped, and steps prevent that for free."""
QUESTIONS = (
    BASE,
    Question("a node's receive buffer", "64 tuples", replace(ASSUMED, node_buffer=64)),
    TWO_TUPLES,
    ONE_TUPLE,
    Question("… and sent again after", "10 ms", replace(_SMALL, resend_ms=10.0)),
    Question("… and sent again after", "1,000 ms", replace(_SMALL, resend_ms=1000.0)),
    Question(
        "links; distances",
        "800 Mbps; all nodes equally far",
        replace(ASSUMED, link_speed=8.0, equally_far=True),
    ),
    Question("load for the latency", "0.05", load=0.05),
    Question("load for the latency", "0.2", load=0.2),
    Question("default's placement", IN_ORDER, theirs=IN_ORDER),
    Question("steps", "4 tuples a turn", replace(ASSUMED, turn_tuples=4)),
    Question("steps", "all nodes equally far", replace(ASSUMED, equally_far=True)),
    Question("steps", "no stalls", replace(ASSUMED, stalls=False)),
    Question("steps", "none", ours=UNSTEPPED),
    Question("steps; default's placement", f"none; {IN_ORDER}", theirs=IN_ORDER, ours=UNSTEPPED),
    PREMISE,
    Question("… with links of", "800 Mbps", replace(_PREMISE, link_speed=8.0)),
)
BUFFERS = (1, 2, 3, 4, 8)
"""Receive buffers for the picture, in tuples."""


@dataclass(frozen=True)
class Sensitivity:
    """All answers, by question and topology, and the latencies by size of the receive buffer."""

    answers: Mapping[tuple[Question, str], Answer]
    topologies: Sequence[str]
    latencies_ms: Mapping[tuple[str, str, int], float]
    """By topology, scheduler and buffer, under the paper's picture."""

    @classmethod
    def of(cls, trials: Sequence[Trial], effort: Effort) -> Sensitivity:
        wanted = [(question, trial) for question in QUESTIONS for trial in trials]
        answers = {
            (question, trial.case.name): _answer(question, trial, effort)
            for question, trial in effort.each(wanted, "assumptions")
        }
        sizes = [(trial, who, k) for trial in trials for who in _DRAWN for k in BUFFERS]
        latencies_ms = {
            (trial.case.name, who, size): latency_ms(
                trial.seen(who, USUAL, _tuples(effort), effort, replace(_PREMISE, node_buffer=size))
            )
            for trial, who, size in effort.each(sizes, "receive buffers")
        }
        return cls(answers, [trial.case.name for trial in trials], latencies_ms)

    def saved(self, question: Question) -> str:
        """For a sentence: percent by topology."""
        return ", ".join(
            f"{name} {self.answers[question, name].saved:+,.0f} %" for name in self.topologies
        )

    def table(self) -> Table:
        return Table(
            TITLE,
            (
                *("assumption", "value"),
                *(f"{name}: latency below %" for name in self.topologies),
                *(f"{name}: throughput above %" for name in self.topologies),
                *(
                    f"{name}: sent again per input, {who}"
                    for name in self.topologies
                    for who in (DEFAULT, PIPELINE)
                ),
            ),
            tuple((q.assumption, q.value, *self._cells(q)) for q in QUESTIONS),
        )

    def _cells(self, question: Question) -> tuple[float, ...]:
        answers = [self.answers[question, name] for name in self.topologies]
        return (
            *(answer.saved for answer in answers),
            *(answer.gain for answer in answers),
            *(again for answer in answers for again in answer.sent_again),
        )

    def charts(self) -> tuple[Chart, ...]:
        return tuple(
            Chart(
                f"buffer-{name}",
                f"{name.capitalize()}: latency by size of the receive buffers "
                "(no stalls, all equally far)",
                "tuples that a node's receive buffer holds",
                "ms",
                tuple(
                    Line(who, BUFFERS, tuple(self.latencies_ms[name, who, k] for k in BUFFERS))
                    for who in _DRAWN
                ),
            )
            for name in self.topologies
        )


_DRAWN = (DEFAULT, PIPELINE, UNSTEPPED)


def _tuples(effort: Effort) -> int:
    return effort.pick(20_000, 4_000)


def _answer(question: Question, trial: Trial, effort: Effort) -> Answer:
    calm, crowded = (
        [
            trial.seen(who, load, _tuples(effort), effort, question.given)
            for who in (question.theirs, question.ours)
        ]
        for load in (question.load, OVERLOAD)
    )
    theirs, ours = map(latency_ms, calm)
    their_rate, our_rate = map(throughput, crowded)
    return Answer(
        saved=100 * (1 - ours / theirs),
        gain=100 * (our_rate / their_rate - 1),
        sent_again=(sent_again(calm[0]), sent_again(calm[1])),
    )

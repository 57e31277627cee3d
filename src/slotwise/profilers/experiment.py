"""The whole experiment: a bench, the operators' inputs, their profiles one after the other."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slotwise.machine import cpu_model, java_version, spark_version
from slotwise.model import Operator, Pipeline, Profile, SlotwiseError, counted
from slotwise.profilers.bench import Bench, bench
from slotwise.profilers.capture import cases
from slotwise.profilers.case import Case, check
from slotwise.profilers.journal import Journal, Key, fingerprint
from slotwise.profilers.operators import Procedure, profiled
from slotwise.profilers.peaks import saturation
from slotwise.profilers.platform import measure_idle
from slotwise.profilers.time_left import TimeLeft
from slotwise.profilers.trial import Peak, Profiled, Trial
from slotwise.spark.cluster.libraries import settings
from slotwise.spark.cluster.quotas import NotPermitted
from slotwise.spark.query.functions import imported
from slotwise.suggestions import instead_of


@dataclass(frozen=True)
class Slot:
    """The slot under test."""

    cores: float | None = 1.0
    """Its CPU quota; None: it has none."""
    memory_mb: int = 512


OUT_OF_MEMORY = re.compile("OutOfMemoryError|out of memory")
USUAL_SLOT, USUAL_PROCEDURE = Slot(), Procedure()


@dataclass(frozen=True)
class Failed:
    """An operator that could not be measured, and why."""

    operator: str
    reason: str


@contextmanager
def prepared(
    slot: Slot = USUAL_SLOT,
    progress: Callable[[str], None] = lambda sentence: None,
    libraries: Mapping[str, str] | None = None,
) -> Iterator[Bench]:
    """A bench whose slot under test is known when idle. Raises SlotwiseError without permission for
    a CPU quota. `libraries`: settings for the Java libraries of what is to be measured.
    """
    if slot.cores is not None and not 0 < slot.cores < math.inf:
        raise SlotwiseError("--cores must be greater than 0")
    progress("starting a cluster")
    with _permitted(bench(slot.cores, slot.memory_mb, libraries)) as on:
        on.idle = measure_idle(on)
        progress(f"an idle slot takes {on.idle.cpu_cores:.3f} cores and {on.idle.memory_mb:.0f} MB")
        yield on


@contextmanager
def _permitted(made: AbstractContextManager[Bench]) -> Iterator[Bench]:
    """What to do without permission for quotas."""
    with ExitStack() as stack:
        try:
            on = stack.enter_context(made)
        except NotPermitted as refused:
            raise SlotwiseError(
                f"{refused.why}: measure with --no-quota, or run with permission to write there"
            ) from None
        yield on


def measure(
    on: Bench,
    pipeline: Pipeline,
    operators: Sequence[str] = (),
    procedure: Procedure = USUAL_PROCEDURE,
    *,
    trials: Path | None = None,
    bound: Mapping[str, Callable[..., Any]] | None = None,
    progress: Callable[[str], None] = lambda sentence: None,
) -> Iterator[Profiled | Failed]:
    """Each operator as soon as it is measured; all of the pipeline if none is named.

    `trials` is a file of finished trials: what is in it is not measured again, and what is measured
    is added. Raises SlotwiseError for an operator that is not there or has nothing to measure.
    """
    names = chosen(pipeline, operators, bound)
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(trials)) if trials is not None else None
        progress(f"capturing the input of {counted(len(names), 'operator')}")
        found = cases(on, pipeline, names, bound)
        left = TimeLeft(on.clock, _steps(found, procedure))
        for number, (name, case) in enumerate(found.items(), 1):
            progress(f"operator {number} of {len(found)}: {name}{left}")
            if isinstance(case, SlotwiseError):
                yield Failed(name, str(case))
            else:
                key = _key(on, pipeline, case, procedure, bound or {})
                yield _measured(on, key, case, procedure, journal, left, progress)
            left.end(name)


def measured_profiles(
    pipeline: Pipeline,
    operators: Sequence[str] = (),
    *,
    slot: Slot = USUAL_SLOT,
    procedure: Procedure = USUAL_PROCEDURE,
    trials: Path | None = None,
    bound: Mapping[str, Callable[..., Any]] | None = None,
    progress: Callable[[str], None] = lambda sentence: None,
) -> Iterator[tuple[str, Profile]]:
    """The profiles of these operators, each by its name as soon as it is measured, on a bench that
    is started for them; as `measure`. Raises SlotwiseError in the end for those that could not be.
    """
    chosen(pipeline, operators, bound)  # refuses an unknown one before anything starts
    failed = []
    with prepared(slot, progress, settings(pipeline)) as on:
        for found in measure(
            on, pipeline, operators, procedure, trials=trials, bound=bound, progress=progress
        ):
            if isinstance(found, Failed):
                failed.append(f"operator '{found.operator}' was not measured: {found.reason}")
            else:
                yield found.operator, found.profile
    if failed:
        raise SlotwiseError("; ".join(failed))


def _steps(cases: Mapping[str, Case | SlotwiseError], procedure: Procedure) -> dict[str, int]:
    """Per operator, how many parts its measurement has at the most: thread counts, and costs."""
    return {
        name: len(procedure.counts_of(case.operator))
        + (procedure.with_costs and case.input is not None)
        for name, case in cases.items()
        if isinstance(case, Case)
    }


def _measured(
    on: Bench,
    key: Key,
    case: Case,
    procedure: Procedure,
    journal: Journal | None,
    left: TimeLeft,
    progress: Callable[[str], None],
) -> Profiled | Failed:
    def kept(finished: Peak | Sequence[Trial]) -> None:
        left.finish(case.name)
        if journal is None:
            return
        if isinstance(finished, Peak):
            journal.add(key, finished)
        else:
            journal.add_costs_trials(key, finished)

    known = journal.peaks(key) if journal is not None else {}
    costs = (journal.costs_trials(key) if journal is not None else None) or ()
    left.skip(case.name, len(known) + bool(costs))
    try:
        return profiled(
            on,
            case,
            procedure,
            known,
            costs,
            kept=kept,
            progress=lambda sentence: progress(f"{sentence}{left}"),
        )
    except SlotwiseError as error:
        return Failed(case.name, _why(on, str(error)))


def _why(on: Bench, reason: str) -> str:
    """With what to do about it, where that is known."""
    if OUT_OF_MEMORY.search(reason) is None:
        return reason
    return (
        f"it needs more memory than the {on.slot_memory_mb:,} MB of its slot (--slot-memory-mb): "
        f"{reason}"
    )


def _key(
    on: Bench,
    pipeline: Pipeline,
    case: Case,
    procedure: Procedure,
    bound: Mapping[str, Callable[..., Any]],
) -> Key:
    def function_of(operator: Operator) -> Callable[..., Any] | None:
        return bound.get(operator.name) or imported(operator.logic.python)

    return Key(
        case.name,
        fingerprint(pipeline.topology, case.name, function_of),
        "saturation" if procedure.find_peak is saturation else repr(procedure.find_peak),
        on.cores,
        float(on.slot_memory_mb),
        spark_version() or "unknown",
        java_version() or "unknown",
        cpu_model(),
    )


def chosen(
    pipeline: Pipeline,
    operators: Sequence[str],
    bound: Mapping[str, Callable[..., Any]] | None = None,
) -> list[str]:
    """All operators if none is named. Raises SlotwiseError for one that is not there, or that has
    no logic to measure.
    """
    known = [operator.name for operator in pipeline.topology.operators]
    for name in operators:
        if name not in known:
            raise SlotwiseError(f"there is no operator '{name}': {instead_of(name, known)}")
    names = list(dict.fromkeys(operators)) or known
    for name in names:
        check(pipeline.topology.operators[pipeline.topology.index[name]], (bound or {}).get(name))
    return names

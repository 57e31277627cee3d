"""Were profiles and the platform measured on a machine like this one? What a plan warns of.

Typed profiles are nobody's measurement, and so never warned of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from slotwise import machine
from slotwise.model import Measurement, Pipeline, counted

THE_PLATFORM = "the platform"
MOST_NAMES = 3
"""More operators than that are counted."""


def warnings(pipeline: Pipeline) -> tuple[str, ...]:
    """A sentence each: another CPU model, another Spark version, different CPU quotas.

    Without pyspark here, nothing is said of Spark versions.
    """
    measured = dict(_measured(pipeline))
    if not measured:
        return ()
    cpu, spark = machine.cpu_model(), machine.spark_version()
    return (
        *_elsewhere(measured, lambda each: each.cpu, cpu, "on {}, this machine has {}"),
        *(
            _elsewhere(measured, lambda each: each.spark, spark, "with Spark {}, here is {}")
            if spark
            else ()
        ),
        *_quotas(measured),
    )


def _measured(pipeline: Pipeline) -> Iterator[tuple[str, Measurement]]:
    for operator in pipeline.topology.operators:
        if (measurement := pipeline.profiles.measurement(operator.name)) is not None:
            yield operator.name, measurement
    if pipeline.platform.measurement is not None:
        yield THE_PLATFORM, pipeline.platform.measurement


def _elsewhere(
    measured: dict[str, Measurement], of: Callable[[Measurement], str], here: str, text: str
) -> Iterator[str]:
    for there in dict.fromkeys(map(of, measured.values())):
        if there != here:
            names = [name for name, each in measured.items() if of(each) == there]
            yield f"{_named(names)} measured {text.format(there, here)}: predictions may be off"


def _quotas(measured: dict[str, Measurement]) -> Iterator[str]:
    """What is a part of one slot cannot be added to what is a part of another."""
    groups: dict[float | None, list[str]] = {}
    for name, each in measured.items():
        groups.setdefault(each.cores, []).append(name)
    if len(groups) > 1:
        parts = "; ".join(f"{_named(names)} measured {_quota(c)}" for c, names in groups.items())
        yield f"CPU quotas differ: {parts}"


def _quota(cores: float | None) -> str:
    return "without a quota" if cores is None else f"with {cores:g} cores per slot"


def _named(names: list[str]) -> str:
    operators = [name for name in names if name != THE_PLATFORM]
    if len(operators) > MOST_NAMES:
        operators = [counted(len(operators), "profile")]
    shown = operators + [name for name in names if name == THE_PLATFORM]
    verb = "was" if len(names) == 1 else "were"
    return f"{', '.join(shown)} {verb}"

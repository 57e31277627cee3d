"""Were profiles and the platform measured, and on a machine like this one? What a plan warns of.

Typed profiles are nobody's measurement, and so never warned of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from slotwise import machine
from slotwise.model import Measurement, Pipeline, Platform, counted

THE_PLATFORM = "the platform"
_CPU = "on {}, this machine has {}"
_SPARK = "with Spark {}, here is {}"
_JAVA = "with Java {}, here is {}"
MOST_NAMES = 3
"""More operators than that are counted."""


def warnings(pipeline: Pipeline) -> tuple[str, ...]:
    """A sentence each: another CPU model, another Spark version or major version of Java, slots
    with other memory, different CPU quotas, a platform that was not measured.

    Without pyspark or Java here, nothing is said of their versions. Asks Java for its version once,
    about 0.1 s.
    """
    measured = dict(_measured(pipeline))
    if not measured:
        return ()
    return (
        *_elsewhere(measured, lambda each: each.cpu, machine.cpu_model(), _CPU),
        *_elsewhere(measured, lambda each: each.spark, machine.spark_version(), _SPARK),
        *_elsewhere(
            measured, lambda each: _major(each.java), _major(machine.java_version()), _JAVA
        ),
        *_memory(measured, pipeline.profiles.slot_memory_mb),
        *_quotas(measured),
        *_without_platform(measured, pipeline.platform),
    )


def _major(version: str | None) -> str | None:
    """17 of 17.0.15; None: not known."""
    return None if version in (None, "unknown") else str(version).partition(".")[0]


def _measured(pipeline: Pipeline) -> Iterator[tuple[str, Measurement]]:
    for operator in pipeline.topology.operators:
        if (measurement := pipeline.profiles.measurement(operator.name)) is not None:
            yield operator.name, measurement
    if pipeline.platform.measurement is not None:
        yield THE_PLATFORM, pipeline.platform.measurement


def _elsewhere(
    measured: dict[str, Measurement],
    of: Callable[[Measurement], str | None],
    here: str | None,
    text: str,
) -> Iterator[str]:
    """Where both are known."""
    for there in dict.fromkeys(map(of, measured.values())):
        if there is not None and here is not None and there != here:
            names = [name for name, each in measured.items() if of(each) == there]
            yield f"{_named(names)} measured {text.format(there, here)}: predictions may be off"


def _memory(measured: dict[str, Measurement], here_mb: float) -> Iterator[str]:
    """Memory of an experiment's profile is a part of the slot that it was measured in. A run has
    none, and that of the platform is in MB.
    """
    groups: dict[float, list[str]] = {}
    for name, each in measured.items():
        if each.source == "experiment" and each.memory_mb is not None and name != THE_PLATFORM:
            groups.setdefault(each.memory_mb, []).append(name)
    for there_mb, names in groups.items():
        if round(there_mb) != round(here_mb):
            yield (
                f"{_named(names)} measured in slots of {there_mb:,.0f} MB, and the spec's have "
                f"{here_mb:,.0f} MB: predicted memory may be off"
            )


def _quotas(measured: dict[str, Measurement]) -> Iterator[str]:
    """What is a part of one slot cannot be added to what is a part of another."""
    groups: dict[float | None, list[str]] = {}
    for name, each in measured.items():
        groups.setdefault(each.cores, []).append(name)
    if len(groups) > 1:
        parts = "; ".join(f"{_named(names)} measured {_quota(c)}" for c, names in groups.items())
        yield f"CPU quotas differ: {parts}"


def _without_platform(measured: dict[str, Measurement], platform: Platform) -> Iterator[str]:
    if platform == Platform():
        yield (
            f"{_named(list(measured))} measured, but not the platform: predictions lack what Spark "
            "itself takes; run 'slotwise profile --platform' and include its file"
        )


def _quota(cores: float | None) -> str:
    return "without a quota" if cores is None else f"with {cores:g} cores per slot"


def _named(names: list[str]) -> str:
    operators = [name for name in names if name != THE_PLATFORM]
    if len(operators) > MOST_NAMES:
        operators = [counted(len(operators), "profile")]
    shown = operators + [name for name in names if name == THE_PLATFORM]
    verb = "was" if len(names) == 1 else "were"
    return f"{', '.join(shown)} {verb}"

"""Profiles from an ordinary run, without an experiment: `slotwise run --json` has all they need.

A run times every tuple and counts each thread's CPU, so it gives each operator's own work: one
thread's service rate and how much it varies, CPU per tuple, selectivities. It does not show how
threads slow one another down in a slot (paper 1's table): that takes an experiment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slotwise.learning.work import OwnWork
from slotwise.model import (
    Measurement,
    ModelError,
    ProfileForms,
    SlotwiseError,
    Topology,
)
from slotwise.profilers.trial import Profiled

StreamEnds = tuple[str, str]
"""Names of the sending and the receiving operator."""


@dataclass(frozen=True)
class RunProfiles:
    """What a run shows of its operators; those that handled nothing are not among them."""

    profiles: Mapping[str, ProfileForms]
    selectivities: Mapping[StreamEnds, float]
    remarks: tuple[str, ...]
    """What a reader must know, one sentence each."""

    @property
    def profiled(self) -> tuple[Profiled, ...]:
        """As an experiment gives them, for reports; there are no trials."""
        return tuple(Profiled(name, profile, ()) for name, profile in self.profiles.items())


def profiles_from_run(run: Path | Mapping[str, Any], topology: Topology) -> RunProfiles:
    """From the file that `slotwise run --json` printed into, or its content.

    Raises SlotwiseError if it is no such file, or a run of another topology.
    """
    name = str(run) if isinstance(run, Path) else "the run"
    data = _content(run) if isinstance(run, Path) else run
    try:
        _check_topology(data, topology, name)
        measurement = Measurement(**data["measurement"])
        return _profiles(data["measured"], measurement, topology)
    except (KeyError, TypeError, AttributeError, ModelError):
        raise SlotwiseError(
            f"{name} is not the summary of a run: expected a file that 'slotwise run --json' wrote"
        ) from None


def _content(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise SlotwiseError(f"{path} cannot be read ({error.strerror})") from None
    except ValueError:
        raise SlotwiseError(
            f"{path} is not JSON: expected a file that 'slotwise run --json' wrote"
        ) from None


def _check_topology(data: Mapping[str, Any], topology: Topology, name: str) -> None:
    measured = data["measured"]
    operators = [load["operator"] for load in measured["operators"]]
    streams = [(stream["source"], stream["target"]) for stream in measured["streams"]]
    own_streams = [(stream.source, stream.target) for stream in topology.streams]
    if operators != [o.name for o in topology.operators] or streams != own_streams:
        raise SlotwiseError(
            f"{name} is a run of another topology, '{data['topology']}': expected one of "
            f"'{topology.name}' with the operators and streams that it has now"
        )


def _profiles(
    measured: Mapping[str, Any], measurement: Measurement, topology: Topology
) -> RunProfiles:
    profiles, idle, unmetered, untimed = {}, [], [], []
    for load in measured["operators"]:
        operator = load["operator"]
        work = OwnWork.of(
            load["arrival_rate"], load["service_ms"], load["cpu"], load["service_scv"]
        )
        if work is None:
            idle.append(operator)
            continue
        unmetered += [operator] if work.cpu_s is None else []
        untimed += [operator] if work.service_scv is None else []
        profiles[operator] = ProfileForms(
            service=work.service(measurement.cores or 1.0),
            costs=work.costs,
            measurement=measurement,
        )
    synthetic = [
        operator.name
        for operator in topology.operators
        if operator.kind == "operator" and operator.logic.is_empty and operator.name in profiles
    ]
    selectivities = {
        (stream["source"], stream["target"]): stream["selectivity"]
        for stream in measured["streams"]
        if stream["selectivity"] is not None
    }
    remarks = {
        "handled nothing in this run: no profile": idle,
        "without logic: the figures are those that the spec's profiles had in the run": synthetic,
        "computed in processes of their own, whose CPU is not measured: a core is assumed for the "
        "time of service": unmetered,
        "not timed tuple by tuple: exponential service times are assumed": untimed,
    }
    told = tuple(f"{', '.join(names)}: {what}" for what, names in remarks.items() if names)
    return RunProfiles(profiles, selectivities, told)

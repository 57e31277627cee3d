"""name -> algorithm, for spec files and the command line.

Modules are imported when one of theirs is asked for, so that listing names costs nothing.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from slotwise.model import Choice, Goals, Scheduler, SlotwiseError

if TYPE_CHECKING:
    from slotwise.allocators._base import Allocator
    from slotwise.placers._base import Placer
    from slotwise.provisioners._base import Provisioner

ALLOCATORS: Mapping[str, str] = {
    "lsa": "slotwise.allocators.lsa:Lsa",
    "mba": "slotwise.allocators.mba:Mba",
    "drs": "slotwise.allocators.drs:Drs",
    "p-deployer": "slotwise.allocators.p_deployer:PDeployer",
}
PROVISIONERS: Mapping[str, str] = {
    "largest-first": "slotwise.provisioners.largest_first:LargestFirst",
    "cheapest": "slotwise.provisioners.cheapest:Cheapest",
}
PLACERS: Mapping[str, str] = {
    "round-robin": "slotwise.placers.round_robin:RoundRobin",
    "r-storm": "slotwise.placers.r_storm:RStorm",
    "sam": "slotwise.placers.sam:Sam",
    "topology": "slotwise.placers.topology:TopologyBased",
    "traffic": "slotwise.placers.traffic:TrafficBased",
    "p-deployer": "slotwise.placers.p_deployer:PDeployer",
    "partition": "slotwise.placers.partition:Partition",
    "pipeline": "slotwise.placers.pipeline:Pipeline",
    "exact": "slotwise.placers.exact:Exact",
}
AUTO = "auto"
"""Not a placer of its own: the planner tries all of PLACERS and keeps the best plan."""


def choice(given: Choice | str) -> Choice:
    """An algorithm as written on the command line: `drs`, or with options `drs:processors=22`.

    >>> choice("topology:alpha=0.2,beta=0.5").options
    {'alpha': 0.2, 'beta': 0.5}
    """
    if isinstance(given, Choice):
        return given
    name, _, rest = given.partition(":")
    options: dict[str, float | int | str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise SlotwiseError(f"'{part}' in '{given}' is no option: write NAME:OPTION=VALUE")
        options[key.strip()] = _number(value.strip())
    return Choice(name.strip(), options)


def allocator(choice: Choice, goals: Goals) -> Allocator:
    """The allocator of that name; DRS without options of its own takes the latency goal."""
    options = dict(choice.options)
    if choice.name == "drs" and not options and goals.latency_ms is not None:
        options["latency_ms"] = goals.latency_ms
    return cast("Allocator", _make("allocator", ALLOCATORS, Choice(choice.name, options)))


def provisioner(choice: Choice) -> Provisioner:
    return cast("Provisioner", _make("provisioner", PROVISIONERS, choice))


def placer(choice: Choice) -> Placer:
    return cast("Placer", _make("placer", PLACERS, choice))


def check_names(scheduler: Scheduler) -> None:
    """Raise the sentence about the first unknown name, before any work is done."""
    _path("allocator", ALLOCATORS, scheduler.allocator.name)
    _path("provisioner", PROVISIONERS, scheduler.provisioner.name)
    _path("placer", {**PLACERS, AUTO: ""}, scheduler.placer.name)


def _number(text: str) -> float | int | str:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _make(family: str, known: Mapping[str, str], choice: Choice) -> Any:
    module, _, name = _path(family, known, choice.name).partition(":")
    algorithm = getattr(importlib.import_module(module), name)
    allowed = [f.name for f in dataclasses.fields(algorithm)]
    for option in choice.options:
        if option not in allowed:
            has = f"it has {', '.join(allowed)}" if allowed else "it has no options"
            raise SlotwiseError(f"{family} '{choice.name}' has no option '{option}': {has}")
    try:
        return algorithm(**choice.options)
    except (TypeError, ValueError) as error:
        raise SlotwiseError(f"{family} '{choice.name}': {error}") from error


def _path(family: str, known: Mapping[str, str], name: str) -> str:
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    raise SlotwiseError(f"unknown {family} '{name}': {hint}there are {', '.join(known)}")

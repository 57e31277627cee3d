"""name -> algorithm, for spec files and the command line.

Modules are imported when one of theirs is asked for, so that listing names costs nothing. Installed
packages add algorithms by entry points (see plugins.py), which are looked at only for a name that
is not built in, or to list all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from slotwise import plugins
from slotwise.forms import Form
from slotwise.model import Choice, ModelError, Scheduler, SlotwiseError
from slotwise.suggestions import instead_of

if TYPE_CHECKING:
    from slotwise.allocators.base import Allocator
    from slotwise.controllers.base import Controller
    from slotwise.placers.base import Placer
    from slotwise.provisioners.base import Provisioner

ALLOCATORS: Mapping[str, str] = {
    "lsa": "slotwise.allocators.lsa:Lsa",
    "mba": "slotwise.allocators.mba:Mba",
    "drs": "slotwise.allocators.drs:Drs",
    "p-deployer": "slotwise.allocators.p_deployer:PDeployer",
    "percentile": "slotwise.allocators.percentile:Percentile",
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
CONTROLLERS: Mapping[str, str] = {
    "look-ahead": "slotwise.controllers.look_ahead:LookAhead",
    "traffic": "slotwise.controllers.traffic:TrafficBased",
    "p-deployer": "slotwise.controllers.p_deployer:PDeployer",
    "drs": "slotwise.controllers.drs:Drs",
    "model-driven": "slotwise.controllers.model_driven:ModelDriven",
    "flink": "slotwise.controllers.flink:Flink",
    "threshold": "slotwise.controllers.threshold:Threshold",
    "static": "slotwise.controllers.static:Static",
}
USUAL_CONTROLLER = "look-ahead"
"""Where a plan is to be adapted and nobody says by whom."""
AUTO = "auto"
"""Not an algorithm of its own: the planner searches; see search.py."""


@dataclass(frozen=True)
class Family:
    """Exchangeable algorithms: the built-in ones, and those of entry points `slotwise.{noun}s`."""

    noun: str
    protocol: str
    """`module:class` of what each of them fulfils."""
    built_in: Mapping[str, str]
    searched: bool = True
    """A step of planning, for which `auto` searches the best."""


FAMILIES: Mapping[str, Family] = {
    family.noun: family
    for family in (
        Family("allocator", "slotwise.allocators.base:Allocator", ALLOCATORS),
        Family("provisioner", "slotwise.provisioners.base:Provisioner", PROVISIONERS),
        Family("placer", "slotwise.placers.base:Placer", PLACERS),
        Family("controller", "slotwise.controllers.base:Controller", CONTROLLERS, searched=False),
    )
}


@dataclass(frozen=True)
class Member:
    """An algorithm in a list: its class, or the problem that keeps it from being used."""

    family: str
    name: str
    package: str | None
    """Name and version of the package that adds it; None: built in."""
    algorithm: type[Any] | None
    problem: str | None = None


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
            raise ModelError(f"invalid option '{part}' in '{given}': expected NAME:OPTION=VALUE")
        if key.strip() in options:
            raise ModelError(f"duplicate option '{key.strip()}' in '{given}'")
        options[key.strip()] = _number(value.strip())
    return Choice(name.strip(), options)


def allocator(choice: Choice) -> Allocator:
    return cast("Allocator", _make(FAMILIES["allocator"], choice))


def provisioner(choice: Choice) -> Provisioner:
    return cast("Provisioner", _make(FAMILIES["provisioner"], choice))


def placer(choice: Choice) -> Placer:
    return cast("Placer", _make(FAMILIES["placer"], choice))


def controller(choice: Choice) -> Controller:
    return cast("Controller", _make(FAMILIES["controller"], choice))


def check_names(scheduler: Scheduler) -> None:
    """Raise the sentence about the first unknown name, before any work is done."""
    for noun, family in FAMILIES.items():
        if not family.searched:
            continue
        name = getattr(scheduler, noun).name
        if name != AUTO:
            _find(family, name)


def members(family: Family) -> Iterator[Member]:
    """Every algorithm there is: the built-in ones, then those of packages, by name.

    An offer that cannot be used is listed with its problem. Imports all of them.
    """
    for name, path in family.built_in.items():
        yield Member(family.noun, name, None, plugins.imported(path))
    yield from _offered(family)


def names(noun: str) -> tuple[str, ...]:
    """The names of all algorithms of a family that can be used. Imports those of packages."""
    family = FAMILIES[noun]
    return (*family.built_in, *(found.name for found in _offered(family) if found.algorithm))


def _offered(family: Family) -> Iterator[Member]:
    for offer in plugins.offers(family.noun):
        about = family.noun, offer.name, offer.package
        try:
            yield Member(*about, _load(family, offer))
        except plugins.PluginError as error:
            yield Member(*about, None, error.problem)


def _number(text: str) -> float | int | str:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _make(family: Family, choice: Choice) -> Any:
    found = _find(family, choice.name)
    algorithm = plugins.imported(found) if isinstance(found, str) else _load(family, found)
    what = f"{family.noun} '{choice.name}'"
    options = Form(may_have=plugins.option_types(algorithm)).read(what, choice.options)
    try:
        return algorithm(**options)
    except (TypeError, ValueError) as error:
        raise SlotwiseError(f"{what}: {error}") from error


def _find(family: Family, name: str) -> str | plugins.Offer:
    """Where the algorithm is: the path of a built-in one, or a package's offer."""
    if name in family.built_in:
        return family.built_in[name]
    offered = {offer.name: offer for offer in plugins.offers(family.noun)}
    if name in offered and name != AUTO:
        return offered[name]
    auto = (AUTO,) if family.searched else ()
    known = list(dict.fromkeys((*family.built_in, *auto, *offered)))
    raise SlotwiseError(f"unknown {family.noun} '{name}': {instead_of(name, known)}")


def _load(family: Family, offer: plugins.Offer) -> type[Any]:
    """The offered class, unless somebody else has its name."""
    if offer.name in (*family.built_in, AUTO):
        raise plugins.PluginError(offer, f"Slotwise itself has a {family.noun} of that name")
    for other in plugins.offers(family.noun):
        if other.name == offer.name and other != offer:
            problem = f"{other.package} offers a {family.noun} of the same name"
            raise plugins.PluginError(offer, problem)
    return plugins.load(offer, family.protocol)

"""Algorithms of installed packages, found by their entry points.

A package offers an algorithm in its metadata, under the group of the family:

    [project.entry-points."slotwise.placers"]
    level = "slotwise_level:Level"

Finding offers reads metadata only and imports nothing; `load` imports one algorithm and checks that
it has the family's shape. What is wrong with an offer is a PluginError, whose sentence names the
package, so that the user knows what to update or uninstall.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from operator import attrgetter
from typing import Any

from slotwise.model import SlotwiseError


class PluginError(SlotwiseError):
    """An offer that cannot be used. `problem` is the reason alone, without the offer's name."""

    def __init__(self, offer: Offer, problem: str) -> None:
        super().__init__(f"{offer} cannot be used: {problem}")
        self.problem = problem


@dataclasses.dataclass(frozen=True)
class Offer:
    """One entry point: an algorithm that a package offers under a name."""

    noun: str
    """What it is: `placer`."""
    name: str
    path: str
    """`module:class`."""
    package: str
    """Name and version of the distribution."""

    def __str__(self) -> str:
        return f"{self.noun} '{self.name}' of {self.package}"


def offers(noun: str) -> tuple[Offer, ...]:
    """Every offer in the group of the family (`slotwise.placers`), sorted by name and package.

    Metadata is read again when `sys.path` has changed. O(installed packages), about 0.1 ms each.
    """
    return _offers(noun, tuple(sys.path))


def load(offer: Offer, protocol: str) -> type[Any]:
    """The offered class, checked against the protocol at `module:class`."""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for data
            algorithm: type[Any] = imported(offer.path)
    except (Exception, SystemExit) as error:  # a package can do anything while it is imported
        problem = f"importing '{offer.path}' fails with {type(error).__name__}: {error}"
        raise PluginError(offer, problem) from error
    misfit = next(misfits(algorithm, offer.name, imported(protocol)), None)
    if misfit is not None:
        raise PluginError(offer, f"'{offer.path}' {misfit}")
    return algorithm


def imported(path: str) -> Any:
    """What `module:name` names."""
    module, _, name = path.partition(":")
    return attrgetter(name)(importlib.import_module(module))


def options(algorithm: type[Any]) -> dict[str, Any]:
    """The algorithm's options, with their defaults: the fields that its constructor takes."""
    return {field.name: field.default for field in dataclasses.fields(algorithm) if field.init}


def option_types(algorithm: type[Any]) -> dict[str, type]:
    """The type of each option, None left out; `object` for one that is not int, float, str, bool.

    By the text of the annotation: what else the class is annotated with need not be importable.
    """
    return {
        field.name: _option_type(field.type)
        for field in dataclasses.fields(algorithm)
        if field.init
    }


def _option_type(annotation: Any) -> type:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    (name, *others) = {part.strip() for part in text.split("|")} - {"None"} or {"None"}
    known: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
    return object if others else known.get(name, object)


@cache
def _offers(noun: str, path: tuple[str, ...]) -> tuple[Offer, ...]:
    found: dict[tuple[str, str], Offer] = {}
    for distribution in metadata.distributions(path=list(path)):
        for entry in _entry_points(distribution, f"slotwise.{noun}s"):
            package = _package(distribution, entry)
            # A package that is on the path twice counts once: the first is the one imported.
            key = (entry.name, package.partition(" ")[0])
            found.setdefault(key, Offer(noun, entry.name, entry.value, package))
    return tuple(sorted(found.values(), key=lambda offer: (offer.name, offer.package)))


def _entry_points(distribution: metadata.Distribution, group: str) -> metadata.EntryPoints:
    try:
        return distribution.entry_points.select(group=group)
    except (TypeError, ValueError):
        # A file that cannot be parsed: whosever it is, the others' offers still count.
        return metadata.EntryPoints()


def _package(distribution: metadata.Distribution, entry: metadata.EntryPoint) -> str:
    """Name and version; without metadata, the entry point's module."""
    about = distribution.metadata
    if "Name" not in about:
        return entry.value.partition(":")[0]
    return f"{about['Name']} {about['Version']}"


def misfits(algorithm: Any, name: str, protocol: type[Any]) -> Iterator[str]:
    """What the class lacks of the family's shape, as ends of sentences that start with its path."""
    if not (isinstance(algorithm, type) and dataclasses.is_dataclass(algorithm)):
        yield "is not a dataclass"
        return
    for member, wanted in vars(protocol).items():
        if member.startswith("_"):
            continue
        if not hasattr(algorithm, member):
            yield f"has no '{member}'"
        elif inspect.isfunction(wanted):
            yield from _uncallable(getattr(algorithm, member), wanted)
    own_name = getattr(algorithm, "name", None)
    if own_name != name:
        yield f"has the name {own_name!r}, and its entry point has the name {name!r}"
    for option, default in options(algorithm).items():
        if not isinstance(default, str | int | float | None):
            yield f"has no default of None, a number or a string for its option '{option}'"


def _uncallable(method: Any, wanted: Any) -> Iterator[str]:
    """A method that cannot be called with the arguments of the protocol's."""
    expected = inspect.signature(wanted)
    by_name = {n: None for n, p in expected.parameters.items() if p.kind is p.KEYWORD_ONLY}
    by_position = [None] * (len(expected.parameters) - len(by_name))
    try:
        inspect.signature(method).bind(*by_position, **by_name)
    except (TypeError, ValueError) as error:
        names = ", ".join(name for name in expected.parameters if name != "self")
        yield f"has a method '{wanted.__name__}' that does not accept ({names}): {error}"

"""The options that a name takes, such as those of `gamma` in `gamma:scv=2`, and their types.

Types are float, int, str, bool, Path (the value is left as a path), timedelta (a duration, as
durations.py reads it, in seconds) and object (any of these). Numbers are finite, whatever the type.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from slotwise import durations
from slotwise.model import Choice, ModelError
from slotwise.suggestions import instead_of


@dataclass(frozen=True)
class Form:
    """The options that a name needs, and those it may have, each with its type."""

    needs: Mapping[str, type] = field(default_factory=dict)
    may_have: Mapping[str, type] = field(default_factory=dict)

    def read(self, what: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options as their types; `what` is what has them. Raises ModelError."""
        known = {**self.needs, **self.may_have}
        for name in options:
            if name not in known:
                raise ModelError(f"{what} has no option '{name}': {instead_of(name, known)}")
        for name in self.needs:
            if name not in options:
                raise ModelError(f"{what} needs the option '{name}'")
        return {name: _read(f"{what}: {name}", known[name], options[name]) for name in options}


def read(what: str, known: Mapping[str, Form], choice: Choice) -> dict[str, Any]:
    """The options of one of the `known` names. Raises ModelError."""
    if choice.name not in known:
        raise ModelError(f"unknown {what} '{choice.name}': {instead_of(choice.name, known)}")
    return known[choice.name].read(f"{what} '{choice.name}'", choice.options)


def _read(what: str, kind: type, value: Any) -> Any:
    """The value as `kind`; on the command line, true and false come as text."""
    if kind is timedelta:
        try:
            return durations.seconds(value)
        except ModelError as error:
            raise ModelError(f"{what}: {error.message}") from None
    if kind is Path or kind is str:
        return kind(str(value))
    if kind is bool:
        truths = {True: True, False: False, "true": True, "false": False}
        if not isinstance(value, bool | str) or value not in truths:
            raise ModelError(f"{what}: invalid value '{value}': expected true or false")
        return truths[value]
    if kind is object and isinstance(value, bool | str):
        return value
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        wanted = "an integer" if kind is int else "a number"
        raise ModelError(f"{what}: invalid value '{value}': expected {wanted}")
    if not abs(value) <= sys.float_info.max:
        raise ModelError(f"{what}: invalid value '{value}': expected a finite number")
    return float(value) if kind is float else value

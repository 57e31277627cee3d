"""What to write in place of a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def instead_of(name: str, known: Iterable[str]) -> str:
    """The one that is spelt much like it, otherwise all there are.

    >>> instead_of("samm", ["sam", "exact"]), instead_of("x", ["sam", "exact"])
    ("did you mean 'sam'?", 'expected one of sam, exact')
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"expected one of {', '.join(names)}" if names else "there are none"

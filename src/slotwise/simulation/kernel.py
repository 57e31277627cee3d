"""How kernels are compiled.

Kernels allocate nothing, so they are compiled without reference counting: otherwise every call
that passes a table would count up and down, which takes longer than the call's work. Nor do they
look out for divisions by zero: none is possible. They are cached on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., object])

_njit: Any = numba.njit  # Its stubs do not know `_nrt`.
_HOW = {"cache": True, "_nrt": False, "error_model": "numpy"}


def kernel(function: Function) -> Function:
    compiled: Function = _njit(**_HOW)(function)
    return compiled


def part(function: Function) -> Function:
    """A kernel that becomes part of its callers: its tables need not be passed at all."""
    compiled: Function = _njit(**_HOW, forceinline=True)(function)
    return compiled

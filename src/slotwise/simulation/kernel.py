"""How kernels are compiled.

`kernel` functions allocate nothing, so they are compiled without reference counting: otherwise
every call that passes a table would count up and down, which takes longer than the call's work.
They are cached on disk and release no locks; the same inputs give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    return njit(cache=True, _nrt=False)(function)  # type: ignore[no-any-return]


def part(function: Function) -> Function:
    """A kernel that becomes part of its callers: its tables need not be passed at all."""
    return njit(cache=True, _nrt=False, forceinline=True)(function)  # type: ignore[no-any-return]


def allocating_kernel(function: Function) -> Function:
    """For the few that make arrays."""
    return njit(cache=True)(function)  # type: ignore[no-any-return]

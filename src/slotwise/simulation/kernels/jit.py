"""How kernels are compiled.

Kernels allocate nothing, so they are compiled without reference counting: otherwise every call
that passes a table would count up and down, which takes longer than the call's work. Nor do they
look out for divisions by zero: none is possible.

They are cached on disk. Numba compiles a kernel again when its own file changes, but not when a
file changes whose kernels became part of it; a stale one would give other numbers, so the names in
the cache carry a fingerprint of all these files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import IndexDataCacheFile

Function = TypeVar("Function", bound=Callable[..., object])

FILES = (
    "arrivals",
    "change",
    "draws",
    "events",
    "feed_forward",
    "heap",
    "inboxes",
    "jit",
    "links",
    "measure",
    "routing",
    "speeds",
    "under_way",
    "world",
    "../../keys",
    "../../sketch",
)
"""All that make a kernel what it is: beside the kernels, the constants that they share."""

_njit: Any = numba.njit  # Its stubs do not know `_nrt`.
_cache_file: Any = IndexDataCacheFile


def kernel(function: Function) -> Function:
    return _compiled(function, forceinline=False)


def part(function: Function) -> Function:
    """A kernel that becomes part of its callers: its tables need not be passed at all."""
    return _compiled(function, forceinline=True)


def _fingerprint() -> str:
    here = Path(__file__).parent
    texts = b"".join((here / f"{name}.py").read_bytes() for name in FILES)
    return hashlib.sha256(texts).hexdigest()[:12]


_FINGERPRINT = _fingerprint()


def _compiled(function: Function, forceinline: bool) -> Function:
    how = {"_nrt": False, "error_model": "numpy", "forceinline": forceinline}
    compiled: Any = _njit(cache=True, **how)(function)
    cache = compiled._cache
    name = f"{cache._impl.filename_base}-{_FINGERPRINT}"
    cache._cache_file = _cache_file(cache._cache_path, name, _FINGERPRINT)
    kept: Function = compiled
    return kept

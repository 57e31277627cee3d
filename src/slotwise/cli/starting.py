"""What makes short commands short: less garbage collection, and scipy's BLAS only if it is used."""

from __future__ import annotations

import gc
import importlib
import sys
from types import ModuleType
from typing import Any

FEWER_COLLECTIONS = 300_000
"""New objects between two searches for garbage. Imports make many and leave none behind: with
Python's usual 700, the searches take a tenth of a short command.
"""
BLAS = "scipy.linalg.cython_blas"


def start_quickly() -> None:
    """For a program that is about to run one command; other programs keep their own settings."""
    gc.set_threshold(FEWER_COLLECTIONS)
    sys.modules.setdefault(BLAS, _Deferred(BLAS))


class _Deferred(ModuleType):
    """A module that is imported when the first of its names is asked for.

    Numba imports scipy's BLAS only to know whether kernels could use it, which takes 0.2 s. Our
    kernels do not; those of an installed package may, and then find it.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__pyx_capi__":
            raise AttributeError(name)  # The import system looks for these; BLAS has none of them.
        sys.modules.pop(self.__name__, None)
        return getattr(importlib.import_module(self.__name__), name)

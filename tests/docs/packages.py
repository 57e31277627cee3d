"""A package that a document writes: `$ pip install .` and `$ pytest` in its console blocks."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import slotwise

SITE = "site-packages"
_PIP = "pip install --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation"


@contextlib.contextmanager
def forgotten_afterwards() -> Iterator[None]:
    """What a document installs is neither found nor loaded after it."""
    path = list(sys.path)
    site = Path(SITE).absolute()
    try:
        yield
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if Path(getattr(module, "__file__", None) or "/").is_relative_to(site):
                del sys.modules[name]


def install() -> tuple[int, str]:
    """The package in the current folder, built and installed beside it; exit code and output."""
    done = _python(*_PIP.split(), "--target", SITE, ".")
    sys.path.insert(0, str(Path(SITE).absolute()))
    importlib.invalidate_caches()
    return done


def run_pytest(arguments: list[str]) -> tuple[int, str]:
    return _python("pytest", *arguments)


def _python(*module_and_arguments: str) -> tuple[int, str]:
    found = [str(Path(SITE).absolute()), str(Path(slotwise.__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-m", *module_and_arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(found)},
    )
    return done.returncode, done.stdout

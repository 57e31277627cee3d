"""The papers' pipelines as spec files, ready to plan; `starter` is what `slotwise init` writes."""

from __future__ import annotations

from importlib.resources import files


def names() -> tuple[str, ...]:
    """The bundled examples, in alphabetical order."""
    bundled = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in bundled if name.endswith(".yaml")))


def read(name: str) -> str:
    """The spec file's text. Raises KeyError for a name that is not bundled."""
    if name not in names():
        raise KeyError(name)
    return files(__name__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")

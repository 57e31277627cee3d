"""The papers' pipelines as spec files, ready to plan; `starter` is what `slotwise init` writes."""

from __future__ import annotations

from importlib.resources import files

PAPERS_NAMES = {"fpd": "loop"}
"""What a paper calls an example that is bundled under another name: paper 5's frequent pattern
detection is the one with a loop.
"""


def names() -> tuple[str, ...]:
    """The bundled examples, in alphabetical order."""
    bundled = [
        entry.name.removesuffix(".yaml")
        for entry in files(__name__).iterdir()
        if entry.name.endswith(".yaml")
    ]
    return tuple(sorted([*bundled, *PAPERS_NAMES]))


def read(name: str) -> str:
    """The spec file's text. Raises KeyError for a name that is not bundled."""
    if name not in names():
        raise KeyError(name)
    file = f"{PAPERS_NAMES.get(name, name)}.yaml"
    return files(__name__).joinpath(file).read_text(encoding="utf-8")

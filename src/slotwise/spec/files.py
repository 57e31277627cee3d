"""load, loads, dump: spec files and texts <-> Pipeline."""

from __future__ import annotations

import os
import re
from pathlib import Path

from slotwise import workloads
from slotwise.model import ModelError, Pipeline
from slotwise.spec.build import document_of, pipeline_of
from slotwise.spec.document import SpecDocument
from slotwise.spec.errors import SpecError
from slotwise.spec.including import with_included
from slotwise.spec.reading import MOST_BYTES, checked, read_text, too_large
from slotwise.spec.tree import read_tree
from slotwise.spec.writing import dumped


def load(source: str | Path) -> Pipeline:
    """The pipeline in a spec file, or in the bundled example of that name.

    A name without a path separator that is no file names an example. Raises SpecError.
    """
    name = os.fspath(source)
    if name in workloads.names() and not os.path.isfile(name):
        return loads(workloads.read(name), f"{name}.yaml")
    if not re.search(r"[/\\]", name) and not os.path.lexists(name.replace("\0", "?")):
        known = ", ".join(workloads.names())
        raise SpecError(name, f"there is no such file, and the bundled examples are {known}")
    return _pipeline(read_text(name), name, Path(name).parent)


def loads(text: str, name: str = "<string>") -> Pipeline:
    """The pipeline in a spec's text; `name` stands for the file in errors. Raises SpecError.

    Such a spec cannot include others: paths are relative to the file of the spec.
    """
    return _pipeline(text, name, None)


def _pipeline(text: str, name: str, folder: Path | None) -> Pipeline:
    if len(text) > MOST_BYTES:
        raise too_large(name)
    tree = read_tree(text.removeprefix("\ufeff"), name)
    if tree is None or tree.value is None:
        problem = "the spec is empty: use 'slotwise init' to write one to start from"
        raise SpecError(name, problem, 1, 1)
    document = checked(SpecDocument, tree, name)
    if document.include is not None and folder is None:
        problem = "only a spec file can include others: write the profiles out here"
        raise SpecError(name, problem, *tree.place(("include",)))
    if document.include is not None and folder is not None:
        document = with_included(document, folder)
    try:
        return pipeline_of(document)
    except ModelError as error:
        raise SpecError(name, error.message, *tree.place(error.path)) from None


def dump(pipeline: Pipeline) -> str:
    """A spec file's text: what is default is left out, and `loads` gives an equal pipeline."""
    return dumped(document_of(pipeline).model_dump(exclude_defaults=True), None)

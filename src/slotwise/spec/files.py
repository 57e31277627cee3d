"""load, loads, dump: spec files and texts <-> Pipeline."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.representer import SafeRepresenter

from slotwise import workloads
from slotwise.model import ModelError, Pipeline
from slotwise.spec.build import document_of, pipeline_of
from slotwise.spec.document import Document, SpecDocument
from slotwise.spec.errors import SpecError
from slotwise.spec.messages import sentence
from slotwise.spec.tree import Tree, read_tree, resolve

MOST_BYTES = 2_000_000
"""Larger files are refused unread: a spec of 10,000 operators has about 1 MB."""

DocumentKind = TypeVar("DocumentKind", bound=Document)

_PLAIN_TEXT = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


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
    return loads(read_text(name), name)


def loads(text: str, name: str = "<string>") -> Pipeline:
    """The pipeline in a spec's text; `name` stands for the file in errors. Raises SpecError."""
    if len(text) > MOST_BYTES:
        raise _too_large(name)
    tree = read_tree(text.removeprefix("\ufeff"), name)
    if tree is None or tree.value is None:
        problem = "the spec is empty: use 'slotwise init' to write one to start from"
        raise SpecError(name, problem, 1, 1)
    document = checked(SpecDocument, tree, name)
    try:
        return pipeline_of(document)
    except ModelError as error:
        raise SpecError(name, error.message, *tree.place(error.path)) from None


def checked(kind: type[DocumentKind], tree: Tree, name: str, what: str = "spec") -> DocumentKind:
    """The document in `tree`, a file of kind `what`. Raises SpecError for what is wrong first."""
    if not isinstance(tree.value, dict):
        keys = ", ".join(kind.model_fields)
        problem = f"the {what} is not a mapping: expected keys such as {keys}"
        raise SpecError(name, problem, tree.line, tree.column)
    try:
        return kind.model_validate(tree.value)
    except ValidationError as error:
        raise _first_problem(error, tree, name, what) from None


def dump(pipeline: Pipeline) -> str:
    """A spec file's text: what is default is left out, and `loads` gives an equal pipeline."""
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Representer = _Representer
    yaml.sort_base_mapping_type_on_output = False
    yaml.default_flow_style = None
    yaml.width = MOST_BYTES
    stream = io.StringIO()
    yaml.dump(document_of(pipeline).model_dump(exclude_defaults=True), stream)
    return stream.getvalue()


def read_text(name: str, what: str = "spec") -> str:
    """All of a text file; `what` is what it should be. Raises SpecError."""
    try:
        with open(name, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except IsADirectoryError:
        raise SpecError(name, f"is a directory: expected a {what} file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(
            name, f"the file cannot be read ({reason}): check its name and permissions"
        ) from None
    if len(content) > MOST_BYTES:
        raise _too_large(name, what)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        problem = f"invalid UTF-8: expected a {what} file saved as UTF-8"
        raise SpecError(name, problem, line, column) from None


def _too_large(name: str, what: str = "spec") -> SpecError:
    limit = MOST_BYTES // 1_000_000
    return SpecError(name, f"the {what} is too large: expected at most {limit} MB", 1, 1)


def _first_problem(error: ValidationError, tree: Tree, name: str, what: str) -> SpecError:
    """Of all pydantic found, what stands first in the file."""
    found = []
    for problem in error.errors(include_url=False):
        path = problem["loc"]
        label, _ = tree.descend(path)
        text = sentence(problem, label, f"the {what}")
        if problem["type"] == "unknown_key":
            path = (*path, problem["ctx"]["key"])
        of_key = problem["type"] == "unknown_key" or "[key]" in path
        found.append((tree.place(path, of_key), text))
    place, text = min(found, key=lambda item: item[0])
    return SpecError(name, text, *place)


class _Representer(SafeRepresenter):
    """A class of its own, because ruamel keeps what it learns to write per class."""

    def text(self, text: str) -> Any:
        """In quotes unless it surely reads back as the same text."""
        plain = _PLAIN_TEXT.fullmatch(text) and isinstance(resolve(text), str)
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Representer.add_representer(str, _Representer.text)

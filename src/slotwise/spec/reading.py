"""Text files -> checked documents; errors name the file and the line."""

from __future__ import annotations

from typing import TypeVar

from pydantic import ValidationError

from slotwise.spec.base import Document
from slotwise.spec.errors import SpecError
from slotwise.spec.messages import sentence
from slotwise.spec.tree import Tree

MOST_BYTES = 2_000_000
"""Larger files are refused unread: a spec of 10,000 operators has about 1 MB."""

DocumentKind = TypeVar("DocumentKind", bound=Document)


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
        raise too_large(name, what)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        problem = f"invalid UTF-8: expected a {what} file saved as UTF-8"
        raise SpecError(name, problem, line, column) from None


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


def too_large(name: str, what: str = "spec") -> SpecError:
    """For a text of more than MOST_BYTES."""
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

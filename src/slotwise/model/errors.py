"""What goes wrong, in one sentence a user can act on."""

from __future__ import annotations

from slotwise.model.refusal import Refusal

Path = tuple[str | int, ...]
"""Where a value stands in a spec document: `("topology", "streams", 2, "to")`."""


class SlotwiseError(Exception):
    """Any failure whose message is meant for the user; the CLI prints it and exits 1."""


class ModelError(SlotwiseError):
    """A value that contradicts the model: a duplicate name, a stream to nowhere, a NaN rate.

    The loader turns its `path` into a line and a column.
    """

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


class Refused(SlotwiseError):
    """No plan exists under the given conditions; `refusal` says which step refused and why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal

"""`slotwise schema`: the JSON Schema of spec files."""

from __future__ import annotations


def schema() -> None:
    """Print the JSON Schema of spec files, for editors."""
    from slotwise.spec.schema import schema_text

    print(schema_text(), end="")

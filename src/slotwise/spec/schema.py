"""The JSON Schema of spec files, for editors; published as docs/reference/slotwise.schema.json."""

from __future__ import annotations

from typing import Any

from slotwise.json_data import json_text
from slotwise.spec.document import SpecDocument


def json_schema() -> dict[str, Any]:
    """Generated from the document models, so it cannot say anything else than the loader."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **SpecDocument.model_json_schema(by_alias=True),
    }


def schema_text() -> str:
    """The published file, byte for byte."""
    return json_text(json_schema())


if __name__ == "__main__":
    print(schema_text(), end="")

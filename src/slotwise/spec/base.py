"""What all documents share: exact types, figures in range, no unknown keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from slotwise.model import ModelError
from slotwise.model.limits import LARGEST, MOST, RANGE, SMALLEST, in_range
from slotwise.suggestions import instead_of

Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=MOST)]


def _in_range(figure: float) -> float:
    if not in_range(figure):
        raise PydanticCustomError("range", "{expected}", {"expected": RANGE})
    return figure


Positive = Annotated[
    float,
    Field(gt=0, json_schema_extra={"minimum": SMALLEST, "maximum": LARGEST}),
    AfterValidator(_in_range),
]
NotNegative = Annotated[
    float,
    Field(
        ge=0,
        json_schema_extra={"anyOf": [{"const": 0}, {"minimum": SMALLEST, "maximum": LARGEST}]},
    ),
    AfterValidator(_in_range),
]


class Document(BaseModel):
    """Exact types (no booleans or texts for numbers), finite numbers, no unknown keys."""

    model_config = ConfigDict(
        strict=True, extra="forbid", allow_inf_nan=False, frozen=True, serialize_by_alias=True
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, value: Any) -> Any:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in value if isinstance(value, dict) else ():
            if key not in known:
                problem = {"key": key, "sentence": _suggestion(key, known)}
                raise PydanticCustomError("unknown_key", "{sentence}", problem)
        return value


def _suggestion(key: object, known: list[str]) -> str:
    shown = str(key)[:40]
    return f"unknown key '{shown}': {instead_of(shown, known)}"


@contextmanager
def located(*path: str | int) -> Iterator[None]:
    """Constructors of parts do not know where they stand in the document; add it."""
    try:
        yield
    except ModelError as error:
        raise ModelError(error.message, error.path or path) from None


def given(document: Document | None) -> dict[str, Any]:
    """What the document says itself, without the defaults."""
    return document.model_dump(exclude_unset=True) if document else {}

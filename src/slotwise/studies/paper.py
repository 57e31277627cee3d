"""The papers' own figures, from the one file that holds them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from slotwise.studies.study import Comparison, PaperFigure


@dataclass(frozen=True)
class Paper:
    """One paper's figures by key; each says where in the paper it stands."""

    citation: str
    figures: dict[str, PaperFigure]

    def __getitem__(self, key: str) -> PaperFigure:
        return self.figures[key]

    def against(self, key: str, ours: float, why: str = "") -> Comparison:
        """The row "paper | ours"; `why` is kept only where ours does not agree."""
        row = Comparison(self[key], float(ours))
        return row if row.verdict == "agrees" else Comparison(self[key], float(ours), why)


@cache
def paper(study: str) -> Paper:
    entry = _document()[study]
    return Paper(
        entry["citation"], {key: _figure(given) for key, given in entry["figures"].items()}
    )


@cache
def _document() -> dict[str, Any]:
    from ruamel.yaml import YAML

    text = files(__package__).joinpath("paper_figures.yaml").read_text(encoding="utf-8")
    return dict(YAML(typ="safe", pure=True).load(text))


def _figure(given: dict[str, Any]) -> PaperFigure:
    value = given["value"]
    low, high = value if isinstance(value, list) else (value, value)
    neutral = given.get("neutral")
    return PaperFigure(
        what=given["what"],
        low=float(low),
        high=float(high),
        unit=given.get("unit", ""),
        source=given["source"],
        neutral=None if neutral is None else float(neutral),
    )

"""A typed "no": what an algorithm answers when it has no valid result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """Why `algorithm` has no answer.

    Allocators, provisioners and placers return it in place of their result, so a caller can
    decide (the planner adds a slot and tries again) without reading the text.

    >>> Refusal("sam", "no slot has 0.40 memory left", operator="parse", missing=0.1).reason
    'sam: no slot has 0.40 memory left'
    """

    algorithm: str
    explanation: str
    operator: str | None = None
    resource: str | None = None
    """What ran short: `cpu`, `memory`, `slots`, `machines`, `rate`, `latency`."""
    missing: float | None = None
    """By how much, in the resource's unit."""
    final: bool = False
    """True when more slots would not help, so that nobody tries again."""

    @property
    def reason(self) -> str:
        return f"{self.algorithm}: {self.explanation}"

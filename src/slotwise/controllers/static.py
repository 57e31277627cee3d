"""Never changes the plan: what every controller is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slotwise.controllers.base import Situation
from slotwise.model import Decision


@dataclass(frozen=True)
class Static:
    """The plan stays as it was made. O(1)."""

    name: ClassVar[str] = "static"

    def decide(self, situation: Situation) -> Decision:
        return Decision.keep("a static plan is never changed")

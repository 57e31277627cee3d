"""Whether the plan lately grew or shrank, and how often what it gave back was needed again."""

from __future__ import annotations

from dataclasses import dataclass

from slotwise.controllers.base import Situation

HOUR_S = 3600.0


@dataclass(frozen=True)
class Turns:
    """Changes that keep the number of slots count for nothing."""

    changes: int
    """Within the last hour, of any kind; also those that were refused."""
    shrinking: bool
    """The last change of size was to fewer slots."""
    taken_back: int
    """How often within the last hour more slots came after fewer."""

    @classmethod
    def of(cls, situation: Situation) -> Turns:
        """O(changes)."""
        since_s = situation.now_s - HOUR_S
        slots = (*situation.slots_before, situation.plan.slots)
        shrinking, taken_back = False, 0
        for change, before, after in zip(situation.changes, slots, slots[1:], strict=False):
            if after > before:
                taken_back += shrinking and change.at_s > since_s
            if after != before:
                shrinking = after < before
        tried_s = (*(change.at_s for change in situation.changes), *situation.refused)
        changes = sum(1 for at_s in tried_s if at_s > since_s)
        return cls(changes, shrinking, taken_back)

"""Slotwise's own controller against the others, shape by shape: where it is best, and where not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slotwise.model import counted
from slotwise.studies.controller_results import OURS, Results, label, strategies

CLOSE = 1.15
"""Slot-hours are close to the clairvoyant's up to so many times them."""


@dataclass(frozen=True)
class Contest:
    """Ours on the days of one shape, in means over the workloads."""

    shape: str
    violation_s: float
    slots: float
    """In parts of the clairvoyant's, as below."""
    least: str
    """The other controller with the least time in violation."""
    least_s: float
    dominating: tuple[str, ...]
    """Controllers with no more of either, and less of one."""
    cheaper: tuple[str, ...]
    """Controllers with fewer slot-hours and more time in violation."""

    @property
    def is_best(self) -> bool:
        """Nobody has less time in violation, and nobody as little has fewer slot-hours."""
        return self.violation_s <= self.least_s and not self.dominating


def contests(results: Results) -> Iterator[Contest]:
    """One per shape, if ours is among the strategies and has figures."""
    for shape in results.shapes if OURS in strategies() else ():
        figures = {
            name: (
                results.mean(name, results.violation, shape),
                results.mean(name, results.slots, shape),
            )
            for name in (OURS, *results.rivals)
        }
        known = {
            name: (violation_s, slots)
            for name, (violation_s, slots) in figures.items()
            if violation_s is not None and slots is not None
        }
        if OURS in known:
            yield _contest(shape, *known.pop(OURS), known)


def _contest(
    shape: str, violation_s: float, slots: float, others: Mapping[str, tuple[float, float]]
) -> Contest:
    least = min(others, key=lambda name: others[name])
    dominating = [
        name
        for name, (missed_s, used) in others.items()
        if missed_s <= violation_s and used <= slots and (missed_s, used) != (violation_s, slots)
    ]
    cheaper = [
        name for name, (missed_s, used) in others.items() if used < slots and missed_s > violation_s
    ]
    return Contest(
        shape, violation_s, slots, least, others[least][0], tuple(dominating), tuple(cheaper)
    )


def verdicts(contests: Sequence[Contest]) -> Iterator[str]:
    """Where ours is best, and where it is not."""
    if not contests:
        return
    best = [each.shape for each in contests if each.is_best]
    close = [each.shape for each in contests if each.slots <= CLOSE]
    yield (
        f"{OURS} has the least time in violation of all controllers, and no other has as little "
        f"with fewer slot-hours, on {len(best)} of {counted(len(contests), 'load shape')}"
        f"{': ' + ', '.join(best) if best else ''}. Its slot-hours are within 15 % of the "
        f"clairvoyant's on {len(close)}{': ' + ', '.join(close) if close else ''}."
    )
    for each in contests:
        if each.is_best:
            continue
        better = ", ".join(map(label, each.dominating)) or "none"
        yield (
            f"{OURS} is not best on {each.shape}: {each.violation_s:,.0f} s in violation against "
            f"{each.least_s:,.0f} s of {label(each.least)}; as good or better in both figures: "
            f"{better}."
        )

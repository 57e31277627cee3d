"""Slotwise's own controller against the others, shape by shape: where it is best, and where not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from slotwise.model import counted
from slotwise.studies.controller_results import OURS, Day, Results, label, strategies

CLOSE = 1.15
"""Slot-hours are close to the clairvoyant's up to so many times them."""
WHY = {
    "bursts": "A burst is seen when it has begun. One that meets a smaller plan is in violation "
    "until a change is made and the backlog is worked off, which may take twice as long as the "
    "burst: so slots that were needed again are kept for longer and longer. The clairvoyant "
    "changes before each burst and after it, without a pause."
}
"""Shapes on which no controller that only sees the past comes close, and why."""


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
    cheaper: Mapping[str, float]
    """Controllers with fewer slot-hours and more time in violation, and their seconds of that."""

    @property
    def is_least_in_both(self) -> bool:
        """Nobody has less time in violation or fewer slot-hours."""
        return self.is_best and not self.cheaper

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
    cheaper = {
        name: missed_s
        for name, (missed_s, used) in others.items()
        if used < slots and missed_s > violation_s
    }
    return Contest(shape, violation_s, slots, least, others[least][0], tuple(dominating), cheaper)


def verdicts(contests: Sequence[Contest], day_s: float) -> Iterator[str]:
    """Where ours is best, where it is not, and why."""
    if contests:
        yield _ranks(contests)
        yield from _cheaper(contests, day_s)
        yield from _beside_the_clairvoyant(contests)
    for each in contests:
        if each.is_best:
            continue
        better = ", ".join(map(label, each.dominating)) or "none"
        yield (
            f"{OURS} is not best on {each.shape}: {each.violation_s:,.0f} s in violation against "
            f"{each.least_s:,.0f} s of {label(each.least)}; as good or better in both figures: "
            f"{better}."
        )


def lost(results: Results) -> Iterator[str]:
    """The single days on which another controller has less time in violation than ours."""
    if OURS not in strategies():
        return
    days = [day for day in results.days if results.violation(day, OURS) is not None]
    found = [text for day in days if (text := _lost(results, day))]
    if days:
        told = f"{len(found)} of {counted(len(days), 'day')}"
        less = f"another controller has less time in violation than {OURS} on {told}"
        yield f"Day by day, {less}{': ' if found else ''}{', '.join(found)}."


def _lost(results: Results, day: Day) -> str:
    """`diamond ramp (212 s; threshold 186 s)`; empty where ours has the least."""
    ours_s = results.violation(day, OURS)
    assert ours_s is not None
    seconds = {name: results.violation(day, name) for name in results.rivals}
    less = {name: each for name, each in seconds.items() if each is not None and each < ours_s}
    least_first = sorted(less.items(), key=lambda item: item[1])
    others = ", ".join(f"{label(name)} {missed_s:,.0f} s" for name, missed_s in least_first)
    return f"{' '.join(day)} ({ours_s:,.0f} s; {others})" if less else ""


def _ranks(contests: Sequence[Contest]) -> str:
    best = _among(contests, lambda each: each.is_best)
    both = _among(contests, lambda each: each.is_least_in_both)
    return (
        f"In means over the workloads, {OURS} has the least time in violation of all controllers, "
        f"and no other has as little with fewer slot-hours, on {best}. It has the least of both, "
        f"time in violation and slot-hours, on {both}."
    )


def _cheaper(contests: Sequence[Contest], day_s: float) -> Iterator[str]:
    """Who has fewer slot-hours, and how often they miss goals."""
    for each in contests:
        if each.cheaper:
            others = "; ".join(
                f"{label(name)}, which misses goals for {missed_s / day_s:.0%} of the time"
                for name, missed_s in each.cheaper.items()
            )
            ours = f"{OURS} does for {each.violation_s / day_s:.1%}"
            yield f"{each.shape.capitalize()}, fewer slot-hours: {others}; {ours}."


def _beside_the_clairvoyant(contests: Sequence[Contest]) -> Iterator[str]:
    close = _among(contests, lambda each: each.slots <= CLOSE)
    yield (
        f"The slot-hours of {OURS} are at most {CLOSE - 1:.0%} above the clairvoyant's on {close}."
    )
    for each in contests:
        if each.slots > CLOSE:
            slots = f"{each.slots:.2f} times the clairvoyant's slot-hours"
            yield f"{each.shape.capitalize()}: {slots}. {WHY.get(each.shape, '')}".strip()


def _among(contests: Sequence[Contest], holds: Callable[[Contest], bool]) -> str:
    """`2 of 6 load shapes: step, ramp`."""
    found = [each.shape for each in contests if holds(each)]
    told = f"{len(found)} of {counted(len(contests), 'load shape')}"
    return f"{told}: {', '.join(found)}" if found else told

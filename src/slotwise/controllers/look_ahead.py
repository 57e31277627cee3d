"""Simulates every change over the next minutes; the cheapest plan that keeps the goals wins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from slotwise.controllers import _reasons
from slotwise.controllers._forecast import Quiet, forecast
from slotwise.controllers._options import check_positive
from slotwise.controllers._outlook import LATELY_S, Outlook
from slotwise.controllers._plans import changed
from slotwise.controllers._trial import Trial
from slotwise.controllers._turns import Turns
from slotwise.controllers.base import Situation
from slotwise.model import Decision, Goals, counted

MOST_TRIED, MOST_MOVED = 4, 2
"""Plans with other threads, and with the same ones elsewhere, that are simulated for a decision."""
STEP = 1.08
"""After a plan that was not enough, the next has so many times its slots at least."""
AT_ONCE, EVERY = 3, 12
"""A way out is sought in the first periods of trouble, and of trouble at a higher rate than before;
then in every so many."""
MOST_CHANCES = 2
ABOUT = 1.1
"""Rates that are higher by no more than this are about the same."""
QUIET_S = (300.0, 600.0, 1200.0, 2400.0, 4800.0, 9600.0)
"""For so long a smaller plan must have been enough."""
FOR_SMALLER = 2 / 3
"""After this part of the changes, none is made to a smaller plan."""


@dataclass(frozen=True)
class LookAhead:
    """In every period:

    1. Profiles, selectivities and the speeds of nodes are corrected by what was measured.
    2. The input rate is forecast for `horizon_s`; see _forecast.py.
    3. If the plan in effect keeps the goals for the next `lead_s`, it stays: what can wait, waits.
    4. Else plans with the same threads elsewhere, with other threads and on other machines are
       simulated from the present backlog on for `horizon_s`, with the time until a change begins
       and its pause; see _trial.py.
       The one with the fewest seconds in violation is taken, of equals the cheapest, then the one
       with the fewest slots, then the fastest; if that saves as much as another change would take.
    5. A smaller plan is taken if it would have been enough for some minutes, will be by the
       forecast and its uncertainty, and pays: the part of the slots that it saves, for as long as
       such times lasted before, is worth `worth` times the seconds in violation that it takes to
       get there. The goals are then kept by a margin.

    At most `changes_per_hour` changes; a third of them is kept for larger plans. Each time within
    an hour that slots which were given back were needed again, it takes twice as long until some
    are given back the next time. What is not measured counts as before. `season_s` is the length of
    the period after which rates repeat, a day.
    """

    name: ClassVar[str] = "look-ahead"
    horizon_s: float = 600.0
    lead_s: float = 30.0
    season_s: float = 86_400.0
    worth: float = 20.0
    changes_per_hour: int = 12

    def __post_init__(self) -> None:
        check_positive(
            horizon_s=self.horizon_s,
            lead_s=self.lead_s,
            season_s=self.season_s,
            worth=self.worth,
            changes_per_hour=self.changes_per_hour,
        )

    def decide(self, situation: Situation) -> Decision:
        made = Turns.of(situation).changes
        if made >= self.changes_per_hour:
            some = counted(made, "change")
            return Decision.keep(f"{some} within the last hour, as many as allowed")
        ahead = forecast(situation.rates, situation.period_s, self.horizon_s, self.season_s)
        if ahead.high() <= 0:
            return Decision.keep("no input is expected")
        look = Outlook(situation, ahead)
        if look.is_missed or look.will_be_missed(self.lead_s):
            return self._relieved(look)
        smaller = None if made >= FOR_SMALLER * self.changes_per_hour else self._smaller(look)
        return smaller or Decision.keep(f"the goals are kept {_reasons.forecast(look)}")

    def _relieved(self, look: Outlook) -> Decision:
        """Goals are missed, or will be: what helps most, and of that the cheapest."""
        if not look.ahead.settled:
            return Decision.keep("the input rate is still changing")
        if not _is_time(look):
            return Decision.keep(f"{_reasons.busy(look)}; nothing helped when it was last tried")
        keep = look.kept(self.horizon_s)
        why = _reasons.trouble(look, keep)
        if keep.violation_s <= self._least_gain_s(look, keep):
            return Decision.keep(f"{why}, but for no longer than a change would take")
        goals, best = look.stricter(keep), None
        for trial in self._trials(look, goals):
            if best is None or look.rank(trial) < look.rank(best):
                best = trial
            if trial.is_sure(goals):
                break
        if best is None:
            return Decision.keep(f"{why}, but no plan was found for it")
        if not self._helps(look, keep, best):
            return Decision.keep(f"{why}, but no plan that was tried helps")
        return _changed(look, best, keep, why)

    def _helps(self, look: Outlook, keep: Trial, best: Trial) -> bool:
        """It saves enough by the horizon; or it ends what would go on beyond that: goals that are
        missed, or at least queues that grow.
        """
        if keep.lasting_s > 0 and best.lasting_s == 0:
            return True
        if keep.is_overloaded and not best.is_overloaded:
            return True
        return best.violation_s <= keep.violation_s - self._least_gain_s(look, keep)

    def _least_gain_s(self, look: Outlook, keep: Trial) -> float:
        """Seconds in violation that a change must save: what it takes to take it back, and half of
        all where the plan in effect recovers by itself, for of a backlog no more is known than how
        large it is.
        """
        takes_s = look.restart_s + look.situation.period_s
        return takes_s if keep.lasting_s > 0 else max(takes_s, keep.violation_s / 2)

    def _trials(self, look: Outlook, goals: Goals) -> Iterator[Trial]:
        """Of the same threads elsewhere, then of other threads; after those, of clearly larger
        plans.
        """
        slots, moved, sized = 0.0, 0, 0
        for plan in islice(look.moved(self.horizon_s), MOST_MOVED):
            yield look.tried(plan, self.horizon_s, goals)
            moved += 1
        for plan in look.sized(self.horizon_s):
            if look.moves(plan):
                if moved < MOST_MOVED:
                    yield look.tried(plan, self.horizon_s, goals)
                moved += 1
            elif sized == MOST_TRIED:
                return
            elif plan.slots >= slots:
                yield look.tried(plan, self.horizon_s, goals)
                sized, slots = sized + 1, max(plan.slots + 1, plan.slots * STEP)

    def _smaller(self, look: Outlook) -> Decision | None:
        """The plan that saves most and pays, if there is one."""
        worthwhile = [each for each in self._chances(look) if each.pays(each.most)]
        for chance in sorted(worthwhile, key=lambda each: -each.most)[:MOST_CHANCES]:
            if (found := self._taken(look, chance)) is not None:
                return found
        return None

    def _chances(self, look: Outlook) -> Iterator[_Chance]:
        """Rates that were not exceeded for some time, and will not be."""
        situation, known = look.situation, 0.0
        since_s = situation.now_s - situation.changed_s
        falling = Quiet.below(situation.rates, ABOUT * look.ahead.high())
        if QUIET_S[0] / 2 <= falling.so_far_s < QUIET_S[0]:
            return  # A better one is near.
        patience_s = look.patience_s(QUIET_S[0])
        for quiet_s in QUIET_S:
            rate = look.highest(quiet_s)
            quiet = Quiet.below(situation.rates, rate)
            if quiet.so_far_s < quiet_s:
                return
            if quiet_s < patience_s:
                continue
            # What this plan can spare is not known for longer than it is in effect.
            if rate > known and _is_ripe(min(quiet.so_far_s, since_s), situation.period_s):
                paid_s = min(quiet.further_s, since_s) / self.worth
                yield _Chance(rate, quiet, paid_s, look.restart_s, look.most_saved(rate))
            known = rate

    def _taken(self, look: Outlook, chance: _Chance) -> Decision | None:
        plan = next(look.smaller(chance.rate, chance.took_s / chance.paid_s), None)
        if plan is None:
            return None
        trial = look.tried(plan, self.horizon_s, look.goals, chance.rate)
        took_s = max(trial.recovery_s, look.situation.pause_s(plan))
        if not trial.is_sure(look.goals) or look.saving(plan) * chance.paid_s < took_s:
            return None
        now = look.situation.plan.slots
        why = (
            f"at most {chance.rate:,.1f}/s came for {chance.quiet.so_far_s / 60:,.0f} min, and "
            f"{plan.slots} of {now} slots are enough {_reasons.forecast(look)}"
        )
        return _changed(look, trial, look.kept(self.lead_s), why)


@dataclass(frozen=True)
class _Chance:
    """To save slots: a plan for `rate` is enough, and for some time."""

    rate: float
    quiet: Quiet
    paid_s: float
    """Seconds in violation that it would be worth to save all slots."""
    took_s: float
    """What a change takes at least."""
    most: float
    """No plan saves a larger part of the slots."""

    def pays(self, saving: float) -> bool:
        return saving * self.paid_s >= self.took_s


def _is_ripe(seconds: float, period_s: float) -> bool:
    """Whether to look for a smaller plan: after a time that is a quarter longer than at the last
    look, and so rarely where little changes.
    """

    def looks(after_s: float) -> int:
        return math.floor(math.log(max(after_s, 1e-9) / QUIET_S[0]) / math.log(1.25))

    return seconds >= QUIET_S[0] and looks(seconds) > looks(seconds - period_s)


def _is_time(look: Outlook) -> bool:
    """In the first periods of trouble, and then now and then. A goal that was missed at a lower
    rate, by chance or for good, is another trouble.
    """
    lately = look.situation.last(LATELY_S)
    periods = len(look.situation.observations)
    rate = lately[-1].offered_rate
    before = (
        n
        for n, (seen, misses) in enumerate(zip(lately[::-1], look.missed_lately[::-1], strict=True))
        if not misses or ABOUT * seen.offered_rate < rate
    )
    return next(before, periods) <= AT_ONCE or periods % EVERY == 0


def _changed(look: Outlook, trial: Trial, keep: Trial, why: str) -> Decision:
    expected = f"expected {_reasons.expected(look, trial)}"
    return changed(look.situation, trial.plan, why, _reasons.gain(look, keep, trial), expected)

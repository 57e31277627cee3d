"""Paper 1's tables applied again when the input rate leaves the band that was planned for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slotwise.controllers._measured import offered
from slotwise.controllers._options import check_parts, check_positive
from slotwise.controllers._plans import changed, planned
from slotwise.controllers.base import Situation
from slotwise.model import Choice, Decision, Gain


@dataclass(frozen=True)
class ModelDriven:
    """A plan by `mba` and `sam` holds for input rates from (1 - `band`) times its rate up to it.
    When the mean of the last `seconds` is outside, the pipeline is planned for that mean and the
    part `margin` more. Profiles stay as they were given: what the run measures is not used.
    O(operators) beside placing.
    """

    name: ClassVar[str] = "model-driven"
    band: float = 0.4
    margin: float = 0.2
    seconds: float = 30.0

    def __post_init__(self) -> None:
        check_parts(band=self.band)
        check_positive(seconds=self.seconds)
        if not 0 <= self.margin <= 10:
            raise ValueError(
                f"margin: invalid value '{self.margin}': expected a number from 0 to 10"
            )

    def decide(self, situation: Situation) -> Decision:
        plan = situation.plan
        if not situation.covers(self.seconds):
            return Decision.keep(f"fewer than {self.seconds:g} s were observed under this plan")
        rate = offered(situation.last(self.seconds))
        lowest = (1 - self.band) * plan.rate
        if lowest <= rate <= plan.rate or rate <= 0:
            return Decision.keep(
                f"{rate:,.1f}/s are within the planned {lowest:,.1f} to {plan.rate:,.1f}/s"
            )
        wanted = rate * (1 + self.margin)
        new = planned(plan, plan.pipeline, wanted, Choice("mba"), Choice("sam"))
        why = f"{rate:,.1f}/s are outside the planned {lowest:,.1f} to {plan.rate:,.1f}/s"
        before = None if plan.predicted is None else plan.predicted.capacity
        after = None if new.predicted is None else new.predicted.capacity
        return changed(situation, new, why, Gain("capacity", before, after))

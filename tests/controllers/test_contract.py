"""Every controller keeps the controllers' contract on random pipelines, goals and loads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from slotwise import registry
from slotwise.controllers.base import Controller, Situation
from slotwise.model import Choice, Decision
from slotwise.testing.controllers import ControllerContract, check
from tests.controllers.timelines import situation


class TestEveryController(ControllerContract):
    @pytest.fixture(params=registry.CONTROLLERS)
    def controller(self, request: pytest.FixtureRequest) -> Controller:
        return registry.controller(Choice(request.param))


@dataclass(frozen=True)
class NowhereToRun:
    """A controller with a fault: it puts every thread in a slot that the cluster does not have."""

    name: ClassVar[str] = "nowhere-to-run"

    def decide(self, situation: Situation) -> Decision:
        plan = situation.plan
        slots = np.full(len(plan.placement.slots), plan.cluster.slots)
        moved = replace(plan, placement=replace(plan.placement, slots=slots))
        return Decision.change(plan, moved, "because", 0.0)


def test_the_contract_finds_a_plan_that_cannot_be_run() -> None:
    with pytest.raises(AssertionError):
        check(NowhereToRun(), situation())

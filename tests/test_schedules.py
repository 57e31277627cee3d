from __future__ import annotations

import pytest

from slotwise.model import Choice, ModelError, Schedule
from slotwise.schedules import schedule


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("constant", Schedule.constant()),
        ("step:at=1m,factor=2", Schedule.step(60, 2)),
        ("step:at=60,factor=2", Schedule.step(60, 2)),
        ("ramp:from=0s,to=500ms,factor=5", Schedule.ramp(0, 0.5, 5)),
        ("sine:period=1h,amplitude=0.5", Schedule.sine(3600, 0.5)),
        ("burst:period=60s,length=5s,factor=3", Schedule.burst(60, 5, 3)),
    ],
)
def test_one_syntax(text: str, wanted: Schedule) -> None:
    assert schedule(text) == wanted


def test_a_mapping_in_yaml_is_the_same() -> None:
    assert schedule(Choice("step", {"at": "60s", "factor": 2})) == Schedule.step(60, 2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("burts:period=1s", "unknown schedule 'burts': did you mean 'burst'?"),
        ("square", "unknown schedule 'square': expected one of constant, step, ramp, sine, burst"),
        ("step:at=5s", "schedule 'step' needs the option 'factor'"),
        ("step:at=5x,factor=2", "schedule 'step': at: invalid duration '5x': expected a number"),
        ("step:at=5s,factor=x", "schedule 'step': factor: invalid value 'x': expected a number"),
        ("step:at_s=5,factor=2", "schedule 'step' has no option 'at_s': did you mean 'at'?"),
        ("constant:at=5s", "schedule 'constant' has no option 'at': there are none"),
        ("step:5s", "invalid option '5s' in 'step:5s': expected NAME:OPTION=VALUE"),
        ("step:at=5s,factor=-1", "the factors of a schedule must be 0 or more"),
    ],
)
def test_what_is_no_schedule(text: str, problem: str) -> None:
    with pytest.raises(ModelError) as refused:
        schedule(text)
    assert str(refused.value).startswith(problem)

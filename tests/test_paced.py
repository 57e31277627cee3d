from __future__ import annotations

from dataclasses import replace

import pytest

from slotwise.model import Logic, ModelError, Operator, Schedule
from slotwise.paced import factor_at, pace_of


def source(format: str | None = None, **options: str) -> Operator:
    return Operator("s", "source", logic=Logic(format=format, options=tuple(options.items())))


def test_schedule_and_delay_are_read_and_the_rest_is_left() -> None:
    pace = pace_of(source(schedule="step:at=5s,factor=2", delay="500ms", payload="id", seed="3"))
    assert pace is not None
    assert (pace.schedule, pace.delay_s) == (Schedule.step(5, 2), 0.5)
    assert pace.others == {"payload": "id", "seed": "3"}


def test_a_source_without_options_is_paced() -> None:
    pace = pace_of(source())
    assert pace is not None
    assert (pace.schedule, pace.delay_s, pace.others) == (None, 0, {})


def test_what_schedules_make_of_the_rate_counts_by_the_sources_shares() -> None:
    stepped = replace(source(schedule="step:at=5s,factor=3", delay="2s"), share=3.0)
    other = source(format="kafka")
    assert [factor_at([stepped, other], at) for at in (1, 3, 8)] == [0.25, 1.0, 2.5]
    assert factor_at([stepped, other], 8, Schedule.step(1, 5)) == 4.0


def test_options_of_other_formats_are_theirs() -> None:
    assert pace_of(source(format="kafka", schedule="whenever")) is None


@pytest.mark.parametrize(
    ("option", "text", "problem"),
    [
        ("rate", "100", "source 's' has no option 'rate': expected one of arrivals, seed, "),
        ("delayMs", "100", "source 's' has no option 'delayMs': did you mean 'delay'?"),
        ("delay", "soon", "source 's': invalid duration 'soon': expected a number with ms, s, m"),
        (
            "payload",
            "generated(tweet)",
            "source 's': unknown data set 'tweet': did you mean 'tweets'",
        ),
        ("schedule", "stp:at=5s", "source 's': unknown schedule 'stp': did you mean 'step'?"),
    ],
)
def test_a_wrong_option_is_refused_with_its_place(option: str, text: str, problem: str) -> None:
    with pytest.raises(ModelError) as refused:
        pace_of(source(**{option: text}))
    assert str(refused.value).startswith(problem)
    assert refused.value.path == ("topology", "operators", "s", "options", option)

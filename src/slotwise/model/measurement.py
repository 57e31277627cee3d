"""Where measured figures come from: when, on what, how often, and how much they varied."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from slotwise.model.errors import ModelError
from slotwise.model.limits import check_range, count, not_negative, positive, set_fields

MeasurementSource = Literal["experiment", "run"]


@dataclass(frozen=True)
class Measurement:
    """How a profile or a platform was measured.

    A profile of an `experiment` was measured in a slot of its own, with its input from and its
    output to other slots: its figures include what those hops and the meters take, above what an
    idle slot takes. One of a `run` holds the operator's own work only, as a typed profile does.
    """

    at: str
    """ISO date and time, UTC."""
    spark: str
    java: str
    cpu: str
    """The CPU model."""
    cores: float | None = None
    """The slot's CPU quota in cores; None: measured without a quota."""
    memory_mb: float | None = None
    """The memory of the slot; None: not known."""
    trials: int = 1
    spread: float | None = None
    """Relative standard deviation of repeated figures; None: nothing was repeated."""
    source: MeasurementSource = "experiment"

    def __post_init__(self) -> None:
        if self.source not in get_args(MeasurementSource):
            raise ModelError(f"source is '{self.source}': expected 'experiment' or 'run'")
        try:
            datetime.fromisoformat(self.at)
        except ValueError:
            raise ModelError(
                f"at is '{self.at}': expected a date and time such as 2026-11-18T09:30:00Z"
            ) from None
        set_fields(self, trials=count(self.trials, "trials"))
        for name, check in (("cores", positive), ("memory_mb", positive), ("spread", not_negative)):
            if (figure := getattr(self, name)) is not None:
                set_fields(self, **{name: check(figure, name)})
                check_range(figure, name)

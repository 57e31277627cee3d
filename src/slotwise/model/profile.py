"""What an operator costs: one of three forms, or several that were measured together.

CPU and memory are fractions of one reference slot (1.0 = a whole slot), rates are tuples/s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from slotwise.model.errors import ModelError
from slotwise.model.limits import count, not_negative, positive, set_fields
from slotwise.model.measurement import Measurement
from slotwise.model.words import counted

POINTS_PER_CORE = 100.0
"""P-Deployer counts CPU in points, 100 for a core."""
TRANSFER_SHARE = 0.1
"""P-Deployer's α: the share of a core one task may spend on sending and receiving."""
TASK_MEMORY_MB = 512.0
"""P-Deployer's β: the memory one task may use."""

Form = TypeVar("Form")


@dataclass(frozen=True)
class ThreadRow:
    """So many threads of an operator, alone in one slot: peak stable rate, CPU, memory."""

    threads: int
    rate: float
    cpu: float
    mem: float

    def __post_init__(self) -> None:
        at = f"at {counted(self.threads, 'thread')}"
        set_fields(
            self,
            rate=positive(self.rate, f"rate {at}"),
            cpu=not_negative(self.cpu, f"cpu {at}"),
            mem=not_negative(self.mem, f"mem {at}"),
        )


@dataclass(frozen=True)
class ThreadTable:
    """Paper 1's performance model: rows by rising thread count.

    Between rows the figures are interpolated linearly, below the first row towards zero threads
    at zero rate; past the last row the last row holds.

    >>> table = ThreadTable((ThreadRow(1, 2.0, 0.1, 0.2), ThreadRow(3, 4.0, 0.3, 0.2)))
    >>> table.at(2).rate, table.best.threads, table.smallest_for(3.5).threads
    (3.0, 3, 3)
    """

    rows: tuple[ThreadRow, ...]

    def __post_init__(self) -> None:
        if not self.rows:
            raise ModelError("the thread table is empty: expected at least a row for 1 thread")
        last = 0
        for row in self.rows:
            if row.threads <= last:
                raise ModelError(
                    f"thread counts must rise from at least 1, but {row.threads} follows {last}"
                )
            last = row.threads

    @cached_property
    def best(self) -> ThreadRow:
        """The row with the highest rate, the fewest threads among equals: a *full bundle*."""
        return max(self.rows, key=lambda row: (row.rate, -row.threads))

    def at(self, threads: int) -> ThreadRow:
        rate, cpu, mem = self.figures(np.array([threads], dtype=np.float64))
        return ThreadRow(threads, float(rate[0]), float(cpu[0]), float(mem[0]))

    def figures(self, threads: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """(rate, cpu, mem) at many thread counts at once."""
        counts, *columns = self._columns
        return tuple(np.interp(threads, counts, column) for column in columns)

    def smallest_for(self, rate: float) -> ThreadRow | None:
        """The modelled row with the fewest threads whose rate is at least `rate`."""
        return next((row for row in self.rows if row.rate >= rate), None)

    @cached_property
    def _columns(self) -> tuple[NDArray[np.float64], ...]:
        rows = [(0.0, 0.0, 0.0, 0.0), *((r.threads, r.rate, r.cpu, r.mem) for r in self.rows)]
        return tuple(np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))


@dataclass(frozen=True)
class TaskCosts:
    """P-Deployer's task profile, per tuple. A cost left out is 0: it bounds nothing."""

    cpu_points: float = 0.0
    """c_p: CPU points one tuple/s keeps busy (100 points = one core)."""
    transfer_points: float = 0.0
    """c_t: CPU points one tuple/s keeps busy when it is sent to or received from another node."""
    memory_mb: float = 0.0
    """m_pt: memory one tuple/s in or out keeps in use."""
    sojourn_ms: float = 0.0
    """t_soj: how long a tuple stays in its task."""

    def __post_init__(self) -> None:
        for field in fields(self):
            cost = not_negative(getattr(self, field.name), field.name)
            set_fields(self, **{field.name: cost})
        if math.isinf(self.thread_rate):
            raise ModelError("all task costs are 0: expected at least one > 0")

    @property
    def bounds(self) -> dict[str, float]:
        """The rate at which one thread meets each of P-Deployer's four bounds."""
        return {
            "cpu": _ratio(POINTS_PER_CORE, self.cpu_points),
            "io": _ratio(POINTS_PER_CORE * TRANSFER_SHARE, self.transfer_points),
            "sojourn": _ratio(1000.0, self.sojourn_ms),
            "memory": _ratio(TASK_MEMORY_MB, self.memory_mb),
        }

    @property
    def thread_rate(self) -> float:
        """The rate one thread sustains: the tightest bound."""
        return min(self.bounds.values())


@dataclass(frozen=True)
class ServiceRate:
    """DRS's profile: one thread serves `rate` tuples/s; 1.0 variation is exponential service.

    `cpu` and `mem` are what one busy thread takes of a slot. `arrival_scv` and `service_scv` are
    squared coefficients of variation of the inter-arrival and the service times.
    """

    rate: float
    cpu: float = 1.0
    mem: float = 0.0
    arrival_scv: float = 1.0
    service_scv: float = 1.0

    def __post_init__(self) -> None:
        set_fields(self, rate=positive(self.rate, "service rate"))
        for name in ("cpu", "mem", "arrival_scv", "service_scv"):
            set_fields(self, **{name: not_negative(getattr(self, name), name)})


@dataclass(frozen=True)
class FixedLoad:
    """A load that does not grow with the rate, as paper 1 charges sources and sinks."""

    threads: int = 1
    cpu: float = 0.0
    mem: float = 0.0

    def __post_init__(self) -> None:
        set_fields(
            self,
            threads=count(self.threads, "threads"),
            cpu=not_negative(self.cpu, "cpu"),
            mem=not_negative(self.mem, "mem"),
        )


@dataclass(frozen=True)
class ProfileForms:
    """Several forms of one operator's profile, and how they were measured; at least one form."""

    table: ThreadTable | None = None
    costs: TaskCosts | None = None
    service: ServiceRate | None = None
    measurement: Measurement | None = None

    def __post_init__(self) -> None:
        if not self.forms:
            raise ModelError("the profile has no figures: expected a table, costs or a service")

    @property
    def forms(self) -> tuple[ThreadTable | ServiceRate | TaskCosts, ...]:
        """Those that are there; what is missing is converted from the first."""
        return tuple(form for form in (self.table, self.service, self.costs) if form is not None)


Profile = ThreadTable | TaskCosts | ServiceRate | FixedLoad | ProfileForms


def form_of(profile: Profile, kind: type[Form]) -> Form | None:
    """The profile in this form, if it has it."""
    forms = profile.forms if isinstance(profile, ProfileForms) else (profile,)
    return next((form for form in forms if isinstance(form, kind)), None)


def with_variation(profile: Profile, **scv: float) -> Profile:
    """The profile with another `arrival_scv` or `service_scv`, if it has a service rate."""
    match profile:
        case ServiceRate():
            return replace(profile, **scv)
        case ProfileForms(service=ServiceRate() as service):
            return replace(profile, service=replace(service, **scv))
        case _:
            return profile


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else math.inf

"""What an operator costs, in one of three measured forms, and each seen as the other two.

CPU and memory are fractions of one reference slot (1.0 = a whole slot), rates are tuples/s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slotwise.model.errors import ModelError
from slotwise.model.limits import check_range, count, not_negative, positive, set_fields
from slotwise.model.words import counted

POINTS_PER_CORE = 100.0
"""P-Deployer counts CPU in points, 100 for a core."""
TRANSFER_SHARE = 0.1
"""P-Deployer's α: the share of a core one task may spend on sending and receiving."""
TASK_MEMORY_MB = 512.0
"""P-Deployer's β: the memory one task may use."""
MOST_THREADS_PER_SLOT = 100
"""Where neither CPU nor memory says when a slot is full, this many threads fill it."""


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


Profile = ThreadTable | TaskCosts | ServiceRate | FixedLoad


@dataclass(frozen=True)
class Profiles:
    """Every operator's profile, and each in the form an algorithm asks for.

    An algorithm made for one form can run on the others: `table`, `costs` and `service` convert.
    What one form does not give (transfer cost in a thread table, say) is 0 in the other; `derived`
    says whether a view was converted, so that results can say so. Task costs count memory for
    tuples in and out (paper 3, Equation 2), the other forms for tuples in: `sent_per_tuple` is how
    many tuples the operator sends for each that it handles. It matters for memory only.
    """

    by_operator: Mapping[str, Profile]
    slot_memory_mb: float

    def __post_init__(self) -> None:
        """What users give is checked here, since views of it may have any magnitude."""
        memory_mb = positive(self.slot_memory_mb, "slot_memory_mb", path=("slot_memory_gb",))
        check_range(memory_mb, "slot_memory_mb", path=("slot_memory_gb",))
        set_fields(self, slot_memory_mb=memory_mb)
        for operator, profile in self.by_operator.items():
            for part in profile.rows if isinstance(profile, ThreadTable) else (profile,):
                for field in fields(part):
                    figure = getattr(part, field.name)
                    check_range(figure, field.name, operator, ("profiles", operator))

    def __getitem__(self, operator: str) -> Profile:
        return self.by_operator[operator]

    def fixed(self, operator: str) -> FixedLoad | None:
        profile = self[operator]
        return profile if isinstance(profile, FixedLoad) else None

    def service_scv(self, operator: str) -> float:
        """Squared coefficient of variation of service times: 1, exponential, unless it is known."""
        match self[operator]:
            case ServiceRate() as profile:
                return profile.service_scv
            case FixedLoad():
                return 0.0
            case _:
                return 1.0

    def arrival_scv(self, operator: str) -> float:
        """Likewise of the times between arrivals: 1, Poisson, unless it is known."""
        profile = self[operator]
        return profile.arrival_scv if isinstance(profile, ServiceRate) else 1.0

    def transfer_cpu(self, operator: str) -> float:
        """Seconds of a core for each tuple sent to or received from another node; 0 if unknown."""
        match self[operator]:
            case TaskCosts(transfer_points=points):
                return points / POINTS_PER_CORE
            case _:
                return 0.0

    def derived(self, operator: str, form: type) -> bool:
        return not isinstance(self[operator], form)

    def table(self, operator: str, sent_per_tuple: float = 1.0) -> ThreadTable:
        """As a thread table; the other forms scale linearly until a slot is full."""
        if isinstance(profile := self[operator], ThreadTable):
            return profile
        service = self.service(operator, sent_per_tuple)
        return _linear_table(service.rate, service.cpu, service.mem)

    def service(self, operator: str, sent_per_tuple: float = 1.0) -> ServiceRate:
        """As a service rate: what one thread does in a full bundle."""
        match self[operator]:
            case ServiceRate() as service:
                return service
            case ThreadTable() as table:
                best = table.best
                return ServiceRate(
                    best.rate / best.threads, best.cpu / best.threads, best.mem / best.threads
                )
            case TaskCosts() as costs:
                rate = costs.thread_rate
                cpu = rate * costs.cpu_points / POINTS_PER_CORE
                memory_mb = rate * (1 + sent_per_tuple) * costs.memory_mb
                return ServiceRate(rate, cpu, memory_mb / self.slot_memory_mb)
            case FixedLoad():
                raise TypeError(f"'{operator}' has a fixed load: it has no rate")

    def costs(self, operator: str, sent_per_tuple: float = 1.0) -> TaskCosts:
        """As task costs: per tuple what a thread in a full bundle spends; no transfer cost."""
        if isinstance(profile := self[operator], TaskCosts):
            return profile
        service = self.service(operator)
        return TaskCosts(
            cpu_points=POINTS_PER_CORE * service.cpu / service.rate,
            memory_mb=service.mem * self.slot_memory_mb / service.rate / (1 + sent_per_tuple),
            sojourn_ms=1000.0 / service.rate,
        )


def _linear_table(rate: float, cpu: float, mem: float) -> ThreadTable:
    """One thread's figures, multiplied until CPU or memory of a slot is full."""
    largest = max(cpu, mem)
    room = math.floor(1 / largest + 1e-9) if largest > 0 else MOST_THREADS_PER_SLOT
    fill = min(max(1, room), MOST_THREADS_PER_SLOT)
    counts = (1,) if fill == 1 else (1, fill)
    return ThreadTable(tuple(ThreadRow(n, n * rate, n * cpu, n * mem) for n in counts))


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else math.inf

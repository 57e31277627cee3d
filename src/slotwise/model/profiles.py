"""Every operator's profile, in whichever form an algorithm asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from slotwise.model.limits import check_range, positive, set_fields
from slotwise.model.measurement import Measurement
from slotwise.model.profile import (
    POINTS_PER_CORE,
    FixedLoad,
    Profile,
    ProfileForms,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
    form_of,
)

MOST_THREADS_PER_SLOT = 100
"""Where neither CPU nor memory says when a slot is full, this many threads fill it."""


@dataclass(frozen=True)
class Profiles:
    """Every operator's profile, and each in the form an algorithm asks for.

    An algorithm made for one form can run on the others: `table`, `costs` and `service` convert,
    where a profile does not have the form, from its table, else its service rate, else its costs.
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
            for part in _parts(profile):
                for field in fields(part):
                    figure = getattr(part, field.name)
                    check_range(figure, field.name, operator, ("profiles", operator))
        # One form of which nothing more is known is that form: equal pipelines are equal.
        by_operator = {operator: _plain(each) for operator, each in self.by_operator.items()}
        if by_operator != self.by_operator:
            set_fields(self, by_operator=by_operator)

    def __getitem__(self, operator: str) -> Profile:
        return self.by_operator[operator]

    def measurement(self, operator: str) -> Measurement | None:
        """How the operator's profile was measured; None: it was typed."""
        profile = self[operator]
        return profile.measurement if isinstance(profile, ProfileForms) else None

    def fixed(self, operator: str) -> FixedLoad | None:
        profile = self[operator]
        return profile if isinstance(profile, FixedLoad) else None

    def service_scv(self, operator: str) -> float:
        """Squared coefficient of variation of service times: 1, exponential, unless it is known."""
        if self.fixed(operator):
            return 0.0
        service = form_of(self[operator], ServiceRate)
        return service.service_scv if service else 1.0

    def arrival_scv(self, operator: str) -> float:
        """Likewise of the times between arrivals: 1, Poisson, unless it is known."""
        service = form_of(self[operator], ServiceRate)
        return service.arrival_scv if service else 1.0

    def transfer_cpu(self, operator: str) -> float:
        """Seconds of a core for each tuple sent to or received from another node; 0 if unknown."""
        costs = form_of(self[operator], TaskCosts)
        return costs.transfer_points / POINTS_PER_CORE if costs else 0.0

    def derived(self, operator: str, form: type) -> bool:
        return form_of(self[operator], form) is None

    def table(self, operator: str, sent_per_tuple: float = 1.0) -> ThreadTable:
        """As a thread table; the other forms scale linearly until a slot is full."""
        if (table := form_of(self[operator], ThreadTable)) is not None:
            return table
        service = self._in_full_bundle(operator, sent_per_tuple)
        return _linear_table(service.rate, service.cpu, service.mem)

    def service(self, operator: str, sent_per_tuple: float = 1.0) -> ServiceRate:
        """As a service rate: what one thread does in a full bundle."""
        if (service := form_of(self[operator], ServiceRate)) is not None:
            return service
        return self._in_full_bundle(operator, sent_per_tuple)

    def costs(self, operator: str, sent_per_tuple: float = 1.0) -> TaskCosts:
        """As task costs: per tuple what a thread in a full bundle spends; no transfer cost."""
        if (costs := form_of(self[operator], TaskCosts)) is not None:
            return costs
        service = self._in_full_bundle(operator, 1.0)
        return TaskCosts(
            cpu_points=POINTS_PER_CORE * service.cpu / service.rate,
            memory_mb=service.mem * self.slot_memory_mb / service.rate / (1 + sent_per_tuple),
            sojourn_ms=1000.0 / service.rate,
        )

    def _in_full_bundle(self, operator: str, sent_per_tuple: float) -> ServiceRate:
        """What one thread does in a full bundle; a table knows best, then a service rate."""
        profile = self[operator]
        match profile.forms[0] if isinstance(profile, ProfileForms) else profile:
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


def _plain(profile: Profile) -> Profile:
    if isinstance(profile, ProfileForms) and profile.measurement is None:
        return profile.forms[0] if len(profile.forms) == 1 else profile
    return profile


def _parts(profile: Profile) -> Iterator[Any]:
    """All values with figures."""
    for form in profile.forms if isinstance(profile, ProfileForms) else (profile,):
        yield from form.rows if isinstance(form, ThreadTable) else (form,)


def _linear_table(rate: float, cpu: float, mem: float) -> ThreadTable:
    """One thread's figures, multiplied until CPU or memory of a slot is full."""
    largest = max(cpu, mem)
    room = math.floor(1 / largest + 1e-9) if largest > 0 else MOST_THREADS_PER_SLOT
    fill = min(max(1, room), MOST_THREADS_PER_SLOT)
    counts = (1,) if fill == 1 else (1, fill)
    return ThreadTable(tuple(ThreadRow(n, n * rate, n * cpu, n * mem) for n in counts))

"""What one tuple takes of a thread: the figures of a run, as the forms of profiles count them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from slotwise.model import (
    FixedLoad,
    Profile,
    ProfileForms,
    Profiles,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
)
from slotwise.model.profile import POINTS_PER_CORE, form_of


@dataclass(frozen=True)
class OwnWork:
    """An operator's own work on a tuple in the mean; the engine's part is not in it."""

    service_s: float
    cpu_s: float | None
    """Of a core; None: not metered."""
    service_scv: float | None
    """Squared coefficient of variation of the time; None: tuples were not timed one by one."""

    @staticmethod
    def of(
        arrival_rate: float,
        service_ms: float | None,
        cpu: float | None,
        service_scv: float | None,
        whole: bool = False,
    ) -> OwnWork | None:
        """From figures of an OperatorLoad; None where no tuple was timed.

        A thread's CPU beyond its time of service is the engine's, which the platform's figures
        count; `whole`: all of it is the operator's own.
        """
        if not arrival_rate or not service_ms:
            return None
        service_s = service_ms / 1000
        cpu_s = None if cpu is None else cpu / arrival_rate
        if cpu_s is not None and not whole:
            cpu_s = min(cpu_s, service_s)
        return OwnWork(service_s, cpu_s, service_scv)

    @property
    def assumed_cpu_s(self) -> float:
        """Where CPU is not metered, a core for the time of service."""
        return self.service_s if self.cpu_s is None else self.cpu_s

    def service(self, cores: float) -> ServiceRate:
        """One thread in a slot of so many cores."""
        rate, cpu = in_a_slot(self.service_s, self.assumed_cpu_s / cores)
        scv = {} if self.service_scv is None else {"service_scv": self.service_scv}
        return ServiceRate(rate, cpu=cpu, **scv)

    @property
    def costs(self) -> TaskCosts:
        points = POINTS_PER_CORE * self.assumed_cpu_s
        return TaskCosts(cpu_points=points, sojourn_ms=1000 * self.service_s)


def in_a_slot(seconds: float, cpu_s: float, most: float = 1.0) -> tuple[float, float]:
    """(rate, CPU) of threads that handle a tuple every so many seconds, with `cpu_s` seconds of
    their slot's CPU, and can have `most` slots: they are no faster than their slot allows.

    >>> in_a_slot(0.002, 0.001), in_a_slot(0.002, 0.004)
    ((500.0, 0.5), (250.0, 1.0))
    """
    slowest_s = max(seconds, cpu_s / most)
    return 1 / slowest_s, cpu_s / slowest_s


@dataclass(frozen=True)
class Correction:
    """How an operator's work differs from what its profile says. 1: not at all."""

    time: float = 1.0
    """Time per tuple, as a multiple."""
    cpu: float = 1.0
    """CPU per tuple, likewise."""
    service_scv: float | None = None
    """None: as in the profile."""

    def of(self, profiles: Profiles, operator: str, sent_per_tuple: float) -> Profile:
        """The operator's profile corrected in all its forms; a fixed load stays.

        A thread table keeps its shape, but no row is faster than its slot allows. A variation needs
        the form of a service rate: where there is none it is added.
        """
        profile = profiles[operator]
        if isinstance(profile, FixedLoad):
            return profile
        forms = profile if isinstance(profile, ProfileForms) else _forms(profile)
        service = forms.service
        if service is None and self.service_scv is not None:
            service = profiles.service(operator, sent_per_tuple)
        return replace(
            forms,
            table=None if forms.table is None else self._table(forms.table),
            service=None if service is None else self._service(service),
            costs=None if forms.costs is None else self._costs(forms.costs),
        )

    def _table(self, table: ThreadTable) -> ThreadTable:
        return ThreadTable(tuple(map(self._row, table.rows)))

    def _row(self, row: ThreadRow) -> ThreadRow:
        if self.time == self.cpu == 1:
            return row
        cpu_s = self.cpu * row.cpu / row.rate
        rate, cpu = in_a_slot(self.time / row.rate, cpu_s, max(1.0, row.cpu))
        return ThreadRow(row.threads, rate, cpu, row.mem)

    def _service(self, service: ServiceRate) -> ServiceRate:
        row = self._row(ThreadRow(1, service.rate, service.cpu, service.mem))
        scv = service.service_scv if self.service_scv is None else self.service_scv
        return replace(service, rate=row.rate, cpu=row.cpu, service_scv=scv)

    def _costs(self, costs: TaskCosts) -> TaskCosts:
        """A task is busy with a tuple for as long as its tightest bound says."""
        sojourn_ms = costs.sojourn_ms
        if self.time != 1:
            sojourn_ms = self.time * 1000 / costs.thread_rate
        return replace(costs, cpu_points=self.cpu * costs.cpu_points, sojourn_ms=sojourn_ms)


def _forms(profile: ThreadTable | ServiceRate | TaskCosts) -> ProfileForms:
    return ProfileForms(
        table=form_of(profile, ThreadTable),
        costs=form_of(profile, TaskCosts),
        service=form_of(profile, ServiceRate),
    )

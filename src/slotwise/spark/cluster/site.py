"""Where a plan is to run, as the user chooses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from slotwise.model import Cluster, Plan, SlotwiseError
from slotwise.spark.cluster import masters, standalone


@dataclass(frozen=True)
class Site:
    """An embedded cluster on this machine, or an existing one."""

    master: str | None = None
    """Of an existing one; see `masters`."""
    slot_memory_mb: int = 512
    cores_per_slot: float | None = None
    """A CPU quota per slot; see `standalone.prepared`."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Settings of Spark, before those of the spec."""

    def check(self, plan: Plan) -> None:
        """Raise SlotwiseError for what is known to be missing before anything starts."""
        if self.master is None:
            standalone.check(plan.cluster, self.slot_memory_mb, self.cores_per_slot)
            return
        if self.cores_per_slot is not None:
            raise SlotwiseError(
                f"--cores-per-slot requires an embedded cluster: remove --master {self.master}"
            )
        masters.check(self.master)
        masters.check_conf(self.master, {**dict(plan.pipeline.conf), **self.conf})

    def room(self, tasks: int, grows: bool) -> int:
        """Threads per slot for a plan with so many tasks: all of them, since any slot may take over
        from lost ones. In a run that `grows` a slot has room for several times as many.
        """
        return tasks * (4 if grows else 1)

    @contextmanager
    def prepared(
        self, cluster: Cluster, threads_per_slot: int, conf: Mapping[str, str] | None = None
    ) -> Iterator[standalone.SparkCluster]:
        """A plan's cluster, to be `started`; every slot has room for so many threads. `conf`: the
        session's settings.
        """
        if self.master is not None:
            yield standalone.existing(
                self.master,
                cluster,
                threads_per_slot=threads_per_slot,
                slot_memory_mb=self.slot_memory_mb,
            )
            return
        with standalone.prepared(
            cluster,
            threads_per_slot=threads_per_slot,
            slot_memory_mb=self.slot_memory_mb,
            cores_per_slot=self.cores_per_slot,
            conf=conf,
        ) as made:
            yield made

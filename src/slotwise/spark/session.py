"""From a plan to a running query and back to nothing: cluster, session, run, in one `with`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from slotwise.spark import checkpoints, cluster
from slotwise.spark.explain import checked_sql
from slotwise.spark.launch import Options, Run, start
from slotwise.spark.outline import Outline


@dataclass
class Timeline:
    """Where the time goes until a query keeps pace with its sources."""

    tell: Callable[[str], None] = lambda text: None
    steps: list[tuple[str, float]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.steps.append((name, time.monotonic() - began))
        self.tell(f"{name}: {self.steps[-1][1]:.1f} s")

    @property
    def seconds(self) -> float:
        return sum(seconds for _, seconds in self.steps)


@contextmanager
def launched(
    outline: Outline,
    options: Options | None = None,
    *,
    master: str | None = None,
    slot_memory_mb: int = 512,
    timeline: Timeline | None = None,
) -> Iterator[Run]:
    """The plan's query, delivering tuples: on an embedded cluster, or at `master`.

    Without options, and so without a checkpoint that lasts, everything is gone at the end.
    """
    times = timeline or Timeline()
    with ExitStack() as stack:
        if options is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="slotwise-run-"))
            options = Options(Path(folder) / "checkpoint")
        checkpoints.check(options.checkpoint, outline)
        with ThreadPoolExecutor(1) as beside:
            # Java starts on one core: two starts at once take hardly longer than one.
            coming = beside.submit(stack.enter_context, _cluster(outline, master, slot_memory_mb))
            with times.step("SQL checked"):
                checked_sql(outline, embedded=master is None)
            with times.step("cluster, begun meanwhile"):
                on = coming.result()
        with times.step("session with an executor per slot"):
            spark = cluster.session(on, name=outline.plan.pipeline.topology.name)
            stack.callback(spark.stop)
        with times.step("query compiled and started"):
            run = start(spark, outline, options)
            stack.callback(run.stop)
        with times.step("first tuple at the end"):
            run.await_tuples()
        with times.step("worked off what came due meanwhile"):
            run.await_pace()
        yield run


@contextmanager
def _cluster(
    outline: Outline, master: str | None, slot_memory_mb: int
) -> Iterator[cluster.SparkCluster]:
    model, threads = outline.plan.cluster, outline.plan.allocation.total_threads
    if master is not None:
        yield cluster.existing(
            master, model, threads_per_slot=threads, slot_memory_mb=slot_memory_mb
        )
        return
    with cluster.embedded(
        model, threads_per_slot=threads, slot_memory_mb=slot_memory_mb
    ) as started:
        yield started

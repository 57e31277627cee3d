"""Plans on an embedded Spark cluster: start-up, latency, throughput, meters' cost, live changes.

    python -m benchmarks.spark [NAME ...]

NAME is one of start_up, prepared, diamond, chain, pages, changes, rescaling, recovery, restart; all
if none is given. Two slots on two nodes. What must hold is printed beside what was measured.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from statistics import median

import psutil
from playwright.sync_api import Browser
from pyspark.sql import SparkSession
from tests import builders
from tests.dashboard.scripted import chromium
from tests.spark import counting
from tests.spark.conftest import wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import written, written_files

from slotwise.cli.output import note, show
from slotwise.cli.watching import recorded
from slotwise.dashboard.access import LOOPBACK, Access
from slotwise.dashboard.serving import Address, serving
from slotwise.model import Logic, Plan
from slotwise.report.tables import table
from slotwise.runs import Head, Recorder
from slotwise.spark import cluster
from slotwise.spark.cluster import class_archive
from slotwise.spark.metering.meters import snapshot
from slotwise.spark.query.outline import outline
from slotwise.spark.run import Options, Run, compile_plan, start
from slotwise.spark.start_up import Timeline
from slotwise.spark.supervise import recover, supervise
from slotwise.spark.waiting import await_batch, await_tuples

MODEL = builders.cluster(2, 1)
THREADS_PER_SLOT = 32
WARM_UP_SECONDS, SECONDS = 25.0, 20.0
TURNS, CHAIN_SECONDS = 5, 8.0
CHANGES, RESTARTS = 20, 10
KILLS = 3
PAGES = 20
Row = tuple[str, str, str]


def main() -> None:
    times, rows = Timeline(report=note), list[Row]()
    chosen = [
        measure for measure in MEASURES if measure.__name__ in sys.argv[1:] or not sys.argv[1:]
    ]
    with ExitStack() as stack:
        with times.step("cluster"):
            on = stack.enter_context(cluster.embedded(MODEL, threads_per_slot=THREADS_PER_SLOT))
        with times.step("session"):
            spark = cluster.session(on)
            stack.callback(spark.stop)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slotwise-bench-")))
        for number, measure in enumerate(chosen):
            note(measure.__doc__ or "")
            rows += measure(spark, folder / str(number), times)
    made = table("What", ">Measured", "Required")
    for row in rows:
        made.add_row(*row)
    show(made)


@contextmanager
def running(spark: SparkSession, of: Plan, folder: Path, **options: object) -> Iterator[Run]:
    chosen = Options(folder, **{"batch_seconds": 120.0, "work": "none", **options})  # type: ignore[arg-type]
    run = start(spark, compile_plan(spark, outline(of), chosen), chosen)
    try:
        yield run
    finally:
        run.stop()


def start_up(spark: SparkSession, folder: Path, times: Timeline) -> list[Row]:
    """start-up to the first tuple"""
    of = plan(topology("s>a", "a>k"), on=MODEL, rate=1000)
    options = Options(folder)
    with times.step("query"):
        run = start(spark, compile_plan(spark, outline(of), options), options)
    with times.step("first tuple"):
        await_tuples(run)
    run.stop()
    parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in times.steps)
    return [(f"start-up, s ({parts})", f"{times.seconds:.1f}", "under 45 on two idle cores")]


def prepared(spark: SparkSession, folder: Path, times: Timeline) -> list[Row]:
    """start-up of `slotwise run` as after `slotwise prepare`, and as without, in turn"""
    assert class_archive.options(), "run 'slotwise prepare' first"
    found: dict[str, list[float]] = {"": [], "class_archive.options = lambda: []": []}
    for _ in range(TURNS):
        for change, seconds in found.items():
            seconds.append(_start_up_seconds(change))
            note(f"{'without' if change else 'with'} the archive {seconds[-1]:.1f} s")
    kept, without = found.values()
    ratios = [one / other for one, other in zip(kept, without, strict=True)]
    return [
        (
            f"start-up of the diamond, s (prepared {_listed(kept)}; not {_listed(without)})",
            f"{median(ratios):.2f} ×",
            "prepared is faster",
        )
    ]


def _start_up_seconds(change: str) -> float:
    """Of a program of its own, which does `change` before."""
    imports = "import sys; from slotwise.cli import run; from slotwise.spark.cluster import "
    program = f"{imports}class_archive\n{change}"
    call = "sys.exit(run(['run', 'examples/diamond.yaml', '--for', '2s', '--json']))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{call}"], capture_output=True, text=True, check=True
    )
    return float(sum(json.loads(done.stdout)["start_up_seconds"].values()))


def diamond(spark: SparkSession, folder: Path, times: Timeline) -> list[Row]:
    """diamond at 5,000 tuples/s"""
    streams = ("s>a", "s>b", "s>c", "a>j", "b>j", "c>j", "j>k")
    of = plan(topology(*streams), on=MODEL, rate=5000)
    with running(spark, of, folder) as run:
        supervise(run, WARM_UP_SECONDS)
        run.watch.forget()
        supervise(run, SECONDS)
        seen = run.observation()
    assert seen is not None
    assert seen.throughput is not None
    quantiles = {name: getattr(seen, f"latency_{name}_ms") for name in ("p50", "p95", "p99")}
    text = ", ".join(f"{name} {ms:.1f} ms" for name, ms in quantiles.items())
    return [
        (
            f"diamond at {seen.throughput:,.0f} tuples/s: {text}",
            f"{quantiles['p50']:.1f}",
            "p50 < 15",
        )
    ]


def chain(spark: SparkSession, folder: Path, times: Timeline) -> list[Row]:
    """chain of two shuffles, offered more than it can take, with and without meters in turn"""
    return [
        *_chain(spark, folder / "working", "IF(burn_us(10) > 0, value, NULL)", "takes 10 µs"),
        *_chain(spark, folder / "empty", "value", "does nothing"),
    ]


def _chain(spark: SparkSession, folder: Path, expr: str, what: str) -> list[Row]:
    note(f"the operator {what}")
    of = plan(topology("s>a", "a>k", logic={"a": Logic(expr=expr)}), on=MODEL, rate=4_000_000)
    found: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(2 + 2 * TURNS):
        meters = turn % 2 == 0
        chosen = {"meters": meters, "batch_seconds": CHAIN_SECONDS}
        with running(spark, of, folder / str(turn), **chosen) as run:
            rate = _rate_of_a_batch(run)
        note(f"{'with' if meters else 'without'} meters {rate:,.0f} tuples/s")
        if turn >= 2:  # the first two warm up
            found[meters].append(rate)
    costs = [1 - on / off for on, off in zip(found[True], found[False], strict=True)]
    rates = ", ".join(f"{rate:,.0f}" for rate in sorted(found[True]))
    text = ", ".join(f"{cost:.1%}" for cost in sorted(costs))
    return [
        (
            f"chain of two shuffles, the operator {what}, tuples/s ({rates})",
            f"{median(found[True]):,.0f}",
            "at least 20,000",
        ),
        (f"cost of the meters there, pair by pair ({text})", f"{median(costs):.1%}", "under 4 %"),
    ]


def _rate_of_a_batch(run: Run) -> float:
    """Input tuples/s of the second batch from now on."""
    await_batch(run)
    await_batch(run)
    progress = run.query.lastProgress
    assert progress is not None
    return float(progress.numInputRows / progress.batchDuration * 1000)


def pages(spark: SparkSession, folder: Path, times: Timeline) -> list[Row]:
    """the same chain, recorded, and looked at by no page and by 20 in Chromium by turns"""
    logic = {"a": Logic(expr="IF(burn_us(10) > 0, value, NULL)")}
    of = plan(topology("s>a", "a>k", logic=logic), on=MODEL, rate=4_000_000)
    folder.mkdir()
    found: dict[int, list[float]] = {0: [], PAGES: []}
    with chromium() as browser:
        for turn in range(2 + 2 * TURNS):
            count = PAGES if turn % 2 else 0
            with (
                running(spark, of, folder / str(turn), batch_seconds=CHAIN_SECONDS) as run,
                _looked_at(run, folder / "runs.db", browser, count),
            ):
                rate = _rate_of_a_batch(run)
            note(f"{count} pages: {rate:,.0f} tuples/s")
            if turn >= 2:  # the first two warm up
                found[count].append(rate)
    ratios = [one / other for one, other in zip(found[PAGES], found[0], strict=True)]
    text = ", ".join(f"{ratio:.3f}" for ratio in sorted(ratios))
    return [
        (
            f"the saturated chain with {PAGES} pages against none, pair by pair ({text})",
            f"{median(ratios):.3f}",
            "at least 0.98",
        )
    ]


@contextmanager
def _looked_at(run: Run, path: Path, browser: Browser, count: int) -> Iterator[None]:
    """The run is recorded and served, and so many pages follow it."""
    of = run.plan
    with (
        Recorder.started(path, Head.of(of, "measured", of.rate)) as recorder,
        serving(path, Address(port=0), Access.to(LOOPBACK), (recorder.id,)) as served,
        ExitStack() as closing,
    ):
        recorded(run, recorder)
        await_tuples(run)
        for _ in range(count):
            context = browser.new_context()
            closing.callback(context.close)
            page = context.new_page()
            page.goto(served.url)
            page.locator(".badge").wait_for()
        yield


def changes(spark: SparkSession, folder: Path, times: Timeline) -> list[Row]:
    """new placements, one after the other"""
    of = plan(topology("s>a", "s>b", "a>j", "b>j", "j>k"), on=MODEL, rate=500)
    slots = of.placement.slots
    pauses, held = [], []
    with running(spark, of, folder, batch_seconds=2.0) as run:
        await_tuples(run)
        for change in range(1, CHANGES + 1):
            moved = replace(of.placement, slots=(slots + change) % MODEL.slots)
            pauses.append(run.apply(replace(of, placement=moved)).pause_s)
            note(f"paused {pauses[-1]:.2f} s")
            # Spark keeps what a batch has broadcast until Java collects its garbage.
            spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]
            held.append(_held())
    # The first ones fill pools of threads. The least, as what a batch needs comes and goes.
    quarter = CHANGES // 4
    early, late = held[quarter : 2 * quarter], held[-quarter:]
    grown = {name: min(h[name] for h in late) - min(h[name] for h in early) for name in held[0]}
    text = ", ".join(f"{name} {more:+d}" for name, more in grown.items())
    return [
        (
            f"{CHANGES} new placements, longest pause, s (median {median(pauses):.2f})",
            f"{max(pauses):.2f}",
            "under 1.5",
        ),
        (f"the last {quarter} against changes {quarter + 1} to {2 * quarter}", text, "no growth"),
    ]


def rescaling(spark: SparkSession, folder: Path, times: Timeline) -> list[Row]:
    """other threads, by a restart from the checkpoint, one after the other"""
    of = topology("s>a", "a>k")
    few, many = (plan(of, {"a": threads}, on=MODEL, rate=500) for threads in (1, 3))
    pauses = []
    with running(spark, few, folder, batch_seconds=2.0) as run:
        await_tuples(run)
        for change in range(RESTARTS):
            pauses.append(run.apply(few if change % 2 else many).pause_s)
            note(f"paused {pauses[-1]:.2f} s")
    text = f"{RESTARTS} restarts with other threads, longest pause, s (median {median(pauses):.2f})"
    return [(text, f"{max(pauses):.2f}", "under 3")]


def recovery(spark: SparkSession, folder: Path, times: Timeline) -> list[Row]:
    """an executor killed: until tuples come to the end again"""
    of = plan(topology("s>a", "a>k"), on=MODEL, rate=500)
    seconds = []
    with running(spark, of, folder, batch_seconds=2.0) as run:
        for _ in range(KILLS):
            await_batch(run)
            await_tuples(run)
            began = time.monotonic()
            os.kill(snapshot(spark).executors[0].pid, signal.SIGKILL)
            wait_until(lambda: not run.query.isActive)
            recover(run)
            seconds.append(time.monotonic() - began)
    return [_longest("executor killed, s", seconds)]


def restart(spark: SparkSession, folder: Path, times: Timeline) -> list[Row]:
    """`slotwise run` killed and started again, then a worker killed: until new output is written"""
    folder.mkdir()
    again, without = [], []
    for _ in range(KILLS):
        with counting.writing(folder):
            pass  # It is killed here.
        known, began = set(written_files(folder)), time.time()
        with counting.writing(folder) as program:
            new = set(written_files(folder)) - known
            again.append(min(file.stat().st_mtime for file in new) - began)
            began = time.time()
            counting.workers(program.pid)[0].kill()
            wait_until(lambda since=began: any(row["ts"] > 1e6 * since for row in written(folder)))
            without.append(time.time() - began)
    return [
        _longest("program killed and started again, s", again),
        _longest("worker killed, s", without),
    ]


def _longest(what: str, seconds: list[float]) -> Row:
    return (f"{what} ({_listed(seconds)})", f"{max(seconds):.1f}", "under 30")


def _listed(seconds: list[float]) -> str:
    return ", ".join(f"{each:.1f}" for each in sorted(seconds))


def _held() -> dict[str, int]:
    """Processes, threads and open files of this program and all it started."""
    found = []
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):  # it was a passing one
            found.append((process.num_threads(), process.num_fds()))
    threads, files = zip(*found, strict=True)
    return {"processes": len(found), "threads": sum(threads), "files": sum(files)}


MEASURES: tuple[Callable[[SparkSession, Path, Timeline], list[Row]], ...] = (
    start_up,
    prepared,
    diamond,
    chain,
    pages,
    changes,
    rescaling,
    recovery,
    restart,
)

if __name__ == "__main__":
    began = time.monotonic()
    main()
    note(f"{time.monotonic() - began:.0f} s in all")

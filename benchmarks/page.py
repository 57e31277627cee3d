"""How long the page takes in Chromium with 1,000 threads in 200 slots and a day of history, and how
long what-ifs take: `python -m benchmarks.page`.

First paint: from the start of the navigation until dataflow, slots and figures are drawn; of a run
in a file of runs, with a day of points and some fifty plans, as the page's server serves it. For
updates, the page, a made-up run and its events come from this program in place of a server.
An update: one second's observation in which every thread, slot and operator has other figures, all
that is drawn with it included; charts are drawn one per frame, and counted apart.
What pages that follow a run cost beside it: CPU of their server, a process at a lower priority.
A what-if: half as much again as the plan in effect is for, asked of the page's server by HTTP; its
processes have their own low priority.
Prints Markdown for docs/; asserts nothing.
"""

from __future__ import annotations

import json
import math
import statistics
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from playwright.sync_api import Page
from tests.dashboard.large import large_plan
from tests.dashboard.live import live_run, paced
from tests.dashboard.scripted import ORIGIN, chromium, serve

import slotwise
from benchmarks.made_up_run import DAY_S, NODES, SLOTS, document, history, news
from slotwise.adaptation import Step
from slotwise.dashboard.access import LOOPBACK, Access
from slotwise.dashboard.serving import Address, serving
from slotwise.model import Change, Decision, Observation, Plan
from slotwise.runs import Head, Recorder, store
from slotwise.runs.inbox import Seen, Stepped
from slotwise.runs.points import COLUMNS, Point
from slotwise.runs.writing import Writer
from slotwise.simulation import SimulatedDeployment

CHANGES = 50
TIMES, UPDATES = 5, 60
WHAT_IFS = ("examples/orders.yaml", "linear", "word-count", "vld", "grid", "traffic")
SETTLE_S, FOLLOWED_S = 3, 15
Times = tuple[float, float]
"""CPU and elapsed time, ms."""

_DRAWN = """() => document.querySelectorAll('.slot').length === 200
  && document.querySelectorAll('.tile').length > 0
  && document.querySelectorAll('.dataflow canvas').length > 0 && performance.now()"""


def main() -> None:
    with chromium() as browser:
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        found: dict[str, list[Times]] = {"first paint": [], "an update": []}
        charts: list[float] = []
        with served_day() as url:
            for _ in range(TIMES):
                page = context.new_page()
                found["first paint"].append(first_paint(page, url))
                page.close()
        for _ in range(TIMES):
            page = context.new_page()
            serve(page, document(), history())
            first_paint(page, ORIGIN)
            page.wait_for_timeout(1000)
            found["an update"] += told(page)
            charts += drawn_charts(page)
            page.close()
    print("| what | CPU: ms | 95 % | longest | elapsed: ms | 95 % | aim |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    for (name, times), aim in zip(found.items(), ("1,000", "50"), strict=True):
        cpu, elapsed = ([each[position] for each in times] for position in (0, 1))
        print(
            f"| {name}, of {len(times)} | {statistics.median(cpu):,.1f} | {late(cpu):,.1f} | "
            f"{max(cpu):,.1f} | {statistics.median(elapsed):,.1f} | {late(elapsed):,.1f} | {aim} |"
        )
    print(
        f"| drawing one chart, of {len(charts)} | – | – | – | "
        f"{statistics.median(charts):,.1f} | {late(charts):,.1f} | 50 |"
    )
    print_followers()
    print_what_ifs()


def print_followers() -> None:
    """What pages that follow cost the machine of a run that is observed each second."""
    print("\n| pages that follow | CPU of their server, of one core |\n| --: | --: |")
    for pages in (0, 1, 20):
        print(f"| {pages} | {100 * server_cpu(pages):.1f} % |")


def server_cpu(pages: int) -> float:
    """Cores in use by the server's process, while it sends each page every second's news."""
    with (
        TemporaryDirectory() as folder,
        live_run(Path(folder)) as run,
        serving(run.path, Address(port=0), Access.to("127.0.0.1")) as served,
        ExitStack() as followed,
    ):
        (server,) = psutil.Process().children()
        for _ in range(pages):
            followed.enter_context(
                following(f"http://127.0.0.1:{served.port}/api/runs/last/events")
            )
        with paced(run, each_s=1.0):
            time.sleep(SETTLE_S)
            before, began = server.cpu_times(), time.monotonic()
            time.sleep(FOLLOWED_S)
            after, length_s = server.cpu_times(), time.monotonic() - began
    return float(after.user + after.system - before.user - before.system) / length_s


@contextmanager
def following(url: str) -> Iterator[None]:
    """Reads all that is sent, as a page does."""
    answer = urllib.request.urlopen(url)
    thread = threading.Thread(target=lambda: deque(answer, maxlen=0), daemon=True)
    thread.start()
    yield
    # The stream ends with the server.


def print_what_ifs() -> None:
    """After one, as a page has it whose server has started the process that answers."""
    plans = {Path(name).stem: slotwise.plan(name) for name in WHAT_IFS}
    plans["1,000 threads"] = large_plan()
    print("\n| what-if | as in the spec: s | auto: s | aim |\n| --- | --: | --: | --: |")
    for name, wanted in plans.items():
        before = slotwise.plan(wanted.pipeline, wanted.rate / 1.5)
        with asked(before) as ask:
            ask({"rate": before.rate})
            algorithms = ({}, {"allocator": "auto", "placer": "auto"})
            took = [ask({"rate": wanted.rate, **chosen}) for chosen in algorithms]
        print(f"| {name} | {' | '.join(took)} | 2 |", flush=True)


@contextmanager
def asked(plan: Plan) -> Iterator[Callable[[dict[str, object]], str]]:
    """Asks what-ifs of the server of a run under this plan: seconds until the answer is there."""
    with (
        TemporaryDirectory() as folder,
        Recorder.started(Path(folder) / "runs.db", Head.of(plan, "measured", plan.rate)) as run,
        serving(run.path, Address(port=0), Access.to(LOOPBACK)) as served,
    ):
        address = f"http://{LOOPBACK}:{served.port}/api/runs/{run.id}/what-if"
        headers = {"Authorization": f"Bearer {served.token}", "Content-Type": "application/json"}

        def ask(question: dict[str, object]) -> str:
            request = urllib.request.Request(address, json.dumps(question).encode(), headers)
            began = time.perf_counter()
            try:
                with urllib.request.urlopen(request) as answer:
                    answer.read()
            except urllib.error.HTTPError as error:
                return str(json.load(error)["problem"])
            return f"{time.perf_counter() - began:.2f}"

        yield ask


@contextmanager
def served_day() -> Iterator[str]:
    """The address of the page of a run that has gone on for a day."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        connection = store.opened(path)
        first = large_plan()
        writer = Writer.begun(connection, Head.of(first, "measured", first.rate))
        write_day(writer, first)
        with serving(path, Address(port=0), Access.to(LOOPBACK)) as served:
            yield served.url
        connection.close()


def simulated(plan: Plan) -> Observation:
    """Five seconds of it, with every thread."""
    deployment = SimulatedDeployment.for_periods(plan, 5.0)
    deployment.advance(5.0)
    return deployment.observe(5.0)


def write_day(writer: Writer, plan: Plan) -> None:
    """Points as they are kept of a day; a change of placement each half hour, the last one back to
    the first; and observations in full of the last minute.
    """
    seen = replace(simulated(plan), origin="measured")
    ends = [*range(10, DAY_S - 3600, 10), *range(DAY_S - 3600, DAY_S)]
    each_s = DAY_S // CHANGES
    for begin_s in range(0, DAY_S, each_s):
        shown = [at_s for at_s in ends if begin_s <= at_s < begin_s + each_s]
        number = writer._in_effect(plan)
        for at_s in shown:
            point = Point.of(replace(seen, start_s=at_s - 5.0, end_s=at_s), at_s, number, plan)
            writer.connection.execute(
                f"INSERT INTO points (run, {', '.join(COLUMNS)}) "
                f"VALUES ({', '.join('?' * (len(COLUMNS) + 1))})",
                (writer.run, *point.row()),
            )
        moved = replace(plan.placement, slots=(plan.placement.slots + SLOTS) % (NODES * SLOTS))
        new = replace(plan, placement=moved)
        at_s = float(shown[-1])
        decision = Decision.change(plan, new, "less traffic between nodes", 0.5)
        change = Change(at_s, "next batch", 0.5)
        step = Step(at_s, at_s - 10, plan, seen, "applied", decision, change=change)
        writer.write([Stepped(step, None, ())])
        plan = new
    last = range(DAY_S, DAY_S + 60)
    writer.write([Seen(at_s, plan, replace(seen, start_s=at_s - 5.0, end_s=at_s)) for at_s in last])


def late(times: list[float]) -> float:
    """What 95 % of them are within."""
    return sorted(times)[math.ceil(0.95 * len(times)) - 1]


def cpu_ms() -> float:
    """CPU time until now of the main threads of this program's pages: what one of them does, a
    person waits for, on a machine that does nothing else.
    """
    return sum(map(_main_thread_ns, psutil.Process().children(recursive=True))) / 1e6


def _main_thread_ns(process: psutil.Process) -> int:
    """0 of a process that draws no page, or has ended."""
    try:
        if "--type=renderer" not in process.cmdline():
            return 0
        times = Path(f"/proc/{process.pid}/task/{process.pid}/schedstat").read_text(
            encoding="utf-8"
        )
    except (psutil.Error, OSError):
        return 0
    return int(times.split()[0])


def first_paint(page: Page, url: str) -> Times:
    before = cpu_ms()
    page.goto(url, wait_until="commit")
    elapsed = page.wait_for_function(_DRAWN, polling="raf").json_value()
    return cpu_ms() - before, elapsed


def told(page: Page, first_s: int = DAY_S + 1) -> list[Times]:
    """One update after the other."""
    times = []
    for number in range(UPDATES // TIMES):
        page.evaluate("(data) => { window.news = data; }", news(first_s + number))
        page.wait_for_timeout(50)
        before = cpu_ms()
        elapsed = page.evaluate("window.tell('observation', window.news)")
        times.append((cpu_ms() - before, elapsed))
        page.wait_for_timeout(100)
    return times


def drawn_charts(page: Page) -> list[float]:
    """Of updates while the charts are on the screen."""
    page.locator("#charts").evaluate("(title) => title.scrollIntoView()")
    page.locator(".chart canvas").first.wait_for()
    page.wait_for_timeout(500)
    page.evaluate("performance.clearMeasures('slotwise chart')")
    told(page, DAY_S + UPDATES)
    page.wait_for_timeout(500)
    durations: list[float] = page.evaluate(
        "performance.getEntriesByName('slotwise chart').map((each) => each.duration)"
    )
    return durations


if __name__ == "__main__":
    main()

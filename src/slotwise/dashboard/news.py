"""What is new of a run, for every browser that follows it: server-sent events.

A browser has a cursor, the version of the run that it has been sent; there is no queue. Each time
the run has a new version, it is sent what came after its cursor, and of observations the newest
only. A browser that reads slowly holds up its own coroutine; what it then gets is the state of that
moment.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slotwise.dashboard.document import control_file, control_of, places, point_data, run_data
from slotwise.json_data import json_data
from slotwise.model import SlotwiseError
from slotwise.runs.reading import KeptRun, Runs, slot_names

POLL_S = 0.25
LAST_S = 1.0
"""For the last news, when the server ends."""
QUIET_S = 15.0
"""After so long without news a comment is sent, so that a browser that has gone is noticed."""

Stamp = tuple[int, str, int]
"""Version, state, and the time of the control file: another one means news."""


@dataclass(frozen=True)
class News:
    """What came after a cursor."""

    cursor: int
    events: tuple[str, ...]
    """Plans, decisions and marks."""
    observation: str | None
    """The newest."""
    at_s: float
    """When that was seen."""
    control: str
    end: str | None
    """The run is over."""


@dataclass
class Newsroom:
    """For all browsers of one server. Everything in it is called by the server's event loop."""

    path: Path
    is_ending: bool = False
    _problem: str = ""
    """Of the last look; reported once."""
    _stamps: dict[int, Stamp] = field(default_factory=dict)
    _followers: dict[int, int] = field(default_factory=dict)
    _changed: dict[int, asyncio.Event] = field(default_factory=dict)
    _made: dict[tuple[int, int, Stamp], News] = field(default_factory=dict)

    async def events(self, run: int, cursor: int) -> AsyncIterator[str]:
        """From the cursor on, until the run or the server ends."""
        self._follow(run)
        seen_s, control, stamp = -1.0, "", None
        try:
            while not self.is_ending:
                if (now := self._stamps.get(run)) is None or now == stamp:
                    if not await self._wait(run):
                        yield ": still there\n\n"
                    continue
                stamp, news = now, await self._news(run, cursor, now)
                cursor = news.cursor
                parts = list(news.events)
                if news.observation is not None and news.at_s > seen_s:
                    parts.append(news.observation)
                    seen_s = news.at_s
                if news.control != control:
                    parts.append(news.control)
                    control = news.control
                if news.end is not None:
                    parts.append(news.end)
                if parts:
                    yield "".join(parts)
                if news.end is not None:
                    return
        finally:
            self._leave(run)

    # -- who follows ------------------------------------------------------------------------

    def _follow(self, run: int) -> None:
        self._followers[run] = self._followers.get(run, 0) + 1
        self._changed.setdefault(run, asyncio.Event())

    def _leave(self, run: int) -> None:
        self._followers[run] -= 1
        if not self._followers[run]:
            for table in (self._followers, self._changed, self._stamps):
                table.pop(run, None)

    async def _wait(self, run: int) -> bool:
        """Until something has changed; False: nothing has for QUIET_S."""
        try:
            await asyncio.wait_for(self._changed[run].wait(), QUIET_S)
        except TimeoutError:
            return False
        return True

    async def watch(self) -> None:
        """Look at the runs that are followed, for as long as the server goes on."""
        while not self.is_ending:
            await self._look()
            await asyncio.sleep(POLL_S)

    async def finish(self) -> None:
        """Send the last news to those who read, then end all streams."""
        await self._look()
        loop = asyncio.get_running_loop()
        until_s = loop.time() + LAST_S
        while self._followers and loop.time() < until_s:
            await asyncio.sleep(0.02)
        self.end()

    def end(self) -> None:
        """All streams end."""
        self.is_ending = True
        for run in list(self._changed):
            self._wake(run)

    async def _look(self) -> None:
        if not self._followers:
            return
        try:
            found = await asyncio.to_thread(_stamps_of, self.path, list(self._followers))
        except Exception as error:  # in use for long, or gone: asked again
            if str(error) != self._problem:
                logging.getLogger(__name__).warning("the file of runs is not read: %s", error)
            self._problem = str(error)
            return
        self._problem = ""
        for run, stamp in found.items():
            if run in self._followers and self._stamps.get(run) != stamp:
                self._stamps[run] = stamp
                self._wake(run)

    def _wake(self, run: int) -> None:
        """All that wait; who comes later waits for the next change."""
        changed, self._changed[run] = self._changed[run], asyncio.Event()
        changed.set()

    async def _news(self, run: int, cursor: int, stamp: Stamp) -> News:
        """Made once for all browsers with the same cursor."""
        key = run, cursor, stamp
        if key not in self._made:
            made = await asyncio.to_thread(news_after, self.path, run, cursor)
            self._made = {old: news for old, news in self._made.items() if old[2] == stamp}
            self._made[key] = made
        return self._made[key]


def _stamps_of(path: Path, runs: list[int]) -> dict[int, Stamp]:
    with Runs.opened(path) as kept:
        found = {}
        for run in runs:
            try:
                found[run] = _stamp(kept.run(run))
            except SlotwiseError:
                found[run] = (-1, "removed", 0)
        return found


def _stamp(run: KeptRun) -> Stamp:
    file = control_file(run)
    try:
        changed_ns = 0 if file is None else os.stat(file).st_mtime_ns
    except OSError:
        changed_ns = 0
    return run.version, run.state, changed_ns


def news_after(path: Path, run: int, cursor: int) -> News:
    """Read from the file of runs."""
    with Runs.opened(path) as runs:
        try:
            kept = runs.run(run)
        except SlotwiseError as error:
            over = {"state": "failed", "why": str(error), "ended": None}
            return News(cursor, (), None, -1.0, "", _event("end", over, cursor))
        version = kept.version
        events = [
            *(
                _event("plan", {"number": number, "plan": plan}, version)
                for number, plan in runs.plans(run, cursor).items()
            ),
            *(_event("decision", data, version) for data in runs.decisions(run, cursor)),
            *(_event("mark", data, version) for data in runs.marks(run, cursor)),
        ]
        at_s, observation = _observation(runs, kept)
    control = _event("control", json_data(control_of(kept)), version)
    end = None
    if kept.state != "running":
        over = {key: run_data(kept)[key] for key in ("state", "why", "ended")}
        end = _event("end", over, version)
    return News(version, tuple(events), observation, at_s, control, end)


def _observation(runs: Runs, run: KeptRun) -> tuple[float, str | None]:
    seen = runs.seen(run.id)
    if seen is None:
        return -1.0, None
    plan = runs.plan(run.id, seen.plan)
    points = runs.history(run.id, (seen.at_s - 1e-6, seen.at_s), 1)
    data = {
        "plan": seen.plan,
        "at_s": seen.at_s,
        "observation": seen.observation,
        "verdicts": seen.verdicts,
        "places": places(plan, seen.observation),
        "step": run.step,
        "point": point_data(points[-1], slot_names(plan)) if points else None,
    }
    return seen.at_s, _event("observation", data, run.version)


def _event(name: str, data: Any, version: int) -> str:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return f"id: {version}\nevent: {name}\ndata: {text}\n\n"

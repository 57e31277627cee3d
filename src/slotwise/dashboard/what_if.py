"""What if the rate, the algorithms or the machines were others? A plan that answers, in a process
of its own, so that neither the run nor the page's server waits for it.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import multiprocessing.connection
import os
import threading
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from slotwise.model import Cluster, Pipeline, Plan, SlotwiseError

MOST_S = 60.0
"""Larger questions belong on the command line."""
MOST_SEARCHED_S = 1.2
"""For an answer within two seconds: what the search has begun by then, it ends."""
MOST_WAITING = 4
MOST_KEPT = 50
NICENESS = 15
"""A run on the same machine goes first."""


@dataclass(frozen=True)
class Question:
    """What is not given stays as it is in the plan."""

    rate: float | None = None
    allocator: str | None = None
    placer: str | None = None
    machines: int | None = None


class Busy(SlotwiseError):
    """Too many questions at a time."""


@dataclass
class WhatIf:
    """Answers one question at a time; the newest answers are kept by their ids. Only the server's
    event loop asks, starts and ends.
    """

    answers: dict[str, str] = field(default_factory=dict)
    """By id, the plan as JSON."""
    _pool: ProcessPoolExecutor | None = None
    _waiting: int = 0
    _number: int = 0

    def warm_up(self) -> None:
        """Start the process before the first question: it takes a second."""
        self._started()

    async def ask(self, plan: str, question: Question) -> dict[str, Any]:
        """`plan` is JSON. Raises SlotwiseError where there is no plan that answers."""
        if self._waiting >= MOST_WAITING:
            raise Busy("other what-ifs are still being planned: ask again when they are done")
        self._waiting += 1
        try:
            return self._numbered(await self._answered(plan, question))
        finally:
            self._waiting -= 1

    async def _answered(self, plan: str, question: Question) -> dict[str, Any]:
        """Raises SlotwiseError. Whoever waits while another question takes too long loses the
        process, too.
        """
        pool = self._started()
        try:
            future = asyncio.wrap_future(pool.submit(answer, plan, question))
            if not (await asyncio.wait({future}, timeout=MOST_S))[0]:
                self.end()
                raise SlotwiseError(
                    f"no plan was found within {MOST_S:g} s: use 'slotwise plan' for it"
                )
            if not future.cancelled():
                return future.result()
        except BrokenExecutor:
            if self._pool is pool:
                self.end()
        raise SlotwiseError("the process that plans has ended: ask again")

    def end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.kill_workers() if hasattr(pool, "kill_workers") else _kill(pool)

    def kept(self, id: str) -> str:
        """The plan of an answer, as JSON. Raises SlotwiseError."""
        if id not in self.answers:
            raise SlotwiseError(f"there is no what-if '{id}': ask again")
        return self.answers[id]

    def _numbered(self, found: dict[str, Any]) -> dict[str, Any]:
        if "problem" in found:
            raise SlotwiseError(found["problem"])
        self._number += 1
        id = f"w{self._number}"
        self.answers[id] = json.dumps(found["plan"])
        for oldest in list(self.answers)[:-MOST_KEPT]:
            del self.answers[oldest]
        return {"id": id, **found}

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, initializer=_begin)
            self._pool.submit(_ready)
        return self._pool


def answer(text: str, question: Question) -> dict[str, Any]:
    """As the page has it; `problem` where there is no plan."""
    from slotwise.model.decision import kind_of
    from slotwise.spec.observation_json import verdicts_data
    from slotwise.spec.plan_json import plan_from_json, plan_to_json

    began = time.perf_counter()
    try:
        before = plan_from_json(text)
        plan = planned(before, question)
    except SlotwiseError as error:
        return {"problem": str(error)}
    return {
        "plan": json.loads(plan_to_json(plan)),
        "changes": list(plan.changes_from(before)),
        "kind": kind_of(before, plan),
        "verdicts": verdicts_data(plan.judged()),
        "seconds": round(time.perf_counter() - began, 3),
    }


def planned(before: Plan, question: Question) -> Plan:
    """A plan for the question, near the one in effect. Raises SlotwiseError."""
    from slotwise import registry
    from slotwise.planner import Request, asking_for, plan_as_chosen

    pipeline = before.pipeline
    if question.machines is not None:
        pipeline = _with_machines(pipeline, question.machines)
    pipeline, rate = asking_for(pipeline, before.rate if question.rate is None else question.rate)
    own = pipeline.scheduler
    scheduler = replace(
        own,
        allocator=registry.choice(question.allocator or own.allocator),
        placer=registry.choice(question.placer or own.placer),
    )
    return plan_as_chosen(Request(pipeline, rate, scheduler, before), MOST_SEARCHED_S)


def _with_machines(pipeline: Pipeline, machines: int) -> Pipeline:
    """With so many of its own machines; of a catalog, with at most so many."""
    if pipeline.cluster is None:
        return replace(pipeline, goals=replace(pipeline.goals, machines=machines))
    nodes = pipeline.cluster.nodes
    if machines > len(nodes):
        raise SlotwiseError(f"the cluster has {len(nodes):,} machines, not {machines:,}")
    cluster = Cluster(nodes[:machines], pipeline.cluster.slot_memory_gb)
    return replace(pipeline, cluster=cluster)


def _begin() -> None:
    """In the process: behind the run, and gone when the server is."""
    os.nice(NICENESS)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def leave() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(0)

    threading.Thread(target=leave, daemon=True).start()


def _ready() -> None:
    """What every question imports; a small plan compiles the simulator."""
    import slotwise

    slotwise.plan("linear", rate=100, allocator="mba", placer="sam")


def _kill(pool: ProcessPoolExecutor) -> None:
    for process in list((pool._processes or {}).values()):
        process.kill()
    pool.shutdown(wait=False, cancel_futures=True)

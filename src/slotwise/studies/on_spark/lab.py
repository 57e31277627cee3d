"""Where a study on Spark works: how much of it, and where finished trials are kept.

An interrupted study goes on after the last finished trial. What was measured of a plan stays valid
as long as the same threads are in the same slots, whatever is predicted of it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slotwise.journal import Journal
from slotwise.model import Plan
from slotwise.spark.stage import Stage
from slotwise.studies.study import Effort

TRIALS = "trials.jsonl"
Row = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """A plan to be measured, and how: `measure` gives what the journal keeps."""

    name: str
    plan: Plan
    measure: Callable[[Stage, Plan], Row]

    @property
    def key(self) -> str:
        """The name, and a digest of all that runs; weights, where tuples are routed by them."""
        plan, topology = self.plan, self.plan.pipeline.topology
        routes = [
            (routing := plan.routing(stream), routing == "weighted" and plan.weights[stream.target])
            for stream in topology.streams
        ]
        runs = (
            topology,
            plan.cluster,
            plan.placement.threads,
            plan.placement.slots.tolist(),
            routes,
        )
        return f"{self.name} {hashlib.sha256(repr(runs).encode()).hexdigest()[:16]}"


@dataclass(frozen=True)
class Lab:
    """One study's work on Spark."""

    effort: Effort
    folder: Path
    """For trials and for what else the study keeps."""
    progress: Callable[[str], None]
    """Called with one line after each trial."""
    journal: Journal

    def measured(
        self, trials: list[Trial], on: Callable[[], AbstractContextManager[Stage]]
    ) -> Mapping[str, Row]:
        """Per name of a trial, what it gave. `on` starts the cluster; if no trial is left, it is
        not called.
        """
        rows = self.journal.rows()
        left = [trial for trial in trials if trial.key not in rows]
        if left:
            with on() as stage:
                for trial, text in _timed(left):
                    rows[trial.key] = trial.measure(stage, trial.plan)
                    self.journal.add(trial.key, rows[trial.key])
                    self.progress(f"{trial.name}: {text()}")
        return {trial.name: rows[trial.key] for trial in trials}


@contextmanager
def lab(effort: Effort, folder: Path, progress: Callable[[str], None]) -> Iterator[Lab]:
    """Opens the journal in `folder`; nobody else can have it open at the same time."""
    with Journal(folder / TRIALS, "study") as journal:
        yield Lab(effort, folder, progress, journal)


def _timed(trials: list[Trial]) -> Iterator[tuple[Trial, Callable[[], str]]]:
    """Each trial, and how far the work is when it has been measured."""
    began_s = time.monotonic()
    for number, trial in enumerate(trials, 1):
        trial_began_s = time.monotonic()

        def text(done: int = number, trial_began_s: float = trial_began_s) -> str:
            left_s = (time.monotonic() - began_s) / done * (len(trials) - done)
            took_s = time.monotonic() - trial_began_s
            return (
                f"trial {done} of {len(trials)} in {took_s:.0f} s, about {left_s / 60:.0f} min left"
            )

        yield trial, text

"""A run written down while it goes on, in a thread of its own, so that the run is never slowed.

Whoever watches a run each second hands on what was seen (`saw`), the loop hands on its steps
(`stepped`). Both return at once. What cannot be written is reported once, and the run goes on.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from slotwise import __version__
from slotwise.adaptation import Adaptation, Rules, Step
from slotwise.adaptation_following import Following
from slotwise.adaptation_journal import choice_of
from slotwise.model import Deployment, Goals, Observation, Plan, SlotwiseError
from slotwise.model.observation import Origin
from slotwise.runs import store
from slotwise.runs.inbox import Ended, Happened, Inbox, Seen, Stepped
from slotwise.runs.writing import Writer
from slotwise.spec.errors import one_line

LAST_S = 10.0
"""At the end of a run, what is left is written within this time, or lost."""


@dataclass(frozen=True)
class Head:
    """How a run was made."""

    plan: Plan
    origin: Origin
    goals: Goals
    rate: float
    """The nominal input rate."""
    controller: str | None = None
    """As on the command line."""
    rules: Rules | None = None
    control: Path | None = None
    """The control file, while the run goes on."""
    slotwise: str = __version__

    @classmethod
    def of(
        cls,
        plan: Plan,
        origin: Origin,
        rate: float,
        follows: Following | None = None,
    ) -> Head:
        """`follows`: the run is under this controller."""
        goals = plan.pipeline.goals
        if follows is None:
            return cls(plan, origin, goals, rate)
        controller = str(choice_of(follows.controller))
        return cls(plan, origin, goals, rate, controller, follows.rules, follows.control)


@dataclass
class Recorder:
    """One run in a file of runs."""

    id: int
    path: Path
    inbox: Inbox
    problem: str = ""
    """Why nothing is written any more."""
    _told: int = 0
    _thread: threading.Thread = field(init=False)

    @classmethod
    def started(
        cls, path: Path, head: Head, tell: Callable[[str], None] = lambda line: None
    ) -> Recorder:
        """Raises SlotwiseError where the file cannot be used."""
        connection = store.opened(path)
        try:
            writer = Writer.begun(connection, head)
        except sqlite3.Error as error:
            raise store.unusable(path, error) from None
        made = cls(writer.run, path, Inbox(waits=head.origin == "simulated"))
        name = f"slotwise-run-{writer.run}"
        made._thread = threading.Thread(
            target=made._write, args=(writer, tell), name=name, daemon=True
        )
        made._thread.start()
        return made

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """What was raised in the block is why the run failed."""
        self.end("" if error is None else _reason(error))

    def saw(self, at_s: float, plan: Plan, seen: Observation) -> None:
        """What was seen of the run at this second of its clock."""
        self.inbox.put(Seen(at_s, plan, seen))

    def happened(self, deployment: Deployment) -> None:
        """What is new of its events."""
        new = tuple(deployment.events[self._told :])
        if new:
            self.inbox.put(Happened(deployment.now_s(), new))
        self._told += len(new)

    def stepped(self, loop: Adaptation, step: Step) -> None:
        """A period of the loop; of a simulated run, whose seconds nobody watches, with what was
        seen in it.
        """
        self.happened(loop.deployment)
        self.inbox.put(Stepped(step, loop.recommended, tuple(sorted(loop.forced))))
        if self.inbox.waits and step.seen is not None:
            self.saw(step.at_s, step.plan, step.seen)

    def end(self, why: str = "") -> None:
        """`why` it failed, in a sentence; empty: it is over."""
        self.inbox.put(Ended(why))
        self._thread.join(LAST_S)

    def _write(self, writer: Writer, tell: Callable[[str], None]) -> None:
        try:
            while not writer.is_over:
                writer.write(self.inbox.take(), self.inbox.dropped)
        except sqlite3.Error as error:
            self.problem = f"the run is no longer recorded: {store.unusable(self.path, error)}"
            tell(self.problem)
        finally:
            self.inbox.close()
            writer.connection.close()


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, SlotwiseError):
        return one_line(str(error))
    return one_line(f"{type(error).__name__}: {error}")

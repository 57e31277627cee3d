"""One cluster for several calls of Lab.measured: what is tried next may depend on a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache
from typing import TypeVar

from slotwise.spark.stage import Stage

AnyStage = TypeVar("AnyStage", bound=Stage)
On = Callable[[], AbstractContextManager[AnyStage]]


@contextmanager
def shared(start: On[AnyStage]) -> Iterator[On[AnyStage]]:
    """`start` is called by the first that needs the cluster, which then stays until the end."""
    with ExitStack() as stack:

        @cache
        def started() -> AnyStage:
            return stack.enter_context(start())

        yield lambda: nullcontext(started())

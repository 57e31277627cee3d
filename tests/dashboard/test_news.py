"""The watch over the file of runs goes on, whatever a look at it raises."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from slotwise.dashboard import news as module
from slotwise.dashboard.news import Newsroom

from .live import live_run, orders


def test_a_look_that_fails_is_reported_once_and_the_next_one_finds_the_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with live_run(tmp_path, orders()) as run:
        run.period()
    looks = iter([OSError("too many open files")] * 3)
    read = module._stamps_of

    def stamps_of(path: Path, runs: list[int]) -> dict[int, module.Stamp]:
        for error in looks:
            raise error
        return read(path, runs)

    async def first_news() -> str:
        newsroom = Newsroom(run.path)
        watching = asyncio.create_task(newsroom.watch())
        stream = newsroom.events(run.id, 0)
        found = await anext(stream)
        newsroom.end()
        await stream.aclose()  # type: ignore[attr-defined]
        await watching
        return found

    monkeypatch.setattr(module, "POLL_S", 0.0)
    monkeypatch.setattr(module, "_stamps_of", stamps_of)
    with caplog.at_level(logging.WARNING):
        assert "event: plan" in asyncio.run(asyncio.wait_for(first_news(), 60))
    assert [record.message for record in caplog.records] == [
        "the file of runs is not read: too many open files"
    ]

"""Runs that are kept, from the command line; and the page beside a simulation."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from slotwise.dashboard import serving

from .conftest import Run

SMALL = ("simulate", "chain", "--controller", "static", "--for", "1m", "--seed", "1")


def test_each_simulation_under_a_controller_is_kept(run: Run) -> None:
    first = run(*SMALL, "--runs", "runs.db")
    assert first.status in (0, 99)
    run(*SMALL, "--rate", "20", "--runs", "runs.db")
    listed = json.loads(run("runs", "--runs", "runs.db", "--json").out)
    assert [each["id"] for each in listed] == ["2", "1"]
    assert {each["state"] for each in listed} == {"ended"}
    assert "static" in run("runs", "--runs", "runs.db").out
    shown = run("runs", "show", "1", "--runs", "runs.db")
    assert "run 1: chain, simulated, ended" in shown.out
    document = json.loads(run("runs", "show", "--runs", "runs.db", "--json").out)
    assert document["run"]["id"] == "2"
    compared = run("runs", "compare", "1", "2", "--runs", "runs.db")
    assert re.search("Figure +Run 1 +Run 2", compared.out)
    exported = json.loads(run("runs", "export", "1", "--runs", "runs.db").out)
    assert exported["history"]["at_s"] == [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
    assert run("runs", "export", "1", "--runs", "runs.db", "--output", "one.json").status == 0
    assert json.loads(Path("one.json").read_text(encoding="utf-8")) == exported
    assert "removed run 1" in run("runs", "remove", "1", "--runs", "runs.db").err
    assert [each["id"] for each in json.loads(run("runs", "--runs", "runs.db", "--json").out)] == [
        "2"
    ]


def test_nothing_is_kept_if_nobody_wants_it(run: Run, tmp_path: Path) -> None:
    plain = run(*SMALL, "--runs", "runs.db")
    none = run(*SMALL, "--runs", "none")
    assert none.out == plain.out
    assert not (tmp_path / "none").exists()
    wrong = run(*SMALL, "--runs", "none", "--page")
    assert wrong.status == 1
    assert "--page" in wrong.err


def test_a_file_that_cannot_be_written_is_an_error_only_if_it_was_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    named = run(*SMALL, "--runs", "file/runs.db")
    assert named.status == 1
    assert "use another --runs" in named.err
    monkeypatch.setenv("SLOTWISE_RUNS", str(tmp_path / "file" / "runs.db"))
    usual = run(*SMALL)
    assert usual.status in (0, 99)
    assert "the run is not kept" in usual.err


def test_what_is_not_there_is_one_sentence(run: Run) -> None:
    assert "no runs are kept there" in run("runs", "--runs", "none.db").err
    run(*SMALL, "--runs", "runs.db")
    for command in (("show", "7"), ("compare", "7"), ("export", "x"), ("remove", "7")):
        ran = run("runs", *command, "--runs", "runs.db")
        assert ran.status == 1
        assert "there is no run" in ran.err
    assert run("ui", "7", "--runs", "runs.db").status == 1
    Path("empty.db").touch()
    for command in ("runs", "ui"):
        assert "no runs are kept there" in run(command, "--runs", "empty.db").err
    assert run("runs", "remove", "--runs", "runs.db").status == 2


def test_options_of_the_page_need_a_controller(run: Run) -> None:
    assert run("simulate", "chain", "--tuples", "100", "--page").status == 2
    assert run("simulate", "chain", "--tuples", "100", "--runs", "runs.db").status == 2


def test_an_address_that_others_reach_is_refused_without_a_token(run: Run) -> None:
    ran = run(*SMALL, "--page", "--host", "0.0.0.0", "--port", "0")
    assert ran.status == 1
    assert "SLOTWISE_TOKEN" in ran.err


def test_a_port_in_use_is_refused_before_a_run_is_kept(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ran = run(*SMALL, "--page", "--port", port, "--runs", "runs.db")
    assert ran.status == 1
    assert "use another --port" in ran.err
    assert not Path("runs.db").exists()


def test_a_page_without_its_packages_is_one_sentence(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = run(*SMALL, "--page", "--port", "0")
    assert ran.status == 1
    assert "pip install 'slotwise[page]'" in ran.err
    assert serving.USUAL_PORT == 8642


def test_the_page_ends_with_the_simulation(run: Run) -> None:
    ran = run(*SMALL, "--page", "--port", "0", "--runs", "runs.db")
    assert ran.status in (0, 99)
    assert re.search(r"page: http://127.0.0.1:\d+/#token=\S{24,}", ran.err)
    assert "kept as run 1" in ran.err


def test_ui_serves_until_it_is_ended(run: Run, tmp_path: Path) -> None:
    run(*SMALL, "--runs", "runs.db")
    process = subprocess.Popen(
        [sys.executable, "-m", "slotwise", "ui", "--runs", "runs.db", "--port", "0"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"SLOTWISE_TOKEN": "a-token-of-24-characters"},
    )
    assert process.stderr is not None
    with process.stderr:
        address = process.stderr.readline().removeprefix("page: ").strip()
        assert address.endswith("#token=a-token-of-24-characters")
        url, _, _ = address.partition("#")
        with urllib.request.urlopen(f"{url}api/runs") as answer:
            assert json.loads(answer.read())[0]["id"] == "1"
        process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0


def test_reports_are_checked_before_the_work(run: Run) -> None:
    for command in (("plan", "chain"), ("compare", "chain"), SMALL):
        ran = run(*command, "--report", "nowhere/report.html")
        assert ran.status == 1
        assert "use another --report" in ran.err

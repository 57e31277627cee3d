"""What the page's server answers, asked without a network."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from starlette.testclient import TestClient

import slotwise
from slotwise.controllers.base import Situation
from slotwise.dashboard import application as module
from slotwise.dashboard.access import Access
from slotwise.dashboard.application import Server, application
from slotwise.dashboard.news import news_after
from slotwise.dashboard.what_if import Question, WhatIf, answer
from slotwise.model import Decision, Plan
from slotwise.runs import store

from .live import SPEC, LiveRun, live_run, orders

TOKEN = "a-token-of-24-characters"
WITH_TOKEN = {"authorization": f"Bearer {TOKEN}"}
BASE = "http://127.0.0.1:8642"


class Inline(WhatIf):
    """Answers in this process."""

    def warm_up(self) -> None:
        pass

    async def ask(self, plan: str, question: Question) -> dict[str, Any]:
        return self._numbered(answer(plan, question))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[LiveRun]:
    with live_run(tmp_path, orders(), factor=2) as made:
        for _ in range(4):
            made.period()
        yield made


@pytest.fixture
def client(run: LiveRun) -> Iterator[TestClient]:
    server = Server(run.path, Access("127.0.0.1", TOKEN), what_if=Inline())
    with TestClient(application(server), base_url=BASE) as made:
        yield made


def written(run: LiveRun, client: TestClient) -> dict[str, Any]:
    """The document, once the recorder has written down all that was seen."""
    run.written()
    found: dict[str, Any] = client.get(f"/api/runs/{run.id}").json()
    return found


def test_the_document_has_what_the_page_shows(run: LiveRun, client: TestClient) -> None:
    document = written(run, client)
    assert document["kind"] == "run"
    assert document["run"]["state"] == "running"
    assert document["run"]["goals"]["latency_p99_ms"] == 2000.0
    assert document["plans"]["1"]["threads"]["parse"] == 1
    assert [load["operator"] for load in document["observation"]["operators"]][:2] == [
        "orders",
        "parse",
    ]
    assert {load["name"] for load in document["observation"]["slots"]} == {
        "small-1/0",
        "small-1/1",
        "small-1/2",
    }
    assert document["places"] == []
    assert document["step"]["outcome"] in ("kept", "warming up")
    assert document["control"] == {
        "hold": False,
        "forbid": [],
        "recommended": None,
        "pending": None,
        "problem": "",
    }
    assert document["choices"]["can_apply"] is True
    assert "mba" in document["choices"]["allocators"]
    earlier = client.get(f"/api/runs/{run.id}?at=7").json()
    assert earlier["at_s"] == 5.0


def test_the_example_has_the_same_keys(run: LiveRun, client: TestClient) -> None:
    """The page is developed against it."""
    folder = Path(__file__).parent
    example = json.loads((folder / "example.json").read_text(encoding="utf-8"))
    document = written(run, client)
    assert set(example) | {"cursor"} == set(document)
    assert set(example["run"]) == set(document["run"])
    history = json.loads((folder / "example_history.json").read_text(encoding="utf-8"))
    assert set(history) == set(client.get(f"/api/runs/{run.id}/history").json())


def test_plans_that_count_no_more_come_on_demand(tmp_path: Path) -> None:
    with live_run(tmp_path, orders()) as run:
        run.period()
        server = Server(run.path, Access("127.0.0.1", TOKEN))
        with TestClient(application(server), base_url=BASE) as client:
            for rate in (80, 100):
                run.loop.controller = Recommends(plan_for(rate))
                run.period()
                run.period()
            document = written(run, client)
            first = client.get("/api/runs/1/plans/1").json()
            assert client.get("/api/runs/1/plans/9").status_code == 404
            assert document["plan"] == 3
            assert document["plans"]["3"]["threads"] == run.loop.deployment.plan.threads
            (short,) = document["plans"]["1"].items()
            assert short[0] == "predicted"
            assert short[1]["capacity"] == first["predicted"]["capacity"]
            assert "slots" not in short[1]
            # The first plan again: pages that know it in short only get it in full.
            run.loop.controller = Recommends(orders())
            run.period()
            run.period()
            run.written()
            news = news_after(run.path, run.id, int(document["cursor"]))
            assert any('"number": 1, "plan"' in event for event in news.events)
            assert written(run, client)["plans"]["1"] == first


def test_history_comes_in_columns(run: LiveRun, client: TestClient) -> None:
    written(run, client)
    history = client.get(f"/api/runs/{run.id}/history").json()
    assert history["at_s"] == [5.0, 10.0, 15.0, 20.0]
    assert history["offered_rate"][-1] == 82.0
    assert history["waiting"][-1] > history["waiting"][1] > 0
    assert set(history["slot_cpu"]) == {"small-1/0", "small-1/1", "small-1/2"}
    assert all(len(column) == 4 for column in history["slot_cpu"].values())
    later = client.get(f"/api/runs/{run.id}/history?since=10&slot_cpu=false").json()
    assert (later["at_s"], later["slot_cpu"]) == ([15.0, 20.0], {})
    assert client.get(f"/api/runs/{run.id}/history?points=0").status_code == 422


def test_runs_are_listed_and_others_are_not_known(run: LiveRun, client: TestClient) -> None:
    (only,) = client.get("/api/runs").json()
    assert (only["id"], only["origin"], only["controller"]) == ("1", "simulated", "static")
    missing = client.get("/api/runs/7")
    assert missing.status_code == 404
    assert "no run '7'" in missing.json()["problem"]
    hidden = Server(run.path, Access("127.0.0.1", TOKEN), only=(5,))
    with TestClient(application(hidden), base_url=BASE) as client:
        assert client.get("/api/runs").json() == []
        assert client.get("/api/runs/1").status_code == 404
        assert client.get("/api/runs/1/history").status_code == 404
        assert client.get("/api/runs/1/events").status_code == 404
        what_if = client.post("/api/runs/1/what-if", json={"rate": 5}, headers=WITH_TOKEN)
        assert what_if.status_code == 404
        assert b'run="1"' not in client.get("/metrics").content


def test_nothing_changes_without_the_token(run: LiveRun, client: TestClient) -> None:
    for path in ("control", "what-if"):
        denied = client.post(f"/api/runs/1/{path}", json={"hold": True})
        assert denied.status_code == 401
        assert "token" in denied.json()["problem"]
    other = client.post(
        "/api/runs/1/control",
        json={"hold": True},
        headers=WITH_TOKEN | {"origin": "http://evil.example"},
    )
    assert other.status_code == 403
    text = client.post(
        "/api/runs/1/control",
        content='{"hold": true}',
        headers=WITH_TOKEN | {"content-type": "text/plain"},
    )
    assert text.status_code == 415
    assert not run.control.exists()
    assert client.get("/api/access").json() == {"token": False}
    assert client.get("/api/access", headers=WITH_TOKEN).json() == {"token": True}


def test_a_request_under_another_name_is_refused(client: TestClient) -> None:
    for path in ("/", "/api/runs", "/metrics", "/healthz"):
        answer = client.get(path, headers={"host": "evil.example"})
        assert answer.status_code == 403, path


def test_every_answer_has_a_strict_policy_and_none_allows_other_sites(client: TestClient) -> None:
    for path in ("/", "/api/runs", "/api/runs/9", "/metrics", "/nowhere"):
        headers = client.get(path, headers={"origin": "http://evil.example"}).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe-eval" not in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers
        assert headers["x-content-type-options"] == "nosniff"
    assert client.options("/api/runs", headers={"origin": "http://evil.example"}).status_code == 403


def test_large_and_endless_requests_are_refused(client: TestClient) -> None:
    large = client.post("/api/runs/1/control", json={"force": "x" * 70_000}, headers=WITH_TOKEN)
    assert large.status_code == 413

    def endless() -> Iterator[bytes]:
        yield b"{}"

    headers = WITH_TOKEN | {"content-type": "application/json"}
    answered = client.post("/api/runs/1/control", content=endless(), headers=headers)
    assert answered.status_code == 411


def test_hold_and_forbid_go_through_the_control_file(run: LiveRun, client: TestClient) -> None:
    said = client.post("/api/runs/1/control", json={"hold": True}, headers=WITH_TOKEN)
    assert said.json()["hold"] is True
    said = client.post("/api/runs/1/control", json={"forbid": ["re-plan"]}, headers=WITH_TOKEN)
    assert (said.json()["hold"], said.json()["forbid"]) == (True, ["re-plan"])
    assert json.loads(run.control.read_text()) == {"hold": True, "forbid": ["re-plan"]}
    said = client.post("/api/runs/1/control", json={"hold": False}, headers=WITH_TOKEN)
    assert json.loads(run.control.read_text()) == {"hold": False, "forbid": ["re-plan"]}
    for wrong in ({"hold": "yes please"}, {"forbid": ["restart"]}, {"apply": 1}, [], "x"):
        answer = client.post("/api/runs/1/control", json=wrong, headers=WITH_TOKEN)
        assert answer.status_code == 422, wrong
        assert answer.json()["problem"]


def test_wishes_at_the_same_moment_are_all_written(run: LiveRun, client: TestClient) -> None:
    wishes = ({"hold": True}, {"forbid": ["re-plan"]}) * 10

    def say(wish: dict[str, object]) -> int:
        return client.post("/api/runs/1/control", json=wish, headers=WITH_TOKEN).status_code

    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            run.control.unlink(missing_ok=True)
            assert set(pool.map(say, wishes)) == {200}
            assert json.loads(run.control.read_text()) == {"hold": True, "forbid": ["re-plan"]}


def test_a_change_to_the_plan_in_effect_is_refused(run: LiveRun, client: TestClient) -> None:
    client.post("/api/runs/1/control", json={"force": 1}, headers=WITH_TOKEN)
    run.period()
    (decision,) = written(run, client)["decisions"]
    assert (decision["outcome"], decision["reason"]) == ("refused", "the plan is in effect already")
    (mark,) = written(run, client)["marks"]
    assert (mark["kind"], mark["text"]) == ("decision", "refused: the plan is in effect already")


def test_a_what_if_is_planned_and_applied(run: LiveRun, client: TestClient) -> None:
    made = client.post("/api/runs/1/what-if", json={"rate": 82, "machines": 2}, headers=WITH_TOKEN)
    found = made.json()
    assert made.status_code == 200, found
    assert found["kind"] == "re-plan"
    assert found["plan"]["rate"] == 82
    assert found["plan"]["simulated"]["latency_p99_ms"] > 0
    assert found["changes"]
    assert found["id"] == "w1"
    control = client.post("/api/runs/1/control", json={"force": "w1"}, headers=WITH_TOKEN).json()
    assert control["pending"]
    run.period()
    run.period()
    document = written(run, client)
    (decision,) = document["decisions"]
    assert (decision["outcome"], decision["forced"]) == ("applied", True)
    assert document["plans"][str(document["plan"])]["threads"] == found["plan"]["threads"]
    assert document["control"]["pending"] is None
    assert [mark["kind"] for mark in document["marks"]] == ["restart"]


def test_a_what_if_without_an_answer_says_why(client: TestClient) -> None:
    def problem(**asked: object) -> str:
        answer = client.post("/api/runs/1/what-if", json=asked, headers=WITH_TOKEN)
        assert answer.status_code == 422, answer.text
        return str(answer.json()["problem"])

    assert "nobody" in problem(allocator="nobody")
    assert "machines" in problem(rate=5000, allocator="lsa", placer="sam", machines=1)
    assert "rate" in problem(rate=0)
    assert "rate" in problem(rate="fast")
    assert "machine" in problem(machine=3)
    for force, reason in (("w9", "no what-if 'w9'"), (9, "run 1 has no plan 9")):
        unknown = client.post("/api/runs/1/control", json={"force": force}, headers=WITH_TOKEN)
        assert unknown.status_code == 422
        assert reason in unknown.json()["problem"]


@dataclass(frozen=True)
class Recommends:
    """Always the same plan."""

    plan: Plan
    name: ClassVar[str] = "recommends"

    def decide(self, situation: Situation) -> Decision:
        return Decision.change(situation.plan, self.plan, "it is the plan of this test", 0.0)


def plan_for(rate: float) -> Plan:
    return slotwise.plan(SPEC, rate, allocator="mba", placer="sam")


def recommended(run: LiveRun, client: TestClient, rate: float) -> Any:
    """The number of a plan for this rate, once it is recommended."""
    run.loop.controller = Recommends(plan_for(rate))
    run.period()
    return written(run, client)["control"]["recommended"]


def test_the_plan_that_was_clicked_is_applied_though_another_one_is_recommended_by_then(
    tmp_path: Path,
) -> None:
    with live_run(tmp_path, orders()) as run:
        run.loop.rules = replace(run.loop.rules, apply="never")
        run.period()
        server = Server(run.path, Access("127.0.0.1", TOKEN), what_if=Inline())
        with TestClient(application(server), base_url=BASE) as client:
            clicked, newer = (recommended(run, client, rate) for rate in (80, 100))
            assert clicked != newer
            client.post("/api/runs/1/control", json={"force": clicked}, headers=WITH_TOKEN)
            run.period()
            run.period()
            assert written(run, client)["plan"] == clicked


def test_a_pending_change_can_be_taken_back(run: LiveRun, client: TestClient) -> None:
    asked = client.post("/api/runs/1/control", json={"force": 1}, headers=WITH_TOKEN)
    assert asked.json()["pending"]
    taken = client.post("/api/runs/1/control", json={"force": None}, headers=WITH_TOKEN).json()
    assert taken["pending"] is None
    assert "force" not in json.loads(run.control.read_text())


def test_a_run_that_is_over_cannot_be_changed_but_asked(tmp_path: Path) -> None:
    with live_run(tmp_path, orders()) as run:
        run.period()
    server = Server(run.path, Access("127.0.0.1", TOKEN), what_if=Inline())
    with TestClient(application(server), base_url=BASE) as client:
        answer = client.post("/api/runs/1/control", json={"hold": True}, headers=WITH_TOKEN)
        assert answer.status_code == 409
        assert answer.json() == {"problem": "run 1 is over"}
        asked = client.post("/api/runs/1/what-if", json={"rate": 30}, headers=WITH_TOKEN)
        assert asked.status_code == 200
        document = client.get("/api/runs/1").json()
        assert document["control"] is None
        assert document["choices"]["can_apply"] is False


def test_health(client: TestClient, run: LiveRun, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.get("/healthz").json()["status"] == "ok"
    run.recorder.end()
    monkeypatch.setattr(store, "WAIT_S", 0.0)
    other = sqlite3.connect(run.path)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    locked = client.get("/healthz")
    assert (locked.status_code, "locked" in locked.json()["problem"]) == (503, True)
    other.close()
    run.path.unlink()
    missing = client.get("/healthz")
    assert (missing.status_code, "no runs are kept" in missing.json()["problem"]) == (503, True)


def test_without_the_third_party_files_the_server_says_what_to_run(
    run: LiveRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", tmp_path / "nowhere")
    server = Server(run.path, Access("127.0.0.1", TOKEN))
    with TestClient(application(server), base_url=BASE) as client:
        answer = client.get("/")
    assert answer.status_code == 503
    assert "hatch_build.py" in answer.text


def test_names_of_specs_are_data(tmp_path: Path) -> None:
    plan = orders()
    name = "</script><script>alert(1)</script>"
    topology = replace(plan.pipeline.topology, name=name)
    named = replace(plan, pipeline=replace(plan.pipeline, topology=topology))
    with live_run(tmp_path, named) as run:
        run.period()
    with TestClient(
        application(Server(run.path, Access("127.0.0.1", TOKEN))), base_url=BASE
    ) as client:
        answer = client.get("/api/runs")
        assert answer.json()[0]["topology"] == name
        assert answer.headers["content-type"] == "application/json"

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import slotwise
from slotwise.dashboard.one_file import PAGE
from slotwise.model import Goals, SlotLoad, StreamLoad, missed
from slotwise.report.html import MOST_NODES, summary_html
from slotwise.report.lines_over_time import over_time_html
from slotwise.report.pictures import IDLE, INK, LEVELS, dataflow_svg, shade, slots_html

from ..builders import topology


class Balance(HTMLParser):
    """Fails on a tag that is closed out of order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(html: str) -> Balance:
    balance = Balance()
    balance.feed(html)
    assert balance.open == []
    return balance


def test_a_notebook_shows_the_plan() -> None:
    plan = slotwise.plan("linear", 100, allocator="mba", placer="sam")
    text = parsed(plan._repr_html_()).text
    assert "7 slots (0 extra) on 2 machines" in text
    assert "azure-blob×20, azure-table×40" in text
    assert plan._repr_html_().count("<path") == len(plan.pipeline.topology.streams)
    assert plan.predicted is not None
    for slot in plan.predicted.slots:
        assert f"{slot.name} " in text
    assert "unbounded: azure-blob, azure-table are fully busy" in text
    assert "inf" not in text


def test_names_and_reasons_are_escaped() -> None:
    plan = slotwise.plan("linear", 100, allocator="mba", placer="sam")
    topology = replace(plan.pipeline.topology, name="<script>alert(1)</script>")
    hostile = replace(
        plan, pipeline=replace(plan.pipeline, topology=topology), reasons=("<b>&amp;",)
    )
    html = hostile._repr_html_()
    assert "<script" not in html
    assert "<script>alert(1)</script>" in parsed(html).text
    assert "<b>&amp;" in parsed(html).text


def test_missed_goals_stand_out() -> None:
    plan = slotwise.plan("linear", 100, allocator="mba", placer="sam")
    modest = replace(plan, pipeline=replace(plan.pipeline, goals=Goals(rate=50)))
    assert 'class="missed"' in plan._repr_html_()
    assert 'class="missed"' not in modest._repr_html_()


def test_without_prediction_and_with_many_nodes() -> None:
    plan = slotwise.plan("linear", 5000, allocator="mba", placer="sam")
    assert plan.machines > MOST_NODES
    text = parsed(replace(plan, predicted=None)._repr_html_()).text
    assert f"… and {plan.machines - MOST_NODES} more nodes" in text


def test_a_notebook_shows_what_was_seen_with_the_dataflow_and_the_slots() -> None:
    plan = slotwise.plan("diamond", 50, allocator="mba", placer="sam")
    html = slotwise.simulate(plan, tuples=2000)._repr_html_()
    text = parsed(html).text
    assert "simulated in seconds" in text
    assert "p99" in text
    for operator, threads in plan.threads.items():
        assert operator in text
        assert f"{threads} × " in text
    assert html.count("<path") == len(plan.pipeline.topology.streams)
    for node in plan.cluster.nodes:
        assert f"{node.name}/0" in text
    assert "<script" not in html
    assert re.findall('https?://[^"]*', html) == ["http://www.w3.org/2000/svg"]


def test_a_notebook_shows_a_run() -> None:
    plan = slotwise.plan("diamond", 50, allocator="mba", placer="sam")
    goals = Goals(rate=1000, latency_p99_ms=1e6)
    seen = slotwise.simulate(plan, tuples=2000)
    verdicts = goals.judge(seen)
    html = summary_html(plan, seen, verdicts, ("an executor <died>",))
    assert "an executor <died>" in parsed(html).text
    assert html.count("<path") == len(plan.pipeline.topology.streams)
    assert html.count('<p class="missed">✗') == len(missed(verdicts)) > 0
    assert summary_html(plan, None, (), ()).endswith("</div>")


def test_a_dataflow_with_a_loop_is_drawn_and_names_are_escaped() -> None:
    of = topology("a<&>b:0.5", "b>c:1", "c>b:0.1!")
    plan = slotwise.plan("vld")
    assert plan.predicted is not None
    loads = {load.operator: load for load in plan.predicted.operators}
    one = next(iter(loads.values()))
    seen = replace(
        plan.predicted,
        operators=tuple(replace(one, operator=each.name) for each in of.operators),
        streams=tuple(StreamLoad(each.source, each.target, 5.0, 1.0) for each in of.streams),
    )
    html = dataflow_svg(seen, {"b": 3})
    assert "a<&" not in html
    assert "a<&" in parsed(html).text
    assert html.count("<path") == 3


def test_what_is_too_large_or_not_known_is_not_drawn() -> None:
    plan = slotwise.plan("diamond", 50)
    assert plan.predicted is not None
    assert dataflow_svg(replace(plan.predicted, operators=(), streams=()), {}) == ""
    assert slots_html((), {}) == ""


def test_levels_are_those_of_the_page() -> None:
    css = (PAGE / "style.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}),", css))
    assert light["idle"] == IDLE
    assert light["ink"] == INK
    assert [colour for _, colour in LEVELS] == [
        light[name] for name in ("low", "moderate", "high", "over")
    ]
    found = re.findall(r"below: ([\d.]+|Infinity)", (PAGE / "levels.js").read_text("utf-8"))
    assert [below for below, _ in LEVELS] == [float(below) for below in found]


def test_the_bottleneck_and_streams_that_wait_are_marked() -> None:
    plan = slotwise.plan("diamond", 50, allocator="mba", placer="sam")
    assert plan.predicted is not None
    first, *others = plan.predicted.operators
    target = plan.predicted.streams[0].target
    seen = replace(
        plan.predicted,
        bottleneck=target,
        operators=(
            first,
            *(
                replace(each, utilisation=1.2 if each.operator == target else 0.1)
                for each in others
            ),
        ),
    )
    html = dataflow_svg(seen, plan.threads)
    into = [each for each in seen.streams if each.target == target]
    assert html.count("stroke-dasharray") == html.count(", waiting") == len(into)
    assert html.count("<polygon") == len(seen.streams)
    assert html.count(">bottleneck<") == html.count('stroke-width="3"') == 1


def test_slots_show_what_was_planned_beside_what_was_seen() -> None:
    seen = SlotLoad("a/0", 0.9, None)
    html = slots_html((seen,), {"a/0": {"b": 2}}, (SlotLoad("a/0", 0.5, None),))
    assert parsed(html).text == "a/0 90%, planned 50%b×2"
    assert f"width:90%;height:100%;background:{shade(0.9)}" in html
    assert "left:50%" in html
    assert "left:" not in slots_html((seen,), {"a/0": {"b": 2}})


def test_a_run_shows_lines_over_its_time() -> None:
    plan = slotwise.plan("diamond", 50, allocator="mba", placer="sam")
    seen = slotwise.simulate(plan, tuples=2000)
    windows = [
        replace(seen, end_s=10.0 * number, offered_rate=number * 10.0, latency_p99_ms=p99)
        for number, p99 in enumerate((20.0, None, math.inf, 40.0), 1)
    ]
    html = over_time_html(windows, Goals(latency_p99_ms=30))
    assert parsed(html).text.startswith("Input tuples/s")
    assert "p99 goal" in parsed(html).text
    lines = re.findall('points="([^"]*)"', html)
    assert [len(line.split()) for line in lines] == [4, 4, 2, 2]
    heights = [float(point.partition(",")[2]) for point in lines[0].split()]
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == len(heights)
    assert html in summary_html(
        replace(plan, pipeline=replace(plan.pipeline, goals=Goals(latency_p99_ms=30))),
        seen,
        (),
        (),
        windows,
    )
    assert over_time_html(windows[:1], Goals()) == ""

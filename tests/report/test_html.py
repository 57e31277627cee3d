from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import slotwise
from slotwise.model import Goals
from slotwise.report.html import MOST_NODES


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

"""Erlang's formulas against their textbook forms."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotwise.queueing import erlang_b, sojourn


def erlang_b_by_factorials(servers: int, offered: float) -> float:
    terms = [offered**k / math.factorial(k) for k in range(servers + 1)]
    return terms[-1] / sum(terms)


@given(st.integers(1, 30), st.floats(0.01, 40))
def test_erlang_b_is_the_textbook_formula(servers: int, offered: float) -> None:
    assert erlang_b(servers, offered) == pytest.approx(erlang_b_by_factorials(servers, offered))


def test_erlang_b_does_not_overflow() -> None:
    assert 0 < erlang_b(5000, 4900.0) < 1


@given(st.floats(0.01, 0.99))
def test_one_server_waits_as_m_m_1(busy: float) -> None:
    wait, service = sojourn(1, busy, 1.0)
    assert wait + service == pytest.approx(1 / (1 - busy))


def test_deterministic_service_halves_the_wait() -> None:
    exponential, _ = sojourn(1, 0.8, 1.0)
    deterministic, _ = sojourn(1, 0.8, 1.0, variation=0.5)  # ca² = 1, cs² = 0: M/D/1 exactly
    assert deterministic == pytest.approx(exponential / 2)
    assert deterministic == pytest.approx(0.8 / (2 * (1 - 0.8)))


@given(st.integers(1, 20), st.floats(0.1, 0.95))
def test_the_wait_is_convex_in_the_servers(servers: int, busy: float) -> None:
    arrival = servers * busy
    waits = [sojourn(k, arrival, 1.0)[0] for k in range(servers, servers + 4)]
    gains = [waits[i] - waits[i + 1] for i in range(3)]
    assert gains == sorted(gains, reverse=True)


def test_too_few_servers_wait_for_ever() -> None:
    assert sojourn(2, 2.0, 1.0) == (math.inf, 1.0)


def test_nothing_arrives_nobody_waits() -> None:
    assert sojourn(1, 0.0, 4.0) == (0.0, 0.25)

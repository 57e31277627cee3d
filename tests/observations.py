"""Random observations, with all that may be unknown or infinite, for hypothesis."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import numpy as np
from hypothesis import strategies as st

from slotwise.model import (
    LinkLoad,
    Observation,
    OperatorLoad,
    SlotLoad,
    StreamLoad,
    ThreadLoad,
    ThreadTraffic,
)
from slotwise.model.observation import Origin

_FIELDS: dict[object, st.SearchStrategy[object]] = {
    float: st.floats(-1e12, 1e12) | st.just(float("inf")),
    str: st.text(max_size=5),
    int: st.integers(-5, 10**12),
    bool: st.booleans(),
    Origin: st.sampled_from(get_args(Origin)),
}


def _field(hint: object) -> st.SearchStrategy[object]:
    if hint in _FIELDS:
        return _FIELDS[hint]
    kind, nothing = get_args(hint)
    assert nothing is type(None)
    return st.none() | _FIELDS[kind]


def _built(kind: type, **given: st.SearchStrategy[object]) -> st.SearchStrategy[Any]:
    """Every field by its type, but for those that are given."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in given}
    return st.builds(kind, **given, **{name: _field(hint) for name, hint in hints.items()})


def traffic(pairs: int) -> ThreadTraffic:
    """So many pairs, each with traffic of its own."""
    ends = np.arange(pairs, dtype=np.int64)
    return ThreadTraffic(ends, ends[::-1].copy(), np.linspace(0.1, 9.7, pairs))


def observations() -> st.SearchStrategy[Observation]:
    """Without what journals leave out: series, and traffic between slots and nodes."""

    def few(kind: type) -> st.SearchStrategy[object]:
        return st.lists(_built(kind), max_size=2).map(tuple)

    return _built(
        Observation,
        operators=few(OperatorLoad),
        streams=few(StreamLoad),
        threads=few(ThreadLoad),
        slots=few(SlotLoad),
        nodes=few(SlotLoad),
        links=few(LinkLoad),
        thread_traffic=st.none() | st.integers(0, 5).map(traffic),
        slot_traffic=st.none(),
        node_traffic=st.none(),
        series=st.none(),
        remarks=st.lists(_FIELDS[str], max_size=2).map(tuple),
    )

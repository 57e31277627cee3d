"""The search trees against plain scans, through random sequences of changes."""

from __future__ import annotations

import numpy as np
import pytest

from slotwise.placers._fit_trees import (
    NONE,
    best_fit,
    first_fit,
    new_best_tree,
    new_first_tree,
    put_best,
    put_first,
    remove_first,
    take_best,
)

PLACES = 40


@pytest.mark.parametrize("seed", range(10))
def test_trees_find_what_a_scan_finds(seed: int) -> None:
    random = np.random.default_rng(seed)
    first, best, root = new_first_tree(PLACES, 3), new_best_tree(PLACES), NONE
    left: dict[int, tuple[float, float]] = {}
    for _ in range(300):
        place = int(random.integers(PLACES))
        if place in left:
            root = take_best(best, root, place)
            del left[place]
            remove_first(first, place)
        if random.random() < 0.8:
            # Few distinct figures, so that many places tie.
            cpu, mem = (random.integers(0, 6, 2) / 5).tolist()
            left[place] = cpu, mem
            root = put_best(best, root, place, cpu, mem)
            put_first(first, place, (cpu, mem, min(cpu, mem)))
        need = (random.integers(0, 6, 2) / 5).tolist()
        start = int(random.integers(PLACES))
        holding = [p for p, (cpu, mem) in left.items() if cpu >= need[0] and mem >= need[1]]
        by_sum = sorted(holding, key=lambda p: (sum(left[p]), p))
        by_order = sorted(holding, key=lambda p: (p < start, p))
        assert best_fit(best, root, *need) == (by_sum[0] if holding else NONE)
        assert first_fit(first, start, *need) == (by_order[0] if holding else NONE)


def test_a_third_three_times_leaves_enough_for_nothing_but_rounding() -> None:
    tree, root = new_best_tree(1), NONE
    root = put_best(tree, root, 0, 1 - 1 / 3 - 1 / 3, 1.0)
    assert best_fit(tree, root, 1 / 3, 1.0) == 0
    assert best_fit(tree, root, 1 / 3 + 1e-6, 1.0) == NONE

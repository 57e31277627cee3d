"""The kernels' counts are those of a dictionary."""

from __future__ import annotations

from collections import Counter

import numpy as np

from slotwise.placers._counts import add, find, no_counts


def test_counts_as_a_dictionary_while_keys_come_and_go() -> None:
    random = np.random.default_rng(1)
    counts, expected = no_counts(20), Counter[int]()
    for _ in range(5_000):
        there = [key for key in expected if expected[key]]
        if len(there) == 20 or (there and random.random() < 0.5):
            key = int(random.choice(there))
            add(counts, key, -expected[key])
            del expected[key]
        else:
            key, number = int(random.integers(10**9)), int(random.integers(1, 5))
            add(counts, key, number)
            expected[key] += number
        for each in (key, *there):
            assert counts.places[find(counts.places, each), 1] == expected[each]
    # Thousands of keys have been there, and at most half of the places are taken.
    assert 2 * counts.taken[0] <= len(counts.places) + 2

"""Search trees over what places (slots, nodes) have left: which holds a given need?

Kernels on plain arrays. Both trees keep above each subtree the most CPU, the most memory, and
the most of the lesser of both in it, to prune a search; the third keeps places that have run out
of one resource only from being visited over and over. Searches are about O(log places).

- `first tree`: places in their own order; finds the first one from a position on.
- `best tree`: places by (CPU left + memory left, position), a treap; finds the best fit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from slotwise.model.allocation import TOLERANCE

NONE = -1
LEFT, RIGHT = 0, 1
CPU, MEM = 0, 1
MOST = 2
"""Columns 2, 3, 4 of a best tree: the most CPU, memory and lesser of both below and here."""


@njit(cache=True)
def may_hold(most, cpu, mem):  # type: ignore[no-untyped-def]
    """Whether a subtree with these three maxima can have a place that holds (cpu, mem)."""
    return (
        most[0] >= cpu - TOLERANCE
        and most[1] >= mem - TOLERANCE
        and most[2] >= min(cpu, mem) - TOLERANCE
    )


@njit(cache=True)
def new_first_tree(places, columns):  # type: ignore[no-untyped-def]
    """A first tree with no place in it; the leaves are its second half."""
    size = 1
    while size < places:
        size *= 2
    return np.full((2 * size, columns), -np.inf)


@njit(cache=True)
def put_first(tree, place, figures):  # type: ignore[no-untyped-def]
    """Set the figures of `place`, CPU, memory and the lesser of both first; above are maxima."""
    at = len(tree) // 2 + place
    for column in range(tree.shape[1]):
        tree[at, column] = figures[column]
    at //= 2
    while at > 0:
        for column in range(tree.shape[1]):
            tree[at, column] = max(tree[2 * at, column], tree[2 * at + 1, column])
        at //= 2


@njit(cache=True)
def remove_first(tree, place):  # type: ignore[no-untyped-def]
    put_first(tree, place, np.full(tree.shape[1], -np.inf))


@njit(cache=True)
def first_fit(tree, start, cpu, mem):  # type: ignore[no-untyped-def]
    """The first place from `start` on, round the end, that holds (cpu, mem); NONE if none does."""
    size = len(tree) // 2
    stack = np.empty(128, dtype=np.int64)
    for begin in (start, 0):
        stack[0], height = 1, 1
        while height > 0:
            height -= 1
            at = stack[height]
            if _last_leaf(at, size) < begin or not may_hold(tree[at], cpu, mem):
                continue
            if at >= size:
                return at - size
            stack[height], stack[height + 1] = 2 * at + 1, 2 * at
            height += 2
    return NONE


@njit(cache=True)
def _last_leaf(at, size):  # type: ignore[no-untyped-def]
    while at < size:
        at = 2 * at + 1
    return at - size


@njit(cache=True)
def new_best_tree(places):  # type: ignore[no-untyped-def]
    """(children, figures) of a best tree with no place in it; its root is NONE."""
    return np.full((places, 2), NONE), np.zeros((places, 5))


@njit(cache=True)
def put_best(tree, root, place, cpu, mem):  # type: ignore[no-untyped-def]
    """Add `place`, which must not be in the tree; return the new root."""
    children, figures = tree
    children[place] = NONE
    figures[place, CPU], figures[place, MEM] = cpu, mem
    _gather(tree, place)
    before, after = _split(tree, root, cpu + mem, place)
    return _merge(tree, _merge(tree, before, place), after)


@njit(cache=True)
def take_best(tree, root, place):  # type: ignore[no-untyped-def]
    """Remove `place`, which must be in the tree; return the new root."""
    figures = tree[1]
    key = figures[place, CPU] + figures[place, MEM]
    before, rest = _split(tree, root, key, place)
    _, after = _split(tree, rest, key, place + 1)
    return _merge(tree, before, after)


@njit(cache=True)
def best_fit(tree, root, cpu, mem):  # type: ignore[no-untyped-def]
    """The place with the least sum that holds (cpu, mem), the first of equals; NONE if none."""
    children, figures = tree
    stack = np.empty(512, dtype=np.int64)
    height, at = 0, root
    while height > 0 or at != NONE:
        while at != NONE and may_hold(figures[at, MOST:], cpu, mem):
            stack[height] = at
            height += 1
            at = children[at, LEFT]
        if height == 0:
            break
        height -= 1
        at = stack[height]
        if figures[at, CPU] >= cpu - TOLERANCE and figures[at, MEM] >= mem - TOLERANCE:
            return at
        at = children[at, RIGHT]
    return NONE


@njit(cache=True)
def _gather(tree, at):  # type: ignore[no-untyped-def]
    """Work out the maxima of the subtree from its place and its children's maxima."""
    children, figures = tree
    cpu, mem = figures[at, CPU], figures[at, MEM]
    figures[at, MOST], figures[at, MOST + 1], figures[at, MOST + 2] = cpu, mem, min(cpu, mem)
    for child in children[at]:
        if child != NONE:
            for column in range(MOST, MOST + 3):
                figures[at, column] = max(figures[at, column], figures[child, column])


@njit(cache=True)
def _priority(place):  # type: ignore[no-untyped-def]
    """A fixed number per place that looks random: it keeps the treap flat, and deterministic."""
    mixed = np.uint64(place + 1) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)


@njit(cache=True)
def _split(tree, at, key, place):  # type: ignore[no-untyped-def]
    """Cut a subtree in two: what sorts before (key, place), and the rest."""
    if at == NONE:
        return NONE, NONE
    children, figures = tree
    here = figures[at, CPU] + figures[at, MEM]
    if here < key or (here == key and at < place):
        before, after = _split(tree, children[at, RIGHT], key, place)
        children[at, RIGHT] = before
        _gather(tree, at)
        return at, after
    before, after = _split(tree, children[at, LEFT], key, place)
    children[at, LEFT] = after
    _gather(tree, at)
    return before, at


@njit(cache=True)
def _merge(tree, before, after):  # type: ignore[no-untyped-def]
    """Join two subtrees, all of the first sorting before all of the second."""
    if before == NONE:
        return after
    if after == NONE:
        return before
    children = tree[0]
    if _priority(before) >= _priority(after):
        children[before, RIGHT] = _merge(tree, children[before, RIGHT], after)
        _gather(tree, before)
        return before
    children[after, LEFT] = _merge(tree, before, children[after, LEFT])
    _gather(tree, after)
    return after

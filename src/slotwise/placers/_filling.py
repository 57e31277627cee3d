"""Items in bins: what both phases of paper 2's online scheduler do with a pair of items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.model.allocation import TOLERANCE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_OPTIONS = 3
"""A pair has at most three bins to choose from."""


def empty(loads: Floats, room: Ints, capacity: Floats) -> Filling:
    """No item in any bin; room below the tree's width is filled up with bins that take none."""
    width = 1 << max(1, (len(room) - 1).bit_length())
    leaves = np.arange(width)
    winners = np.concatenate((leaves, leaves))
    for level in range(width.bit_length() - 1):
        # All bins are equally empty: the leftmost wins.
        winners[1 << level : 2 << level] = leaves[:: width >> level]
    key = np.full(width, np.inf)
    key[: len(room)] = 0.0
    return Filling(
        loads=loads,
        room=room,
        capacity=capacity,
        scale=np.where(np.isinf(capacity), 1.0, capacity),
        bins=np.full(len(loads), -1, dtype=np.int64),
        held=np.zeros(len(room), dtype=np.int64),
        load=np.zeros(len(room)),
        key=key,
        winners=winners,
    )


class Filling(NamedTuple):
    """Items in bins, as the kernels see them."""

    loads: Floats
    room: Ints
    capacity: Floats
    scale: Floats
    bins: Ints
    """Per item, its bin or -1."""
    held: Ints
    """Per bin, its items."""
    load: Floats
    key: Floats
    """Per bin, its scaled load, infinite if it has no room."""
    winners: Ints
    """A tournament: the bin with the least key below each node of a tree, the root being 1."""


# Kernels. Those that are called for every pair take plain arrays: reading an array from a tuple
# counts a reference to it, which costs more than all else that they do.


@njit(cache=True)
def join(filling: Filling, j: int, k: int) -> None:
    """Put a pair of items of which neither is in a bin into the least loaded one; if that has room
    for one only, the other into the next.
    """
    _put_in_least(filling, j)
    if filling.bins[j] >= 0 and _takes(filling, filling.bins[j], k):
        move(filling, k, filling.bins[j])
    else:
        _put_in_least(filling, k)


@njit(cache=True)
def list_options(bin_j: int, bin_k: int, least: int, options: Ints) -> int:
    """The bins of two items and the least loaded one, each once, -1 left out; how many they are."""
    size = 0
    for option in (bin_j, bin_k, least):
        known = option < 0
        for n in range(size):
            known = known or options[n] == option
        if not known:
            options[size] = option
            size += 1
    return size


@njit(cache=True)
def best_options(
    j: int,
    k: int,
    between: float,
    options: Ints,
    size: int,
    local: Floats,
    bins: Ints,
    loads: Floats,
    room: Ints,
    capacity: Floats,
    held: Ints,
    load: Floats,
) -> tuple[int, int]:
    """Where two items go: to those of the first `size` options that keep most traffic local; at a
    tie they stay, or else the first options win.

    `local` has, for either item, the tuples/s with each option, the other item left out; `between`
    are those of the two.
    """
    best_j, best_k, best = bins[j], bins[k], -np.inf
    if best_j == best_k:
        best = local[0, 0] + local[1, 0] + between
    elif best_j >= 0 and best_k >= 0:
        best = local[0, 0] + local[1, 1]
    for a in range(size):
        for b in range(size):
            value = local[0, a] + local[1, b] + (between if a == b else 0.0)
            if value > best + TOLERANCE * between:
                to_j, to_k, fit = options[a], options[b], True
                for target in (to_j, to_k):
                    more_j = int(to_j == target) - int(bins[j] == target)
                    more_k = int(to_k == target) - int(bins[k] == target)
                    after = load[target] + more_j * loads[j] + more_k * loads[k]
                    fit = fit and held[target] + more_j + more_k <= room[target]
                    fit = fit and after <= capacity[target] + TOLERANCE / 2
                if fit:
                    best_j, best_k, best = to_j, to_k, value
    return best_j, best_k


@njit(cache=True)
def put_rest(filling: Filling, largest_first: Ints) -> None:
    """Put items that are in no bin into the least loaded one, or else into the roomiest."""
    for item in largest_first:
        if filling.bins[item] < 0:
            _put_in_least(filling, item)
        if filling.bins[item] < 0:
            move(filling, item, _roomiest(filling, item))


@njit(cache=True)
def _takes(filling: Filling, target: int, item: int) -> bool:
    after: float = filling.load[target] + filling.loads[item]
    within = after <= filling.capacity[target] + TOLERANCE / 2
    return bool(filling.held[target] < filling.room[target] and within)


@njit(cache=True)
def _put_in_least(filling: Filling, item: int) -> None:
    target = least_loaded(filling.key, filling.winners)
    if target >= 0 and _takes(filling, target, item):
        move(filling, item, target)


@njit(cache=True)
def _roomiest(filling: Filling, item: int) -> int:
    """The bin with the most capacity left of those that take the item, or -1."""
    best = -1
    for target in range(len(filling.room)):
        left = filling.capacity[target] - filling.load[target]
        if _takes(filling, target, item) and (
            best < 0 or left > filling.capacity[best] - filling.load[best]
        ):
            best = target
    return best


@njit(cache=True)
def move(filling: Filling, item: int, target: int) -> None:
    """To another bin; -1 or its own: nothing happens."""
    before = filling.bins[item]
    if target < 0 or target == before:
        return
    if before >= 0:
        filling.held[before] -= 1
        filling.load[before] -= filling.loads[item]
        if filling.held[before] == 0:
            filling.load[before] = 0.0  # without the rounding of what came and went
        _update_key(filling, before)
    filling.bins[item] = target
    filling.held[target] += 1
    filling.load[target] += filling.loads[item]
    _update_key(filling, target)


@njit(cache=True)
def least_loaded(key: Floats, winners: Ints) -> int:
    """The least loaded bin with room for one more, the lowest of equals; -1 if there is none."""
    winner = winners[1]
    return winner if key[winner] < np.inf else -1


@njit(cache=True)
def _update_key(filling: Filling, target: int) -> None:
    full = filling.held[target] >= filling.room[target]
    filling.key[target] = np.inf if full else filling.load[target] / filling.scale[target]
    node = (len(filling.winners) // 2 + target) // 2
    while node >= 1:
        left, right = filling.winners[2 * node], filling.winners[2 * node + 1]
        filling.winners[node] = right if filling.key[right] < filling.key[left] else left
        node //= 2

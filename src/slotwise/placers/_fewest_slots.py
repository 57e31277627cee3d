"""Phase 1 of `exact`: the fewest slots that hold all bundles whole, by CP-SAT.

Full bundles have a slot each, so only the others are packed. Bundles of the same size are one
item with a count, slots of the same size one kind, and the bins of a kind are ordered by their
load: whatever is interchangeable is searched once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, whole
from slotwise.model.allocation import TOLERANCE
from slotwise.placers._bundles import BundleTable
from slotwise.placers._cp_sat import MOST_VARIABLES, capacity_units, need_units, solver

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar


@dataclass(frozen=True)
class Packing:
    """The best found. `slots` per bundle is None if none was found; `bound` is proven."""

    slots: NDArray[np.int64] | None
    bound: int
    infeasible: bool = False
    """Proven: no packing exists."""


def fewest_slots(
    bundles: BundleTable, cluster: Cluster, start: NDArray[np.int64] | None, effort: float
) -> Packing:
    """Improve on `start` (each bundle's slot, None if none is known) as far as `effort` goes."""
    bound = area_bound(bundles, cluster)
    if bound > cluster.slots:
        return Packing(None, bound, infeasible=True)
    if start is not None and len(np.unique(start)) == bound:
        return Packing(start, bound)
    most = cluster.slots if start is None else len(np.unique(start))
    sizes = _Sizes(bundles, cluster)
    bins = sizes.bins(most - sizes.alone)
    if len(bins) * len(sizes.partial) > MOST_VARIABLES:
        return Packing(start, bound)
    return _search(sizes, bins, start, bound, effort)


def area_bound(bundles: BundleTable, cluster: Cluster) -> int:
    """A slot per full bundle, and as many of the largest as have the CPU and memory of the rest."""
    rest = ~bundles.full
    needed = (
        _largest_for(float(bundles.cpu[rest].sum()), cluster.slot_cpu),
        _largest_for(float(bundles.mem[rest].sum()), cluster.slot_memory),
    )
    return int(bundles.full.sum()) + max(int(rest.any()), *needed)


def _largest_for(needed: float, capacity: NDArray[np.float64]) -> int:
    """How many of the largest capacities hold `needed`; past the last, more of the very largest."""
    together = np.cumsum(np.sort(capacity)[::-1] + TOLERANCE)
    if needed <= 0:
        return 0
    if needed > together[-1]:
        return len(together) + max(1, whole((needed - together[-1]) / capacity.max()))
    return int(np.searchsorted(together, needed)) + 1


class _Sizes:
    """Bundles grouped by what they need, slots grouped by what they have."""

    def __init__(self, bundles: BundleTable, cluster: Cluster) -> None:
        needs = np.stack((bundles.cpu, bundles.mem, bundles.full.astype(np.float64)), axis=1)
        self.needs, self.need_of = _grouped(needs)
        self.kinds, self.kind_of = _grouped(np.stack((cluster.slot_cpu, cluster.slot_memory), 1))
        self.count = np.bincount(self.need_of).tolist()
        self.slots_of_kind = np.bincount(self.kind_of).tolist()
        self.full = np.flatnonzero(self.needs[:, 2] == 1).tolist()
        self.partial = np.flatnonzero(self.needs[:, 2] == 0).tolist()
        self.alone = int(bundles.full.sum())

    def bins(self, most: int) -> list[tuple[int, int]]:
        """(kind, number) of every slot that could be used by bundles that are not full."""
        return [
            (kind, number)
            for kind, slots in enumerate(self.slots_of_kind)
            for number in range(min(slots, most))
        ]

    def fits(self, size: int, kind: int) -> bool:
        return bool(np.all(self.needs[size, :2] <= self.kinds[kind] + TOLERANCE))


def _grouped(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The distinct rows, and which of them each row is."""
    distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    return distinct, inverse.ravel()


Bin = tuple[int, int]


@dataclass(frozen=True)
class _Variables:
    held: dict[tuple[int, Bin], IntVar]
    """(size, bin) -> how many bundles of that size it holds."""
    used: dict[Bin, IntVar]
    alone: dict[tuple[int, int], IntVar]
    """(size, kind) -> how many full bundles of that size are in slots of that kind."""


def _search(
    sizes: _Sizes,
    bins: list[Bin],
    start: NDArray[np.int64] | None,
    bound: int,
    effort: float,
) -> Packing:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables = _declare(model, sizes, bins)
    _constrain(model, variables, sizes)
    model.add(sum(variables.used.values()) >= bound - sizes.alone)
    model.minimize(sum(variables.used.values()))
    if start is not None:
        _hint(model, variables, sizes, start)
    search = solver(effort)
    status = search.solve(model)
    if status == cp_model.INFEASIBLE:
        return Packing(None, bound, infeasible=True)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Packing(start, bound)
    proven = max(bound, sizes.alone + whole(search.best_objective_bound))
    if start is not None and len(np.unique(start)) <= sizes.alone + search.objective_value:
        return Packing(start, proven)
    return Packing(_slots(variables, sizes, search.value), proven)


def _declare(model: CpModel, sizes: _Sizes, bins: list[Bin]) -> _Variables:
    held = {
        (size, b): model.new_int_var(0, sizes.count[size], f"held-{size}-{b}")
        for size in sizes.partial
        for b in bins
        if sizes.fits(size, b[0])
    }
    used = {b: model.new_bool_var(f"used-{b}") for b in bins}
    alone = {
        (size, kind): model.new_int_var(0, sizes.count[size], f"alone-{size}-{kind}")
        for size in sizes.full
        for kind in range(len(sizes.kinds))
        if sizes.fits(size, kind)
    }
    return _Variables(held, used, alone)


def _constrain(model: CpModel, variables: _Variables, sizes: _Sizes) -> None:
    for size in sizes.partial:
        model.add(_total(variables.held, size) == sizes.count[size])
    for size in sizes.full:
        model.add(_total(variables.alone, size) == sizes.count[size])
    for (size, b), held in variables.held.items():
        model.add(held <= sizes.count[size] * variables.used[b])
    for kind, slots in enumerate(sizes.slots_of_kind):
        bins = [b for b in variables.used if b[0] == kind]
        alone = sum(count for (_, k), count in variables.alone.items() if k == kind)
        model.add(sum(variables.used[b] for b in bins) + alone <= slots)
        for resource in (0, 1):
            capacity = capacity_units(sizes.kinds[kind, resource])
            for b in bins:
                model.add(_load(variables, sizes, b, resource) <= capacity * variables.used[b])
        for b, following in pairwise(bins):
            model.add_implication(variables.used[following], variables.used[b])
            first, second = (_load(variables, sizes, each, 0) for each in (b, following))
            model.add(first >= second)


def _total(counts: dict[tuple[int, Bin], IntVar] | dict[tuple[int, int], IntVar], size: int):  # type: ignore[no-untyped-def]
    return sum(count for (s, _), count in counts.items() if s == size)


def _load(variables: _Variables, sizes: _Sizes, b: Bin, resource: int):  # type: ignore[no-untyped-def]
    return sum(
        need_units(sizes.needs[size, resource]) * variables.held[size, b]
        for size in sizes.partial
        if (size, b) in variables.held
    )


def _hint(model: CpModel, variables: _Variables, sizes: _Sizes, start: NDArray[np.int64]) -> None:
    """Give the solver the packing it starts from, its bins in the order the model asks for."""
    packed = np.flatnonzero(sizes.needs[sizes.need_of, 2] == 0)
    counts: dict[int, dict[int, int]] = {}
    for bundle in packed.tolist():
        in_slot = counts.setdefault(int(start[bundle]), {})
        size = int(sizes.need_of[bundle])
        in_slot[size] = in_slot.get(size, 0) + 1

    def load(slot: int) -> int:
        return sum(need_units(sizes.needs[s, 0]) * n for s, n in counts[slot].items())

    ranked = sorted(counts, key=lambda slot: (-load(slot), slot))
    by_kind = [[s for s in ranked if sizes.kind_of[s] == k] for k in range(len(sizes.kinds))]
    for (kind, number), used in variables.used.items():
        model.add_hint(used, number < len(by_kind[kind]))
    for (size, (kind, number)), held in variables.held.items():
        slots = by_kind[kind]
        model.add_hint(held, counts[slots[number]].get(size, 0) if number < len(slots) else 0)


def _slots(
    variables: _Variables, sizes: _Sizes, value: Callable[[IntVar], int]
) -> NDArray[np.int64]:
    """Every bundle's slot: per kind, first the bins, then the full bundles."""
    free = [np.flatnonzero(sizes.kind_of == kind).tolist() for kind in range(len(sizes.kinds))]
    waiting = [np.flatnonzero(sizes.need_of == s).tolist() for s in range(len(sizes.needs))]
    slots = np.full(len(sizes.need_of), -1, dtype=np.int64)
    for b, used in variables.used.items():
        if not value(used):
            continue
        slot = free[b[0]].pop(0)
        for size in sizes.partial:
            if (size, b) in variables.held:
                for _ in range(value(variables.held[size, b])):
                    slots[waiting[size].pop(0)] = slot
    for (size, kind), count in variables.alone.items():
        for _ in range(value(count)):
            slots[waiting[size].pop(0)] = free[kind].pop(0)
    return slots

"""Model based allocation: as many threads per slot as the model says is best (paper 1, 6.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slotwise.allocators.base import Demand, PerOperatorAllocator, too_many
from slotwise.model import Bundle, OperatorAllocation, Profiles, Refusal, ThreadTable, counted


@dataclass(frozen=True)
class Mba(PerOperatorAllocator):
    """Full bundles of the best thread count, a whole slot each, while the rate left fills one.

    The remainder takes the smallest modelled thread count that carries it, charged its CPU and
    memory, or in proportion where that is one thread. O(operators × rows).
    """

    name: ClassVar[str] = "mba"

    def size(self, demand: Demand, profiles: Profiles) -> OperatorAllocation | Refusal:
        table = profiles.table(demand.operator, demand.sent_per_tuple)
        best = table.best
        threads = demand.arriving / best.rate * best.threads
        if refusal := too_many(self.name, demand.operator, threads, best.rate / best.threads):
            return refusal
        full = int(demand.arriving / best.rate + 1e-9)
        # A bundle fills its slot; where the model asks for more than a slot, say so.
        whole = Bundle(best.threads, max(1.0, best.cpu), max(1.0, best.mem), full=True)
        rest = demand.arriving - full * best.rate
        partial = (_partial(table, rest),) if rest > 1e-9 * demand.arriving else ()
        threads_each = counted(best.threads, "thread")
        parts = [f"{full:,} × {threads_each} filling a slot at {best.rate:g}/s"] * bool(full)
        parts += [f"{bundle.threads} for {rest:g}/s" for bundle in partial]
        reason = " and ".join(parts)
        bundles = (whole,) * full + partial
        return OperatorAllocation(demand.operator, demand.arriving, bundles, reason)


def _partial(table: ThreadTable, rate: float) -> Bundle:
    row = table.smallest_for(rate) or table.best
    if row.threads > 1:
        return Bundle(row.threads, row.cpu, row.mem)
    return Bundle(1, row.cpu * rate / row.rate, row.mem * rate / row.rate)

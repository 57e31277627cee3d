"""Work for operators without logic: they take the time that their profile says.

Thread k of an operator that has n threads in its slot serves, by the profile, rate(n) / n
tuples/s, and a tuple costs it cpu(n) / rate(n) seconds of CPU. So it handles each tuple for
n / rate(n) seconds: `burn` spends the CPU part computing and waits for the rest; `wait` only
waits, which keeps a plan honest on a machine with fewer cores than the plan has slots.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from slotwise.model import Plan, Profiles, ThreadRow

Work = Literal["burn", "wait", "none"]


def service_us(
    plan: Plan, operator: int, work: Work, profiles: Profiles | None = None
) -> tuple[tuple[int, int], ...]:
    """Per thread of the operator, (µs to burn, µs to wait) for each tuple, by the plan's profiles
    unless others are given.
    """
    known = plan.pipeline.profiles if profiles is None else profiles
    name = plan.pipeline.topology.operators[operator].name
    first = plan.allocation.first_thread
    slots = plan.placement.slots[first[operator] : first[operator + 1]]
    if work == "none" or known.fixed(name) is not None:
        return ((0, 0),) * len(slots)
    table = known.table(name)
    return tuple(_times(table.at(int(np.count_nonzero(slots == slot))), work) for slot in slots)


def _times(row: ThreadRow, work: Work) -> tuple[int, int]:
    handled = row.threads / row.rate
    burnt = min(row.cpu / row.rate, handled) if work == "burn" else 0.0
    return round(burnt * 1e6), round((handled - burnt) * 1e6)


def work_sql(times: tuple[tuple[int, int], ...], record: str) -> str:
    """`record`, once the work for it is done; each thread knows its own times.

    NULL is another operator's tuple: no work.
    """
    done = [
        f"{function}({_of_thread([time[part] for time in times])}) >= 0"
        for part, function in ((0, "burn_us"), (1, "wait_us"))
        if any(time[part] for time in times)
    ]
    if not done:
        return record
    return f"CASE WHEN {record} IS NOT NULL THEN IF({' AND '.join(done)}, {record}, NULL) END"


def _of_thread(values: list[int]) -> str:
    if len(set(values)) == 1:
        return str(values[0])
    return f"element_at(array({', '.join(map(str, values))}), 1 + _thread)"

"""How long a tuple keeps a thread where other threads want the slot's CPU, below its capacity.

A profile's table says what so many threads do at their peak. A thread of a slot that has CPU to
spare is faster. An experiment measured how fast one is alone; that time is partly CPU, which the
others of the slot stretch, as in processor sharing: by 1 / (1 - what they use), and by no more than
the number of the slot's threads. Towards the peak the time is the table's.

Of typed profiles, and of those from a run, nothing is known but the time at the peak.
"""

from __future__ import annotations

import numpy as np

from slotwise.model import Cluster
from slotwise.prediction.groups import Floats, Groups


def loaded_part(groups: Groups, arriving: Floats, slot_need: Floats, cluster: Cluster) -> Floats:
    """Per group, the part of its threads' time at the peak that a tuple takes at this load; 1 where
    the profile does not say more. `arriving` is tuples/s per group, `slot_need` CPU per slot, in
    reference slots. O(groups + slots).
    """
    known = ~groups.fixed & ~np.isnan(groups.alone)
    if not known.any():
        return np.ones(len(groups.peak))
    speed = cluster.slot_cpu[groups.slot]
    peak = np.where(known, groups.peak, 1.0)
    at_peak_s = groups.threads / peak
    alone_s = np.where(known, groups.alone, 1.0) * at_peak_s
    cpu_s = np.minimum(groups.cpu / peak / speed, alone_s)
    own = cpu_s * arriving / groups.threads
    others = slot_need[groups.slot] / speed - groups.idle_cpu / speed - own
    beside = groups.per_slot(groups.threads.astype(np.float64), cluster.slots)[groups.slot]
    stretched_s = cpu_s / np.maximum(1 - np.maximum(others, 0.0), 1 / beside)
    busy = np.minimum(arriving / peak, 1.0)
    part = np.maximum((alone_s - cpu_s + stretched_s) / at_peak_s, busy**2)
    return np.where(known, part, 1.0)

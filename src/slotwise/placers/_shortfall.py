"""What a thread or bundle that fits nowhere lacks, reported where it comes closest to fitting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def shortfall(
    cpu: float, mem: float, cpu_left: NDArray[np.float64], mem_left: NDArray[np.float64]
) -> tuple[str, float]:
    """(resource, how much is missing) in the place with the least missing of both together.

    >>> shortfall(0.5, 0.2, np.array([0.4, 0.1]), np.array([0.3, 0.9]))
    ('cpu', 0.1)
    """
    cpu_missing = np.maximum(cpu - cpu_left, 0.0)
    mem_missing = np.maximum(mem - mem_left, 0.0)
    closest = int(np.argmin(cpu_missing + mem_missing))
    of_cpu, of_mem = float(cpu_missing[closest]), float(mem_missing[closest])
    resource, missing = ("cpu", of_cpu) if of_cpu >= of_mem else ("memory", of_mem)
    return resource, round(missing, 9)

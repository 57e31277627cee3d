"""Keys of `fields` grouping where nothing is known of them: 1,000, equally likely, by their hash.

The simulation draws and deals them out like that unless its options say otherwise, and predictions
take the same shares. Plain functions on numbers and arrays, so that a kernel can compile them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

NUMBER = 1000

_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)


def mixed(word: np.uint64) -> np.uint64:
    """splitmix64's finaliser: every bit of `word` moves every bit of the result."""
    word = (word ^ (word >> _S30)) * _M1
    word = (word ^ (word >> _S27)) * _M2
    return word ^ (word >> _S31)


@lru_cache(maxsize=1024)
def keys_of_threads(threads: int) -> NDArray[np.int64]:
    """How many of the keys each thread of a `fields` stream's target gets; do not change it.

    >>> keys_of_threads(3).tolist()
    [333, 303, 364]
    """
    hashes: NDArray[np.uint64] = mixed(np.arange(NUMBER, dtype=np.uint64))  # type: ignore
    return np.bincount((hashes % np.uint64(threads)).astype(np.int64), minlength=threads)

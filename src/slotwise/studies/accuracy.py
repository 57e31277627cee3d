"""How near foreseen figures are to those that were seen: for tables of a study."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def r_squared(foreseen: Sequence[float], seen: Sequence[float]) -> float:
    """Of the correlation: how well they lie on a line, whichever; NaN if either does not vary."""
    if min(np.ptp(foreseen), np.ptp(seen)) == 0:
        return float("nan")
    return float(np.corrcoef(foreseen, seen)[0, 1] ** 2)


def mean_error(foreseen: Sequence[float], seen: Sequence[float]) -> float:
    """Mean relative distance, in percent of what was seen."""
    pairs = zip(foreseen, seen, strict=True)
    return float(100 * np.mean([abs(f - s) / s for f, s in pairs]))


def rank_correlation(foreseen: Sequence[float], seen: Sequence[float]) -> float:
    """Spearman's: 1 where both have the same order."""
    from scipy.stats import spearmanr

    return float(spearmanr(foreseen, seen).statistic)

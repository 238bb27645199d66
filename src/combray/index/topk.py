"""The best few of many scores, always in the same order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def top_k(scores: NDArray[np.floating], k: int) -> NDArray[np.int64]:
    """Rows of the k highest finite scores, best first; ties by row, lowest first.

    Args:
        scores: shape (n,); minus infinity marks rows that must not be returned.
        k: how many at most.

    Returns:
        shape (min(k, number of finite scores),).
    """
    n = len(scores)
    if k <= 0:
        return np.zeros(0, dtype=np.int64)
    if k < n:
        edge = np.partition(scores, n - k)[n - k]
        rows = np.flatnonzero(scores >= edge)
    else:
        rows = np.arange(n)
    rows = rows[np.isfinite(scores[rows])]
    order = np.argsort(-scores[rows], kind="stable")
    best: NDArray[np.int64] = rows[order[:k]].astype(np.int64)
    return best


def best(scores: NDArray[np.floating], among: NDArray[np.bool_], k: int) -> NDArray[np.int64]:
    """Rows of the k highest finite scores among those, best first; ties by row, lowest first.

    Args:
        scores: shape (n,).
        among: which rows may be returned, shape (n,).
        k: how many at most.
    """
    rows = np.flatnonzero(among)
    return rows[top_k(scores[rows], k)]

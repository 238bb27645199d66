"""Random walk with restart: how much of a walker's time each node gets when it keeps starting anew from the same few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def walk(
    steps: csr_array,
    start: NDArray[np.float64],
    *,
    restart: float,
    iterations: int,
    tolerance: float,
) -> NDArray[np.float64]:
    """The share of time at each node: r ← η p + (1 − η)(Pᵀ r + d p), from r = p, where d is what stands at nodes without a way on.

    Args:
        steps: P, shape (n, n); each row adds up to 1, or is empty.
        start: p, shape (n,), adds up to 1.
        restart: η, chance of starting anew at each step.
        iterations: at most.
        tolerance: a change of r that is smaller in L1 ends the walk.

    Returns:
        shape (n,), adds up to 1.

    Source:
        AtomMem, equations 10 and 11; equals `networkx.pagerank` with the damping 1 − η and p for both personalisation and dangling nodes.
    """
    back = steps.T.tocsr()
    dangling = np.diff(steps.indptr) == 0
    now = start
    for _ in range(iterations):
        moved = back @ now + now[dangling].sum() * start
        before, now = now, restart * start + (1.0 - restart) * moved
        if np.abs(now - before).sum() < tolerance:
            break
    return now

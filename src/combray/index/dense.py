"""Cosine similarity of a query with every turn: one exact product a turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from combray.index.view import BankView


def cosine(vector: NDArray[np.float32], view: BankView) -> NDArray[np.float64]:
    """Cosine of the query with each turn, shape (n,); 0 for turns without a vector.

    Args:
        vector: unit norm, shape (d,).
        view: the bank, with vectors.
    """
    if view.vectors is None:
        return np.zeros(view.n)
    # vecdot, not @: BLAS splits this over threads that wait for one another, ten times slower on busy cores.
    scores: NDArray[np.float64] = np.vecdot(view.vectors, vector).astype(np.float64)
    return scores

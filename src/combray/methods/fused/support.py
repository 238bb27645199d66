"""How likely the bank holds an answer, from raw signals that compare across queries and banks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from combray.index.lexical import idf
from combray.methods.fused.features import Columns, Signals

_TOP = 10


def support_signals(
    raw: Signals,
    rows: NDArray[np.int64],
    columns: Columns,
    best: NDArray[np.int64],
) -> dict[str, float]:
    """Raw signals of the best hits.

    Returns:
        ``late``: the best late interaction among the best hits; ``cosine``: the best cosine; ``coverage``: the largest
        share of the query's idf that one of them holds; ``unknown``: the share of it that no turn holds; ``gap``: how
        far the best turn of the people asked about stays behind the best of all. Empty without hits.
    """
    if not len(best):
        return {}
    top = best[:_TOP]
    late = columns.get("late", np.zeros(len(rows))) + columns.get("late_chat", np.zeros(len(rows)))
    asked = columns["speaker"] > 0
    weights = idf(raw.found.df, len(raw.bm25))
    total = max(float(weights.sum()), 1e-9)
    place = np.full(len(raw.bm25), -1)
    place[rows[top]] = np.arange(len(top))
    own = place[raw.found.row]
    held = np.bincount(own[own >= 0], weights=weights[raw.found.term[own >= 0]], minlength=len(top))
    return {
        "late": float(late[top].max()),
        "cosine": float(raw.cosine[rows[top]].max()),
        "coverage": float(held.max()) / total,
        "unknown": float(weights[raw.found.df == 0].sum()) / total,
        "gap": float(late[asked].max() - late.max()) if asked.any() else 0.0,
    }


def support(found: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The logistic of the weighted signals; 0 without any hit."""
    if not found:
        return 0.0
    z = weights.get("intercept", 0.0) + sum(
        weights.get(name, 0.0) * value for name, value in found.items()
    )
    return float(1 / (1 + np.exp(-z)))

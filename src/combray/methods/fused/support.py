"""How likely the bank holds an answer, from raw signals that compare across queries and banks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from combray.index.lexical import idf
from combray.methods.fused.features import Columns, Signals
from combray.model import Query

_TOP = 10


def support_signals(
    query: Query,
    raw: Signals,
    rows: NDArray[np.int64],
    columns: Columns,
    best: NDArray[np.int64],
) -> dict[str, float]:
    """Raw signals of the best hits.

    Returns:
        ``late``: the best late interaction; ``cosine``: the best cosine; ``coverage``: the share of the query's idf
        that the best turn's terms hold; ``known``: the share that any turn holds; ``speaker``: whether the best hits
        are spoken by the person asked about.
    """
    if not len(best):
        return {}
    top = rows[best[:_TOP]]
    late = columns.get("late", np.zeros(len(rows))) + columns.get("late_chat", np.zeros(len(rows)))
    n = len(raw.bm25)
    weights = idf(raw.found.df, n)
    total = float(weights.sum())
    held = np.isin(raw.found.row, top)
    by_turn = np.bincount(
        np.searchsorted(np.sort(top), raw.found.row[held]),
        weights=weights[raw.found.term[held]],
        minlength=len(top),
    )
    known = float(weights[raw.found.df > 0].sum())
    return {
        "late": float(late[best[:_TOP]].max()),
        "cosine": float(raw.cosine[top].max()),
        "coverage": float(by_turn.max()) / total if total else 0.0,
        "known": known / total if total else 0.0,
    }


def support(found: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The logistic of the weighted signals; 0 without any hit."""
    if not found:
        return 0.0
    z = weights.get("intercept", 0.0) + sum(
        weights.get(name, 0.0) * value for name, value in found.items()
    )
    return float(1 / (1 + np.exp(-z)))

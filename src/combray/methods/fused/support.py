"""How likely the bank holds an answer, from raw signals that compare across queries and banks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from combray.index.lexical import idf
from combray.index.view import BankView
from combray.methods.fused.asked import time_alone
from combray.methods.fused.features import Columns, Signals
from combray.model import Query
from combray.text.questions import time_terms

_TOP = 10
_HALF_SIZE = 1000.0


def support_signals(
    query: Query,
    view: BankView,
    raw: Signals,
    *,
    columns: Columns,
    rows: NDArray[np.int64],
    best: NDArray[np.int64],
) -> dict[str, float]:
    """Raw signals of the best hits.

    In a small bank a word that nobody used says nothing: the answer may be in other words. What a bank does not know
    counts therefore by the size of what has been said in it.

    Args:
        query: the question.
        view: the bank.
        raw: of the query.
        columns: features of the candidates.
        rows: the candidates, shape (m,).
        best: the hits, as indices into `rows`, best first.

    Returns:
        ``late``: the best late interaction among the best hits; ``cosine``: the best cosine; ``coverage``: the largest
        share of the query's idf that one of them holds; ``unknown``: the share of it that no turn holds, times the
        size; ``size``: 0…1, 1/2 at 1,000 terms said; ``gap``: how far the best turn of the people asked about stays
        behind the best of all; ``time``: 1 where a candidate was said in the query's time, about 0 ten days after it, -1
        where none was till months after it, times how much the time is all it asks for. Words of a resolved time count for none but the last. Empty without hits.
    """
    if not len(best):
        return {}
    top = best[:_TOP]
    late = columns.get("late", np.zeros(len(rows))) + columns.get("late_chat", np.zeros(len(rows)))
    asked = columns["speaker"] > 0
    coverage, unknown = _shares(query, raw, rows[top])
    said = float(view.columns.n_terms.sum())
    size = said / (said + _HALF_SIZE)
    return {
        "late": float(late[top].max()),
        "cosine": float(raw.cosine[rows[top]].max()),
        "coverage": coverage,
        "unknown": unknown * size,
        "size": size,
        "gap": float(late[asked].max() - late.max()) if asked.any() else 0.0,
        "time": _timely(float(columns["time"].max())) * time_alone(query, view),
    }


def _timely(near: float) -> float:
    """-1…1 from how near the nearest turn is: a time that nobody spoke in may still be told of weeks later."""
    return near - (1 - float(np.sqrt(np.sqrt(near))))


def _shares(query: Query, raw: Signals, top: NDArray[np.int64]) -> tuple[float, float]:
    """The largest share of the query's idf that one of the rows holds, and the share that no turn holds."""
    found, n = raw.found, len(raw.bm25)
    dated = time_terms(query.analysis)
    timeless = np.array([term not in dated for term in found.terms], dtype=np.float64)
    weights = idf(found.df, n) * timeless
    total = max(float(weights.sum()), 1e-9)
    place = np.full(n, -1)
    place[top] = np.arange(len(top))
    own = place[found.row]
    share = weights[found.term[own >= 0]]
    held = np.bincount(own[own >= 0], weights=share, minlength=len(top))
    return float(held.max()) / total, float(weights[found.df == 0].sum()) / total


def support(found: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The logistic of the weighted signals; 0 without any hit, and where there is neither a word, a meaning nor a time to go by."""
    if not found or not (found["cosine"] or found["coverage"] or found["time"] > 0):
        return 0.0
    z = weights.get("intercept", 0.0) + sum(
        weights.get(name, 0.0) * value for name, value in found.items()
    )
    return float(1 / (1 + np.exp(-z)))

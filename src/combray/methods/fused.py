"""The default: channels without a model, combined as weighted calibrated scores."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from combray.index.dense import cosine
from combray.index.late import max_sim
from combray.index.lexical import bm25_turns, matches, peak_normalised
from combray.index.topk import top_k
from combray.methods.base import Evidence, Ranking
from combray.model import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedParams:
    """Weights of the channels (provisional)."""

    lexical: float = 1.0
    dense: float = 1.0
    late: float = 2.0
    abstain_below: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """The method `fused`."""

    params: FusedParams = field(default_factory=FusedParams)
    name: str = "fused"
    default_k: int = 50
    default_budget_tokens: int = 1024

    def rank(self, query: Query, evidence: Evidence) -> Ranking:
        """Turns by the weighted sum of their channels."""
        view, p = evidence.view, self.params
        found = matches(evidence.read, "term", query.analysis.terms, view)
        channels = {"lexical": peak_normalised(bm25_turns(found, view, k1=1.2, b=0.75))}
        if query.vector is not None:
            channels["dense"] = cosine(query.vector, view)
        if query.tokens is not None:
            channels["late"] = max_sim(query.tokens, view, np.arange(view.n))
        weights = {"lexical": p.lexical, "dense": p.dense, "late": p.late}
        total = np.zeros(view.n)
        for name, scores in channels.items():
            total += weights[name] * scores
        scores = evidence.masked(np.where(total > 0, total, -np.inf))
        rows = top_k(scores, query.k)
        return Ranking(
            rows=rows,
            scores=scores[rows],
            channels={name: values[rows] for name, values in channels.items()},
            contributions={name: weights[name] * values[rows] for name, values in channels.items()},
            weights=weights,
            support=float(min(max(scores[rows[0]] / 4, 0), 1)) if len(rows) else 0.0,
        )

"""Rank by a linear score over calibrated features, in two stages.

A first stage scores all turns by words, sentence vectors and structure; late interaction is then computed for the
best of them, and the final score ranks those.

Source: own work; late interaction after Khattab and Zaharia 2020. Reciprocal rank fusion (Cormack et al. 2009) was
measured and is worse: docs/adr/0005-weighted-fusion.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from combray.index.topk import top_k
from combray.methods.base import Evidence, Ranking
from combray.methods.fused.features import (
    Columns,
    Signals,
    first_features,
    late_features,
    signals,
)
from combray.methods.fused.params import CHANNELS, FusedParams
from combray.methods.fused.support import support, support_signals
from combray.model import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """The method `fused`."""

    params: FusedParams = field(default_factory=FusedParams)
    name: str = "fused"
    default_k: int | None = None
    default_budget_tokens: int = 1024

    def rank(self, query: Query, evidence: Evidence) -> Ranking:
        """Turns by the weighted sum of their features; all of a small bank, the best of a large one."""
        p, view = self.params, evidence.view
        raw = signals(query, evidence, p)
        columns = first_features(query, evidence, raw, p)
        late = query.tokens is not None and view.offsets[-1] > 0 and "late" not in p.off
        if not late:
            weights = p.active(p.weights.words if query.vector is None else p.weights.first)
            rows = self._rankable(raw, columns["time"], evidence)
            columns = {name: values[rows] for name, values in columns.items()}
        else:
            first = _total(columns, p.active(p.weights.first), view.n)
            rows = self._candidates(
                evidence.masked(first), raw, evidence, max(2 * query.k, p.candidates)
            )
            columns = {name: values[rows] for name, values in columns.items()}
            columns |= late_features(query, evidence, raw, rows, p)
            weights = p.active(p.weights.final)
        total = _total(columns, weights, len(rows))
        best = top_k(total, query.k)
        found = support_signals(query, view, raw, columns=columns, rows=rows, best=best)
        return Ranking(
            rows=rows[best],
            scores=total[best],
            channels=_channels(columns, best),
            contributions=_contributions(columns, weights, best),
            weights=weights,
            signals=found,
            support=support(found, p.weights.support if late else p.weights.support_words),
        )

    def _rankable(
        self, raw: Signals, time: NDArray[np.float64], evidence: Evidence
    ) -> NDArray[np.int64]:
        """The rows that may be ranked, if any has a word of the query, a vector, or its time, or the bank is small.

        All of them, since the neighbours of a matching turn may hold the evidence: LoCoMo's recall at 10 by words alone is
        .77 with them and .72 without (held-out half).
        """
        view, allowed = evidence.view, evidence.allowed
        if view.n > self.params.candidates:
            held = (raw.bm25 > 0) | (view.embedded & (raw.cosine != 0)) | (time > 0)
            if not (held if allowed is None else held & allowed).any():
                return np.zeros(0, dtype=np.int64)
        return np.arange(view.n) if allowed is None else np.flatnonzero(allowed)

    def _candidates(
        self, first: NDArray[np.float64], raw: Signals, evidence: Evidence, size: int
    ) -> NDArray[np.int64]:
        """The rows whose late interaction is worth its time, ascending.

        The best of the first stage, and some of the best by each of its two main scores alone; then as many of them
        as the bound on token vectors allows.
        """
        view = evidence.view
        best = top_k(first, size)
        if size < view.n:
            alone = [top_k(evidence.masked(scores), size // 4) for scores in (raw.cosine, raw.bm25)]
            best = np.concatenate([best, np.setdiff1d(np.concatenate(alone), best)])
        lengths = np.cumsum(np.diff(view.offsets)[best])
        room = max(int(np.searchsorted(lengths, self.params.candidate_tokens)), 16)
        return np.sort(best[:room])


def _total(columns: Columns, weights: Mapping[str, float], n: int) -> NDArray[np.float64]:
    total = np.zeros(n)
    for name, weight in weights.items():
        if name in columns:
            total += weight * columns[name]
    return total


def _channels(columns: Columns, best: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """The value of each feature, by name."""
    return {name: values[best] for name, values in columns.items() if values[best].any()}


def _contributions(
    columns: Columns, weights: Mapping[str, float], best: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """What each channel adds to the score."""
    shares: dict[str, NDArray[np.float64]] = {}
    for channel, features in CHANNELS.items():
        own = [weights[f] * columns[f][best] for f in features if f in columns and f in weights]
        if own:
            shares[channel] = np.sum(own, axis=0)
    return shares

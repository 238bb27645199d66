"""One channel alone, as a baseline: plain BM25, sentence vectors, or late interaction."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from combray.errors import ConfigError
from combray.index.dense import cosine
from combray.index.late import max_sim
from combray.index.lexical import bm25_turns, matches
from combray.index.topk import top_k
from combray.methods.base import Evidence, Ranking
from combray.model import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleParams:
    """Numbers of the baselines.

    Attributes:
        k1: BM25 saturation; Lucene's default.
        b: BM25 length normalisation; Lucene's default.
    """

    k1: float = 1.2
    b: float = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """The methods `bm25`, `dense` and `late`.

    Attributes:
        channel: which of the three.
        params: its numbers.
    """

    channel: str
    params: SingleParams = field(default_factory=SingleParams)
    default_k: int | None = None
    default_budget_tokens: int = 1024

    def __post_init__(self) -> None:
        if self.channel not in {"bm25", "dense", "late"}:
            raise ConfigError(f"{self.channel!r} is not a channel; use bm25, dense or late.")

    @property
    def name(self) -> str:
        """The channel's name."""
        return self.channel

    def rank(self, query: Query, evidence: Evidence) -> Ranking:
        """All turns with a score, best first; nothing where the channel has nothing to go by."""
        scores = evidence.masked(self._scores(query, evidence))
        rows = top_k(scores, query.k)
        return Ranking(rows=rows, scores=scores[rows], channels={self.channel: scores[rows]})

    def _scores(self, query: Query, evidence: Evidence) -> NDArray[np.float64]:
        view = evidence.view
        if self.channel == "bm25":
            found = matches(evidence.read, "term", query.analysis.terms, view)
            scores = bm25_turns(found, view, k1=self.params.k1, b=self.params.b)
            return np.where(scores > 0, scores, -np.inf)
        if self.channel == "dense" and query.vector is not None:
            return np.where(view.embedded, cosine(query.vector, view), -np.inf)
        if self.channel == "late" and query.tokens is not None:
            scores = max_sim(query.tokens, view, np.arange(view.n))
            return np.where(np.diff(view.offsets) > 0, scores, -np.inf)
        return np.full(view.n, -np.inf)

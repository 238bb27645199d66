"""Where the association starts: the facts that the query finds, and those that the events it finds add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

import numpy as np
from numpy.typing import NDArray

from combray.index.facts import FactView, row_of
from combray.index.topk import best
from combray.methods.atom.params import AtomParams
from combray.model import TimeSpan
from combray.model.time import to_micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """How like the query each record is.

    Attributes:
        cosine: of the vectors, 0 where there is none, shape (n,).
        keyword: Jaccard similarity of the keywords, shape (n,).
        score: S_h, shape (n,).
    """

    cosine: NDArray[np.float64]
    keyword: NDArray[np.float64]
    score: NDArray[np.float64]


def similarity(
    view: FactView,
    vector: NDArray[np.float32] | None,
    keywords: Sequence[str],
    params: AtomParams,
) -> Similarity:
    """S_h = α · cos + β · Jaccard of every record.

    Source:
        AtomMem, equation 2; a side without keywords counts 0 (released code).
    """
    cosine = np.zeros(view.n)
    if vector is not None and view.records.vectors.shape[1] == len(vector):
        cosine = (view.records.vectors @ vector).astype(np.float64)
    keyword = np.zeros(view.n)
    found = view.by_keyword[view.columns_of(keywords)].indices
    if len(found):
        rows, shared = np.unique(found, return_counts=True)
        sizes = np.diff(view.keywords.indptr)[rows] + len(set(keywords)) - shared
        keyword[rows] = shared / sizes
    score = params.cosine_weight * cosine + params.keyword_weight * keyword
    return Similarity(cosine=cosine, keyword=keyword, score=score)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the query restricts facts and events to.

    Attributes:
        people: columns of the people it is about; none means anybody.
        times: it is about; none means any.
        named: whether it names people, known or not.
    """

    people: NDArray[np.int64]
    times: tuple[TimeSpan, ...]
    named: bool

    def people_fit(self, view: FactView) -> NDArray[np.bool_]:
        """Records about one of the people, shape (n,)."""
        return view.with_people(self.people) if self.named else np.ones(view.n, dtype=np.bool_)

    def facts_fit(self, view: FactView, said_at: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Facts that tell of a time within one of the query's, or were said in one, shape (n,).

        Source:
            AtomMem, released code: the time told, or the date of the session, begins with the query's.
        """
        if not self.times:
            return np.ones(view.n, dtype=np.bool_)
        fit = np.zeros(view.n, dtype=np.bool_)
        dated = view.about_start < view.about_end
        for span in self.times:
            start, end = calendar(span)
            fit |= dated & (view.about_start >= start) & (view.about_end <= end)
            fit |= (said_at >= to_micros(span.start)) & (said_at < to_micros(span.end))
        return fit

    def events_fit(self, view: FactView) -> NDArray[np.bool_]:
        """Records that tell of a stretch which meets one of the query's times, shape (n,)."""
        if not self.times:
            return np.ones(view.n, dtype=np.bool_)
        fit = np.zeros(view.n, dtype=np.bool_)
        for start, end in map(calendar, self.times):
            fit |= (view.about_start < end) & (view.about_end > start)
        return fit


def calendar(span: TimeSpan) -> tuple[int, int]:
    """Start and end by the calendar, as facts have their dates, whatever the zone."""
    return to_micros(span.start.replace(tzinfo=UTC)), to_micros(span.end.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeds:
    """Facts that the association starts from.

    Attributes:
        rows: of the view, shape (s,), without repeats: first those of the query, then those of the events.
        scores: shape (s,).
        event: best score of an event of each fact in the view, 0 without, shape (n,).
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    event: NDArray[np.float64]

    def restart(self, params: AtomParams) -> NDArray[np.float64]:
        """Chance of starting at each seed, shape (s,); adds up to 1.

        Source:
            AtomMem, equation 9; the bonus by rank is the released code's.
        """
        bonus = params.seed_rank_bonus / np.arange(1, len(self.rows) + 1)
        raised = np.maximum(self.scores + bonus, 0.0)
        if not raised.any():
            return np.full(len(self.rows), 1 / len(self.rows))
        powers = (raised / raised.max()) ** params.seed_exponent
        chances: NDArray[np.float64] = powers / powers.sum()
        return chances


def seeds(
    view: FactView,
    like: Similarity,
    facts: NDArray[np.bool_],
    events: NDArray[np.bool_],
    params: AtomParams,
) -> Seeds:
    """The facts nearest to the query, and the best of those that the nearest events add.

    Args:
        view: the bank's records.
        like: how like the query they are.
        facts: rows of facts that may be seeds, shape (n,).
        events: rows of events that may lead to some, shape (n,).
        params: numbers.

    Source:
        AtomMem, section 3.4: primary and compensatory seeds, the latter by w_e · event + (1 − w_e) · S_h.
    """
    primary = best(like.score, facts, params.n_primary)
    nearest = best(like.score, events, params.n_compensatory)
    event = np.zeros(view.n)
    reached = np.zeros(view.n, dtype=np.bool_)
    for row in nearest[::-1].tolist():
        members = row_of(view.members, row)
        # From the worst event to the best one, so that the best one's score stays.
        event[members] = like.score[row]
        reached[members] = True
    reached &= facts
    reached[primary] = False
    fused = params.event_weight * event + (1 - params.event_weight) * like.score
    added = best(fused, reached, params.n_compensatory)
    rows = np.concatenate([primary, added])
    scores = np.concatenate([like.score[primary], fused[added]])
    return Seeds(rows=rows, scores=scores, event=event)

"""The features of turns for a query, as columns; what they mean is in docs/methods/fused.md.

No feature depends on which turns are candidates: values are raw, or over the query's maximum in the bank.
The main ones weigh differently where people chat in short turns: they come in two, scaled by how much the bank looks
like that. Features of structure (neighbours, episode) help there alone, and fade out with long turns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from combray.index.dense import cosine
from combray.index.late import best_matches
from combray.index.lexical import Matches, bm25_sessions, bm25_turns, matches, peak_normalised
from combray.index.view import BankView
from combray.methods.base import Evidence
from combray.methods.fused.asked import (
    is_message,
    name_terms,
    said_in_time,
    spoken_by,
    time_alone,
    token_weights,
)
from combray.methods.fused.params import FusedParams
from combray.model import Query
from combray.text.questions import thin_terms, time_terms

Columns = dict[str, NDArray[np.float64]]

_LONGEST_COUNTED = 100
_SESSIONS_AGO = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """Raw scores of a query, before they become features.

    Attributes:
        found: postings of all terms of the query.
        bm25: of turns, without the names of speakers, shape (n,).
        cosine: of turns, shape (n,).
        chat: 0…1, how much the bank looks like people chatting in short turns.
    """

    found: Matches
    bm25: NDArray[np.float64]
    cosine: NDArray[np.float64]
    chat: float


def signals(query: Query, evidence: Evidence, params: FusedParams) -> Signals:
    """Read the postings and score all turns by words and by sentence vector."""
    view = evidence.view
    found = matches(evidence.read, "term", query.analysis.terms, view)
    vector = query.vector
    return Signals(
        found=found,
        bm25=bm25_turns(telling(query, found, view), view, k1=params.k1, b=params.b),
        cosine=cosine(vector, view) if vector is not None else np.zeros(view.n),
        chat=chattiness(view, params),
    )


def telling(query: Query, found: Matches, view: BankView) -> Matches:
    """The postings without those of speakers' names, which most questions hold and most turns do not.

    Where the question names a time, also without those of words such as "happened" and "talked", and where it asks for
    nothing else, without those of the time itself: "last month" is not about months.
    """
    left_out = frozenset[str]().union(*name_terms(view.columns.speakers))
    if query.analysis.spans:
        left_out |= thin_terms()
    if time_alone(query, view) == 1:
        left_out |= time_terms(query.analysis)
    own = np.array([term in left_out for term in found.terms], dtype=np.bool_)
    if not own.any() or (own.all() and not query.analysis.spans):
        return found
    kept = ~own[found.term]
    return Matches(
        terms=found.terms,
        term=found.term[kept],
        row=found.row[kept],
        tf=found.tf[kept],
        df=np.where(own, 0, found.df),
    )


def chattiness(view: BankView, params: FusedParams) -> float:
    """1 for short turns, 0 for long ones, by the mean number of terms."""
    if not view.n:
        return 0.0
    mean = float(np.minimum(view.columns.n_terms, _LONGEST_COUNTED).mean())
    span = params.long_terms - params.chat_terms
    return min(max((params.long_terms - mean) / span, 0.0), 1.0)


def first_features(query: Query, evidence: Evidence, raw: Signals, params: FusedParams) -> Columns:
    """All features but those of late interaction, each of shape (n,)."""
    view, chat = evidence.view, raw.chat
    lexical, dense = peak_normalised(raw.bm25), raw.cosine
    session = view.session
    found = telling(query, raw.found, view)
    sessions = peak_normalised(bm25_sessions(found, view, k1=params.k1, b=params.b))
    return {
        "lexical": (1 - chat) * lexical,
        "lexical_chat": chat * lexical,
        "dense": (1 - chat) * dense,
        "dense_chat": chat * dense,
        "previous_lexical": chat * _beside(lexical, view.previous),
        "previous_dense": chat * _beside(dense, view.previous),
        "next_dense": chat * _beside(dense, view.next),
        "session_bm25": chat * sessions[session],
        "session_lexical": chat * (_session_best(lexical, view)[session] - lexical),
        "session_dense": chat * (_session_best(dense, view)[session] - dense),
        "rare_hubs": _rare_hubs(found, view, params),
        "speaker": spoken_by(query.text, view),
        "time": said_in_time(query, view),
        "question": (view.columns.question & _by_people(view)).astype(np.float64),
        "recency": _recency(query, evidence),
    }


def late_features(
    query: Query,
    evidence: Evidence,
    raw: Signals,
    candidates: NDArray[np.int64],
    params: FusedParams,
) -> Columns:
    """The features of late interaction, each of shape (len(candidates),).

    Args:
        query: with token vectors.
        evidence: the bank.
        raw: of the query.
        candidates: rows, ascending.
        params: numbers.
    """
    view, chat = evidence.view, raw.chat
    assert query.tokens is not None
    weights = token_weights(query, raw.found, view, params.stop_word_weight)
    before = view.previous[candidates]
    held = before >= 0
    pool = np.union1d(candidates, before[held])
    best = best_matches(query.tokens, view, pool)
    score = (best @ weights).astype(np.float64)
    at = np.searchsorted(pool, candidates)
    late, joined = score[at], best[at]
    joined[held] = np.maximum(joined[held], best[np.searchsorted(pool, before[held])])
    gain = (joined @ weights).astype(np.float64) - late
    sessions = np.full(view.n_sessions, -1.0)
    np.maximum.at(sessions, view.session[pool], score)
    above = sessions[view.session[candidates]] - late
    return {
        "late": (1 - chat) * late,
        "late_chat": chat * late,
        "late_with_previous": chat * gain,
        "session_late": chat * above,
    }


def _beside(scores: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(rows >= 0, scores[rows], 0.0)


def _session_best(scores: NDArray[np.float64], view: BankView) -> NDArray[np.float64]:
    best = np.full(view.n_sessions, -np.inf)
    np.maximum.at(best, view.session, scores)
    return best


def _rare_hubs(found: Matches, view: BankView, params: FusedParams) -> NDArray[np.float64]:
    low, high = params.rare_hub
    rare = (found.df >= low) & (found.df <= high)
    held = rare[found.term]
    weight = 1.0 / found.df[found.term[held]]
    hubs = np.bincount(found.row[held], weights=weight, minlength=view.n).astype(np.float64)
    return peak_normalised(hubs)


def _by_people(view: BankView) -> NDArray[np.bool_]:
    named = np.array([bool(own) for own in name_terms(view.columns.speakers)], dtype=np.bool_)
    return named[view.columns.speaker] if len(named) else np.zeros(view.n, dtype=np.bool_)


def _recency(query: Query, evidence: Evidence) -> NDArray[np.float64]:
    """How recent the session is, for a query that continues a dialogue; shape (n,).

    Sessions are counted back from the last one that the query may see.
    """
    view = evidence.view
    if not is_message(query.text) or not view.n:
        return np.zeros(view.n)
    last = np.full(view.n_sessions, np.iinfo(np.int64).min)
    seen = slice(None) if evidence.allowed is None else evidence.allowed
    np.maximum.at(last, view.session[seen], view.columns.said_at[seen])
    ago = np.empty(view.n_sessions)
    newest_first = np.lexsort((np.arange(view.n_sessions), last))[::-1]
    ago[newest_first] = np.arange(view.n_sessions)
    return np.exp(-ago / _SESSIONS_AGO)[view.session]

"""The three views of a bank's units: by meaning, by words, and by whom, what, where and when they concern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from combray.index.lexical import idf
from combray.index.records import RecordView


class RecordPostings(Protocol):
    """Where terms occur among a method's records.

    Attributes:
        term: shape (m,), index into the terms that were asked for.
        record: shape (m,), number of the record.
        tf: shape (m,), how often.
        length: shape (m,), terms of the record.
        n: records that have terms.
        mean_length: of those.
    """

    @property
    def term(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def record(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def tf(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def length(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def mean_length(self) -> float: ...  # noqa: D102


ReadRecordPostings = Callable[[Sequence[str]], RecordPostings]
"""Terms to postings: a store's `record_postings` with bank and method filled in."""


def dense(view: RecordView, queries: NDArray[np.float32]) -> NDArray[np.float64]:
    """The best cosine of each unit with one of the queries, shape (n,).

    Args:
        view: of the units.
        queries: unit norm, shape (q, d).

    Source:
        SimpleMem, section 2.3, R_sem.  Deviation: the best of several queries.
    """
    best: NDArray[np.float64] = (view.vectors @ queries.T).max(axis=1).astype(np.float64)
    return best


def lexical(
    view: RecordView, read: ReadRecordPostings, terms: Sequence[str], *, k1: float, b: float
) -> NDArray[np.float64]:
    """BM25 of each unit, shape (n,); minus infinity where no term occurs.

    Source:
        SimpleMem, section 2.3, R_lex, in Lucene's form (see `combray.index.lexical`).  Deviation: the index is never stale.
    """
    scores = np.full(view.n, -np.inf)
    distinct = tuple(dict.fromkeys(terms))
    if not distinct or not view.n:
        return scores
    found = read(distinct)
    row = view.rows(found.record)
    held = row >= 0
    row, term, tf = row[held], found.term[held], found.tf[held].astype(np.float64)
    df = np.bincount(term, minlength=len(distinct)).astype(np.int64)
    norm = k1 * (1 - b + b * found.length[held] / max(found.mean_length, 1e-9))
    weight = idf(df, max(found.n, view.n))[term] * tf / (tf + norm)
    summed = np.bincount(row, weights=weight, minlength=view.n)
    return np.where(summed > 0, summed, scores)


def shares(rankings: Sequence[NDArray[np.int64]], n: int, constant: float) -> NDArray[np.float64]:
    """What each ranking adds to the score of each row, shape (len(rankings), n): the reciprocal of constant plus rank.

    Args:
        rankings: rows, best first.
        n: rows that there are.
        constant: added to each rank.

    Source:
        SimpleMem, section 2.3: C_q = R_sem ∪ R_lex ∪ R_sym; Cormack, Clarke and Büttcher 2009 for the order, of which the paper says
        nothing.

    >>> shares([np.array([2, 0]), np.array([0])], 3, 1.0).round(2).tolist()
    [[0.33, 0.0, 0.5], [0.5, 0.0, 0.0]]
    """
    found = np.zeros((len(rankings), n))
    for share, ranking in zip(found, rankings, strict=True):
        share[ranking] = 1 / (constant + 1 + np.arange(len(ranking)))
    return found

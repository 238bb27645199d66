"""BM25 over turns and over sessions, from the postings of the query's terms alone.

The statistics are the bank's own: the document frequency of a term is the number of its postings, so nothing can
drift, and another bank's words move nothing.

Source: Robertson and Zaragoza 2009, in Lucene's form: idf = ln(1 + (N - df + .5) / (df + .5)), and the term weight
tf / (tf + k1 (1 - b + b len / avglen)) without the constant factor k1 + 1, so that a term's share is at most its idf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from combray.index.view import BankView
from combray.store.base import Postings

ReadPostings = Callable[[str, Sequence[str]], Postings]
"""Kind and terms to postings: a store's `postings` with the bank filled in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """Postings of a query's terms, by row of a view.

    Attributes:
        terms: the distinct terms of the query, in its order.
        term: shape (m,), index into `terms`.
        row: shape (m,).
        tf: shape (m,).
        df: number of rows of each term, shape (len(terms),).
    """

    terms: tuple[str, ...]
    term: NDArray[np.int64]
    row: NDArray[np.int64]
    tf: NDArray[np.float64]
    df: NDArray[np.int64]


def matches(read: ReadPostings, kind: str, terms: Sequence[str], view: BankView) -> Matches:
    """The postings of the distinct terms, as rows of the view.

    Postings of turns that were stored after the view was read are left out, so that scores and view agree.
    """
    distinct = tuple(dict.fromkeys(terms))
    found = read(kind, distinct)
    row = view.rows(found.doc)
    held = row >= 0
    term = found.term[held].astype(np.int64)
    return Matches(
        terms=distinct,
        term=term,
        row=row[held],
        tf=found.tf[held].astype(np.float64),
        df=np.bincount(term, minlength=len(distinct)),
    )


def idf(df: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Lucene's inverse document frequency, never negative; shape of `df`."""
    return np.log1p((n - df + 0.5) / (df + 0.5))


def bm25_turns(found: Matches, view: BankView, *, k1: float, b: float) -> NDArray[np.float64]:
    """BM25 of every turn, shape (n,); 0 where no term occurs.

    Args:
        found: postings of the query's terms.
        view: the bank.
        k1: saturation of term counts.
        b: strength of length normalisation, 0 to 1.
    """
    if not len(found.row):
        return np.zeros(view.n)
    lengths = view.columns.n_terms
    norm = k1 * (1 - b + b * lengths[found.row] / max(float(lengths.mean()), 1e-9))
    weight = idf(found.df, view.n)[found.term] * found.tf / (found.tf + norm)
    return np.bincount(found.row, weights=weight, minlength=view.n).astype(np.float64, copy=False)


def bm25_sessions(found: Matches, view: BankView, *, k1: float, b: float) -> NDArray[np.float64]:
    """BM25 of every session, taken as one document, shape (n_sessions,)."""
    n = view.n_sessions
    if not len(found.row):
        return np.zeros(n)
    cell = found.term * n + view.session[found.row]
    tf = np.bincount(cell, weights=found.tf, minlength=len(found.terms) * n).reshape(-1, n)
    lengths = np.bincount(view.session, weights=view.columns.n_terms, minlength=n)
    norm = k1 * (1 - b + b * lengths / max(float(lengths.mean()), 1e-9))
    df = np.count_nonzero(tf, axis=1)
    result: NDArray[np.float64] = (idf(df, n)[:, None] * tf / (tf + norm)).sum(axis=0)
    return result


def peak_normalised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores over their largest; unchanged where none is positive."""
    peak = scores.max(initial=0.0)
    return scores / peak if peak > 0 else scores

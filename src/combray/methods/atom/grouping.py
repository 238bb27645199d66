"""Events without a model: a fact and those most like it that may be about the same people.

The facts with the most and nearest neighbours are centres, in turn, as long as no event has them yet; an event is a centre with its
neighbours. A fact is the centre of one event at most and may be a member of several. No more links are held than `max_facts` for each fact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from combray.errors import InvalidInput
from combray.methods.atom.similar import jaccard, sharing

_BLOCK = 256
"""Facts compared with all others at once."""

_DIGITS = 6
"""Of a sum of similarities: what depends on the order of adding must not decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupingParams:
    """How facts are grouped without a model.

    Attributes:
        similarity: S_h from which two facts may belong together; chosen on the five tuning conversations of LoCoMo, where recall hardly
            depends on it from .3 to .45 and falls above.
        max_facts: most facts of an event; the better the fewer, on the same conversations.
        cosine_weight: α of S_h.
        keyword_weight: β of S_h.
    """

    similarity: float = 0.4
    max_facts: int = 3
    cosine_weight: float = 0.7
    keyword_weight: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < self.similarity <= 1:
            raise InvalidInput(f"similarity must lie between 0 and 1, not be {self.similarity}.")
        if self.max_facts < 2:
            raise InvalidInput(f"an event has at least 2 facts, not {self.max_facts}.")


def grouped(
    vectors: NDArray[np.float32],
    keywords: csr_array,
    people: csr_array,
    params: GroupingParams,
) -> Iterator[tuple[int, ...]]:
    """The events as rows of their facts: the centre, then its neighbours, the nearest first.

    Args:
        vectors: of the facts, unit length, shape (n, d).
        keywords: ones, shape (n, V); rows are sets.
        people: ones, shape (n, P); rows are sets.
        params: numbers.

    Source:
        Aslam, Pelekhov and Rus 2004, "The star clustering algorithm for static and dynamic information organization", over S_h of AtomMem,
        equation 2.  Deviation: a star has its nearest neighbours alone, and centres are taken by the sum of their similarities, so that
        events stay small; AtomMem asks a model (algorithm 1).
    """
    links = nearest(vectors, keywords, people, params)
    weight = np.round(links.sum(axis=1), _DIGITS)
    taken = np.zeros(links.shape[0], dtype=np.bool_)
    for centre in np.lexsort((np.arange(len(weight)), -weight)).tolist():
        members = links.indices[links.indptr[centre] : links.indptr[centre + 1]]
        if len(members) and not taken[centre]:
            taken[centre] = True
            taken[members] = True
            yield (centre, *members.tolist())


def nearest(
    vectors: NDArray[np.float32],
    keywords: csr_array,
    people: csr_array,
    params: GroupingParams,
) -> csr_array:
    """The facts most like each fact, at most `max_facts` − 1, by S_h, shape (n, n); columns from the most like on, ties by row."""
    blocks = [
        _strongest(vectors, keywords, people, slice(start, start + _BLOCK), params)
        for start in range(0, len(vectors), _BLOCK)
    ]
    return csr_array(vstack(blocks)) if blocks else csr_array((0, 0), dtype=np.float32)


def _strongest(
    vectors: NDArray[np.float32],
    keywords: csr_array,
    people: csr_array,
    block: slice,
    params: GroupingParams,
) -> csr_array:
    scores = params.cosine_weight * (vectors[block] @ vectors.T)
    shared = jaccard(keywords[block], keywords)
    rows = np.repeat(np.arange(len(scores)), np.diff(shared.indptr))
    scores[rows, shared.indices] += params.keyword_weight * shared.data
    scores[~sharing(people[block], people)] = 0
    own = np.arange(len(scores))
    scores[own, own + block.start] = 0
    # Equal facts must not differ by the order in which a product was summed.
    scores = np.round(scores, _DIGITS)
    row, column = np.nonzero(scores >= params.similarity)
    weight = scores[row, column]
    order = np.lexsort((column, -weight, row))
    row, column, weight = row[order], column[order], weight[order]
    kept = np.arange(len(row)) - np.searchsorted(row, row) < params.max_facts - 1
    pointers = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=len(scores)))])
    return csr_array((weight[kept], column[kept], pointers), shape=scores.shape)

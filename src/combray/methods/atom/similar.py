"""How near facts are to each other: S_h, and who they are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from combray.index.facts import FactView
from combray.methods.atom.params import AtomParams

_BLOCK = 32
"""Facts compared at once: as many dense rows over the bank."""


@dataclass(frozen=True, slots=True)
class Near:
    """One fact, and how near all others are.

    Attributes:
        number: of the fact.
        cosines: shape (n,), by row of the view.
        scores: S_h, shape (n,).
        fellows: whether the other is about people that this one may be about, shape (n,).
    """

    number: int
    cosines: NDArray[np.float32]
    scores: NDArray[np.float32]
    fellows: NDArray[np.bool_]


def near(view: FactView, numbers: Sequence[int], params: AtomParams) -> Iterator[Near]:
    """For each of the facts how near all facts of the view are; those that the view does not hold are passed over.

    Source:
        AtomMem, equation 2: S_h = α · cos + β · Jaccard of the keywords, 0 where one has none; people are compatible unless both
        facts name some and share none.
    """
    rows = view.records.rows(np.asarray(numbers, dtype=np.int64))
    rows = rows[rows >= 0]
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        cosines = view.records.vectors[block] @ view.records.vectors.T
        jaccards = jaccard(view.keywords[block], view.keywords)
        fellows = sharing(view.people[block], view.people)
        for i, row in enumerate(block.tolist()):
            scores = params.cosine_weight * cosines[i]
            shared = slice(jaccards.indptr[i], jaccards.indptr[i + 1])
            scores[jaccards.indices[shared]] += params.keyword_weight * jaccards.data[shared]
            yield Near(int(view.records.number[row]), cosines[i], scores, fellows[i])


def jaccard(some: csr_array, others: csr_array) -> csr_array:
    """Shared over all keywords, where any is shared, shape (m, n); rows are sets, as ones."""
    shared = csr_array(some @ others.T, dtype=np.float32)
    sizes, other_sizes = np.diff(some.indptr), np.diff(others.indptr)
    union = np.repeat(sizes, np.diff(shared.indptr)) + other_sizes[shared.indices] - shared.data
    shared.data = (shared.data / union).astype(np.float32)
    return shared


def sharing(some: csr_array, others: csr_array) -> NDArray[np.bool_]:
    """Whether two sets share a member or one of them is empty, shape (m, n)."""
    shared = csr_array(some @ others.T)
    found = np.zeros(shared.shape, dtype=np.bool_)
    found[np.repeat(np.arange(shared.shape[0]), np.diff(shared.indptr)), shared.indices] = True
    found[np.diff(some.indptr) == 0] = True
    found[:, np.diff(others.indptr) == 0] = True
    return found

"""Late interaction over bits against the plain formula."""

import numpy as np
import pytest

from combray.index.late import best_matches, sign_bits
from combray.index.view import Grower
from combray.store.base import BankState, Columns, Vectors

D = 64


def view_of(lengths, seed=0):
    rng = np.random.default_rng(seed)
    tokens = [rng.standard_normal((n, D)).astype(np.float32) for n in lengths]
    n = len(lengths)
    zeros = np.zeros(n, dtype=np.int64)
    columns = Columns(
        doc=np.arange(1, n + 1),
        session=zeros,
        position=np.arange(n),
        speaker=zeros.astype(np.int32),
        role=zeros.astype(np.int32),
        said_at=zeros,
        expires_at=zeros,
        n_terms=zeros.astype(np.int32),
        question=np.zeros(n, dtype=np.bool_),
        speakers=("a",),
        roles=("user",),
        sessions={0: "s"},
    )
    vectors = Vectors(
        doc=np.arange(1, n + 1),
        vectors=np.zeros((n, D), dtype=np.float16),
        tokens=np.concatenate([sign_bits(t) for t in tokens])
        if n
        else np.zeros((0, D // 8), np.uint8),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
    )
    grower = Grower("b", D)
    grower.extend(columns, vectors)
    state = BankState(revision=1, erase_epoch=0, embedder="e", dimension=D, n_turns=n)
    return grower.view(state), tokens


@pytest.mark.parametrize("lengths", [[3, 1, 7], [0, 2, 0], [1], [40_000, 5, 40_000, 2, 1]])
def test_bits_give_the_formula_up_to_rounding(lengths):
    view, tokens = view_of(lengths)
    query = np.random.default_rng(9).standard_normal((5, D)).astype(np.float32)
    query /= np.linalg.norm(query, axis=1, keepdims=True)
    rows = np.arange(len(lengths))
    found = best_matches(query, view, rows)
    for row, own in enumerate(tokens):
        signs = np.where(own > 0, 1, -1) / np.sqrt(D)
        expected = (signs @ query.T).max(axis=0) if len(own) else np.full(5, -1)
        np.testing.assert_allclose(found[row], expected, atol=0.01)


def test_only_the_rows_asked_for_are_scored():
    view, _ = view_of([3, 4, 5, 6])
    query = np.eye(D, dtype=np.float32)[:2]
    whole = best_matches(query, view, np.arange(4))
    np.testing.assert_array_equal(best_matches(query, view, np.array([1, 3])), whole[[1, 3]])


def test_a_query_without_tokens_scores_nothing():
    view, _ = view_of([3])
    assert best_matches(np.zeros((0, D), np.float32), view, np.arange(1)).shape == (1, 0)

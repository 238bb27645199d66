"""The walk with restart against another implementation of it."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from scipy.sparse import csr_array

from combray.index.walk import walk


def graph_of(seed, n, chance):
    """Random weights; rows add up to 1 or are empty."""
    generator = np.random.default_rng(seed)
    weights = generator.random((n, n)) * (generator.random((n, n)) < chance)
    np.fill_diagonal(weights, 0)
    totals = weights.sum(axis=1, keepdims=True)
    return weights / np.where(totals > 0, totals, 1)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("chance", [0.02, 0.2])
def test_the_walk_is_that_of_personalised_pagerank(seed, chance):
    n = 40
    weights = graph_of(seed, n, chance)
    start = np.zeros(n)
    start[:5] = np.random.default_rng(seed + 100).random(5)
    start /= start.sum()
    # Sparse graphs have nodes without a way on, which is where implementations differ.
    assert chance > 0.1 or (weights.sum(axis=1) == 0).any()
    graph = networkx.from_numpy_array(weights, create_using=networkx.DiGraph)
    chances = dict(enumerate(start.tolist()))
    theirs = networkx.pagerank(
        graph, alpha=0.66, personalization=chances, dangling=chances, max_iter=1000, tol=1e-14
    )
    ours = walk(csr_array(weights), start, restart=0.34, iterations=1000, tolerance=1e-14)
    assert ours == pytest.approx([theirs[i] for i in range(n)], abs=1e-9)
    assert ours.sum() == pytest.approx(1.0, abs=1e-12)


def test_without_edges_all_time_is_spent_at_the_start():
    start = np.array([0.25, 0.75, 0.0])
    ours = walk(csr_array((3, 3)), start, restart=0.34, iterations=20, tolerance=1e-6)
    assert ours == pytest.approx(start)


def test_a_walk_that_has_settled_ends_before_its_last_step():
    weights = csr_array(graph_of(3, 10, 0.5))
    start = np.full(10, 0.1)
    loose = walk(weights, start, restart=0.34, iterations=1000, tolerance=1e-2)
    tight = walk(weights, start, restart=0.34, iterations=1000, tolerance=1e-12)
    assert 1e-12 < np.abs(loose - tight).sum() < 1e-2

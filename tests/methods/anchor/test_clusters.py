from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from combray.methods.anchor.clusters import (
    Cluster,
    candidate,
    candidates,
    prune,
    replan,
    similar_pairs,
)
from combray.methods.anchor.params import AnchorParams


@dataclass
class Facts:
    """A bank in memory that counts what is read."""

    edges: dict[int, dict[int, float]] = field(default_factory=dict)
    homes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    kept_clusters: dict[int, tuple[int, ...]] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)

    def neighbours(self, facts):
        self.read.update(facts)
        return {fact: dict(self.edges.get(fact, {})) for fact in facts}

    def contexts(self, facts):
        self.read.update(facts)
        return {fact: self.homes.get(fact, ()) for fact in facts}

    def kept(self, facts):
        self.read.update(facts)
        wanted = set(facts)
        return [m for m in self.kept_clusters.values() if wanted & set(m)]

    def add(self, fact, homes, edges, params):
        self.homes[fact] = homes
        self.edges[fact] = {}
        for other, weight in edges.items():
            if other in self.homes:
                self.edges[fact][other] = weight
                self.edges[other][fact] = weight
        self.follow({fact}, params)

    def remove(self, fact, params):
        touched = set(self.edges.pop(fact))
        for other in touched:
            del self.edges[other][fact]
        del self.homes[fact]
        # What the store does: a cluster goes with any of its facts.
        for main, members in list(self.kept_clusters.items()):
            if fact in members:
                touched |= set(members) - {fact}
                del self.kept_clusters[main]
        self.follow(touched & self.homes.keys(), params)

    def move(self, fact, homes, params):
        """Another chunk gives the fact, or one no longer does."""
        self.homes[fact] = homes
        self.follow({fact}, params)

    def follow(self, touched, params):
        plan = replan(touched, self, params)
        for members in plan.drop:
            del self.kept_clusters[members[0]]
        for cluster in plan.keep:
            self.kept_clusters[cluster.main] = cluster.members

    def batch(self, params):
        found = [candidate(f, self.edges[f], self.homes, params) for f in self.homes]
        clusters = [one for one in found if one is not None]
        return {c.main: c.members for c in prune(clusters, params)}


@st.composite
def worlds(draw):
    n = draw(st.integers(2, 14))
    homes = {
        i: tuple(draw(st.lists(st.integers(0, 6), min_size=1, max_size=2, unique=True)))
        for i in range(n)
    }
    pairs = draw(
        st.lists(
            st.tuples(
                st.integers(0, n - 1), st.integers(0, n - 1), st.sampled_from([0.86, 0.9, 0.95])
            ),
            max_size=40,
        )
    )
    edges = {i: {} for i in range(n)}
    for a, b, weight in pairs:
        if a != b:
            edges[a][b] = edges[b][a] = weight
    order = draw(st.permutations(range(n)))
    gone = draw(st.lists(st.sampled_from(range(n)), unique=True, max_size=n - 1))
    return homes, edges, order, gone


PARAMS = st.builds(
    AnchorParams,
    n_neighbours=st.integers(1, 5),
    min_new=st.sampled_from([None, 1, 2, 3]),
    pruning=st.sampled_from(["greedy", "equation_9", "none"]),
)


@settings(max_examples=200, deadline=None)
@given(world=worlds(), params=PARAMS)
def test_any_order_of_arrival_gives_what_pruning_all_at_once_gives(world, params):
    homes, edges, order, _ = world
    facts = Facts()
    for fact in order:
        facts.add(fact, homes[fact], edges[fact], params)
    assert facts.kept_clusters == facts.batch(params)


@settings(max_examples=200, deadline=None)
@given(world=worlds(), params=PARAMS)
def test_facts_that_go_leave_what_was_never_with_them(world, params):
    homes, edges, order, gone = world
    facts = Facts()
    for fact in order:
        facts.add(fact, homes[fact], edges[fact], params)
    for fact in gone:
        facts.remove(fact, params)
        assert facts.kept_clusters == facts.batch(params)


@settings(max_examples=200, deadline=None)
@given(world=worlds(), params=PARAMS, seed=st.integers(0, 2**16))
def test_contexts_that_come_and_go_leave_what_pruning_all_at_once_gives(world, params, seed):
    homes, edges, order, moved = world
    rng = np.random.default_rng(seed)
    facts = Facts()
    for fact in order:
        facts.add(fact, homes[fact], edges[fact], params)
    for fact in moved:
        facts.move(fact, tuple(rng.permutation(7)[: rng.integers(0, 3)].tolist()), params)
        assert facts.kept_clusters == facts.batch(params)


@settings(max_examples=100, deadline=None)
@given(world=worlds(), params=PARAMS)
def test_many_facts_at_once_give_what_one_by_one_gives(world, params):
    homes, edges, _, _ = world
    facts = Facts(edges=edges, homes=homes)
    facts.follow(set(homes), params)
    assert facts.kept_clusters == facts.batch(params)
    assert replan(homes, facts, params).keep == replan(homes, facts, params).drop == ()


def groups(n, params):
    """A bank of n groups of three facts that go together."""
    facts = Facts()
    for first in range(0, 3 * n, 3):
        for i in range(3):
            near = {first + j: 0.9 for j in range(i)}
            facts.add(first + i, (first + i,), near, params)
    facts.read.clear()
    return facts


@pytest.mark.parametrize("n", [2, 200])
def test_a_change_reads_its_neighbourhood_alone_however_large_the_bank(n):
    params = AnchorParams()
    facts = groups(n, params)
    facts.add(9_000, (9_000,), {0: 0.9, 1: 0.9}, params)
    assert facts.read == {9_000, 0, 1, 2}
    facts.read.clear()
    facts.remove(9_000, params)
    assert facts.read == {0, 1, 2}


def test_a_change_is_followed_no_further_than_it_changes_something():
    params = AnchorParams()
    facts = Facts()
    for i in range(300):
        facts.add(i, (i,), {i - 1: 0.9} if i else {}, params)
    facts.read.clear()
    facts.add(9_000, (9_000,), {0: 0.86}, params)
    assert facts.kept_clusters == facts.batch(params)
    assert len(facts.read) < 30


def test_a_cluster_that_went_with_a_turn_makes_room_for_those_it_kept_out():
    params = AnchorParams()
    facts = Facts()
    facts.add(1, (1,), {}, params)
    facts.add(2, (2,), {1: 0.95}, params)
    facts.add(3, (3,), {1: 0.95}, params)
    facts.add(4, (4,), {3: 0.9}, params)
    lost = facts.kept_clusters.copy()
    facts.kept_clusters.clear()
    facts.follow({fact for members in lost.values() for fact in members}, params)
    assert facts.kept_clusters == facts.batch(params) == lost


def test_each_context_is_used_once():
    homes = {1: (10,), 2: (10,), 3: (11,), 4: (11, 12), 5: (13,)}
    near = {2: 0.99, 3: 0.95, 4: 0.94, 5: 0.9}
    found = candidate(1, near, homes, AnchorParams())
    assert found == Cluster((1, 3, 4, 5), (10, 11, 12, 13), pytest.approx(2.79))


def test_a_fact_alone_is_no_cluster():
    assert candidate(1, {}, {1: (10,)}, AnchorParams()) is None
    assert candidate(1, {2: 0.9}, {1: (10,), 2: (10,)}, AnchorParams()) is None


def test_the_released_run_has_a_row_for_each_time_a_fact_was_given():
    vectors = np.repeat(np.eye(2, 4, dtype=np.float32), [2, 1], axis=0)
    rows = {0: (7,), 1: (8,), 2: (9,)}
    found = candidates(vectors, rows, AnchorParams())
    assert [one.members for one in found] == [(0, 1), (1, 0)]
    assert [one.members for one in prune(found, AnchorParams(pruning="none"))] == [(0, 1), (1, 0)]


def test_equation_9_drops_facts_that_crowd_in_one_context():
    params = AnchorParams(pruning="equation_9")
    near = {2: 0.99, 3: 0.95, 4: 0.94, 5: 0.9}
    crowded = {1: (10,), 2: (11,), 3: (11,), 4: (12,), 5: (13,)}
    assert candidate(1, near, crowded, params) is None
    apart = crowded | {3: (14,)}
    assert candidate(1, near, apart, params).members == (1, 2, 3, 4)
    wide = AnchorParams(pruning="equation_9", n_neighbours=5)
    assert candidate(1, near, crowded, wide).members == (1, 2, 4, 5)


def test_a_similarity_is_the_same_from_either_end_and_in_any_company():
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(301, 384)) + 3 * rng.normal(size=384)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    whole = {(i, j): c for i, j, c in similar_pairs(vectors, np.arange(301), 0.9)}
    assert 1_000 < len(whole) < 301 * 300
    assert all(whole[j, i] == cosine for (i, j), cosine in whole.items())
    for n in (1, 7, 64, 300):
        row = np.array([n])
        alone = {(i, j): c for i, j, c in similar_pairs(vectors[: n + 1], row, 0.9)}
        assert alone == {(i, j): c for (i, j), c in whole.items() if i == n and j < n}


def test_a_fact_without_a_vector_goes_with_nothing():
    vectors = np.zeros((3, 4), np.float32)
    assert list(similar_pairs(vectors, np.arange(3), 0.5)) == []
    assert list(similar_pairs(vectors[:0], np.arange(0), 0.5)) == []


def test_pairs_are_those_of_the_whole_matrix():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(40, 16))
    vectors = np.repeat(base, 3, axis=0) + rng.normal(size=(120, 16)) * 0.3
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    whole = vectors @ vectors.T
    want = {(i, j) for i, j in zip(*np.nonzero(whole > 0.85), strict=True) if i != j}
    found = {(i, j) for i, j, _ in similar_pairs(vectors, np.arange(120), 0.85)}
    assert found == want
    assert want


def test_the_larger_and_the_nearer_cluster_comes_first():
    small = Cluster((1, 2), (1, 2), 0.99)
    large = Cluster((3, 4, 5), (1, 2, 3), 1.8)
    nearer = Cluster((6, 7, 8), (1, 2, 3), 1.9)
    kept = prune([small, large, nearer], AnchorParams(n_neighbours=2))
    assert kept == [nearer, large, small]


def test_a_cluster_that_adds_too_little_is_dropped():
    first = Cluster((1, 2, 3, 4), (1, 2, 3, 4), 2.7)
    second = Cluster((2, 3, 4, 5), (2, 3, 4, 5), 2.6)
    third = Cluster((5, 6, 1), (5, 6, 1), 1.8)
    assert prune([first, second, third], AnchorParams()) == [first, third]
    assert prune([first, second, third], AnchorParams(min_new=1)) == [first, second, third]

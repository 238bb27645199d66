from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from combray.methods.anchor.clusters import Cluster, candidate, prune, replan, similar_pairs
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
        return {fact: self.homes.get(fact, ()) for fact in facts}

    def kept(self, facts):
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

    def follow(self, touched, params):
        plan = replan(touched, self, params)
        for members in plan.drop:
            del self.kept_clusters[members[0]]
        for cluster in plan.keep:
            self.kept_clusters[cluster.main] = cluster.members

    def batch(self, params):
        found = [candidate(f, self.edges[f], self.homes, params) for f in self.homes]
        clusters = [one for one in found if one is not None]
        return {c.main: c.members for c in prune(clusters, params, self.homes)}


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


@settings(max_examples=300, deadline=None)
@given(world=worlds(), params=PARAMS)
def test_any_order_of_arrival_gives_what_pruning_all_at_once_gives(world, params):
    homes, edges, order, _ = world
    facts = Facts()
    for fact in order:
        facts.add(fact, homes[fact], edges[fact], params)
    assert facts.kept_clusters == facts.batch(params)


@settings(max_examples=300, deadline=None)
@given(world=worlds(), params=PARAMS)
def test_facts_that_go_leave_what_was_never_with_them(world, params):
    homes, edges, order, gone = world
    facts = Facts()
    for fact in order:
        facts.add(fact, homes[fact], edges[fact], params)
    for fact in gone:
        facts.remove(fact, params)
        assert facts.kept_clusters == facts.batch(params)


def test_a_change_reads_its_neighbourhood_alone():
    params = AnchorParams()
    facts = Facts()
    for group in range(200):
        first = group * 3
        for i in range(3):
            near = {first + j: 0.9 for j in range(i)}
            facts.add(first + i, (first + i,), near, params)
    facts.read.clear()
    facts.add(9_000, (9_000,), {0: 0.9, 1: 0.9}, params)
    assert facts.read <= {9_000, 0, 1, 2}


def test_each_context_is_used_once():
    homes = {1: (10,), 2: (10,), 3: (11,), 4: (11, 12), 5: (13,)}
    near = {2: 0.99, 3: 0.95, 4: 0.94, 5: 0.9}
    found = candidate(1, near, homes, AnchorParams())
    assert found == Cluster((1, 3, 4, 5), (10, 11, 12, 13), pytest.approx(2.79))


def test_a_fact_alone_is_no_cluster():
    assert candidate(1, {}, {1: (10,)}, AnchorParams()) is None
    assert candidate(1, {2: 0.9}, {1: (10,), 2: (10,)}, AnchorParams()) is None


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

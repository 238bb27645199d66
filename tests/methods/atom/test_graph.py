"""The graph among facts against its formulas, pair by pair."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.methods.atom.hand_made import HandMade, event, fact, turns

from combray.methods.atom.graph import Links, Terrain, keyword_weights, reached, transitions
from combray.methods.atom.params import AtomParams
from combray.model import RecordKind

WIDE = AtomParams(n_neighbours=1000, n_event_neighbours=1000, n_turn_neighbours=1000)
WORDS = ["tea", "cup", "dog", "sea", "art", "car"]


def terrain_of(made, *, keywords=(), params=WIDE, usable=None):
    view = made.facts()
    holds = view.is_fact & view.records.current
    return Terrain.of(
        view,
        made.bank(),
        usable=holds if usable is None else usable,
        counted=holds,
        keywords=keywords,
        params=params,
    )


def any_bank(seed, n=40):
    chance = random.Random(seed)
    said = [(f"s{i % 3}", "Ann", "2023-05-08") for i in range(24)]
    made = [
        fact(
            chance.randint(1, len(said)),
            people=chance.sample(["Ann", "Bo", "Cy"], chance.choice([0, 1, 1, 2])),
            keywords=chance.sample(WORDS, chance.randint(0, 4)),
            current=chance.random() < 0.9,
        )
        for _ in range(n)
    ]
    made += [event(chance.sample(range(1, n + 1), chance.randint(1, 6))) for _ in range(12)]
    made.append(event(range(1, n + 1), current=False))
    return HandMade(made, said)


def facts_of(made):
    return {
        n: record
        for n, record in enumerate(made.records, 1)
        if record.kind is RecordKind.FACT and record.current
    }


def omega(made, keywords, params):
    facts = facts_of(made).values()
    weights = {}
    for word in WORDS:
        df = sum(word in record.detail["keywords"] for record in facts)
        share = df / len(facts)
        if word in keywords:
            rarity = params.query_keyword * max(0.45, (0.05 / max(share, 0.05)) ** 0.7)
        else:
            rarity = 0.10 / max(share, 0.10)
        weights[word] = math.log((len(facts) + 1) / (df + 1)) * rarity
    return weights


def fellows(a, b):
    a, b = set(a.detail["people"]), set(b.detail["people"])
    return not a or not b or bool(a & b)


def keyword_weight(a, b, weights):
    a, b = set(a.detail["keywords"]), set(b.detail["keywords"])
    norm = math.sqrt(sum(weights[k] for k in a) * sum(weights[k] for k in b) + 1e-8)
    return sum(weights[k] for k in a & b) / norm


def events_of(made):
    facts = facts_of(made)
    for record in made.records:
        if record.kind is RecordKind.EVENT and record.current:
            yield {n for n in record.members if n in facts}


def event_weight(made, a, b, params):
    sizes = [len(members) for members in events_of(made) if {a, b} <= members]
    return sum((m - 1) ** -1.25 for m in sizes if 1 < m <= params.max_event_facts)


def turn_weight(made, a, b):
    one, other = (made.records[n - 1].docs[0] - 1 for n in (a, b))
    if made.turns[one][0] != made.turns[other][0]:
        return 0.0
    # Sessions take the turns by threes, so neighbours stand three apart.
    distance = abs(one - other) // 3
    first, second = made.records[a - 1], made.records[b - 1]
    reason = (
        fellows(first, second)
        or set(first.detail["keywords"]) & set(second.detail["keywords"])
        or any({a, b} <= members for members in events_of(made))
    )
    return math.exp(-distance / 2) if distance <= 2 and reason else 0.0


def dense(links, view, rows):
    found = np.zeros((view.n, view.n))
    found[rows[links.source], links.target] = links.weight
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("keywords", [(), ("tea", "sea", "unheard of")])
def test_each_channel_is_its_formula(seed, keywords):
    made = any_bank(seed)
    terrain = terrain_of(made, keywords=keywords)
    rows = np.flatnonzero(terrain.counted)
    weights = omega(made, keywords, WIDE)
    channels = {
        "keyword": dense(terrain.by_keyword(rows), terrain.view, rows),
        "event": dense(terrain.by_event(rows), terrain.view, rows),
        "turn": dense(terrain.by_turn(rows), terrain.view, rows),
    }
    facts = facts_of(made)
    for a in facts:
        for b in facts:
            one, other = facts[a], facts[b]
            alike = keyword_weight(one, other, weights) if fellows(one, other) else 0.0
            expected = {
                "keyword": alike,
                "event": event_weight(made, a, b, WIDE),
                "turn": turn_weight(made, a, b),
            }
            for name, weight in expected.items():
                got = channels[name][a - 1, b - 1]
                assert got == pytest.approx(0.0 if a == b else weight), (name, a, b)
    closed = [n - 1 for n in range(1, len(made.records) + 1) if n not in facts]
    assert all(not channel[:, closed].any() for channel in channels.values())


@pytest.mark.parametrize("seed", range(6))
def test_transitions_are_the_channels_normalised_row_by_row(seed):
    made = any_bank(seed)
    terrain = terrain_of(made)
    nodes = np.flatnonzero(terrain.counted)[::2]
    steps = transitions(terrain, nodes).toarray()
    everything = [
        dense(links, terrain.view, nodes)[np.ix_(nodes, nodes)]
        for links in (terrain.by_keyword(nodes), terrain.by_event(nodes), terrain.by_turn(nodes))
    ]
    for i in range(len(nodes)):
        there = [
            (share, channel[i])
            for share, channel in zip(WIDE.mixture, everything, strict=True)
            if channel[i].any()
        ]
        expected = sum(
            (share * row / row.sum() for share, row in there), start=np.zeros(len(nodes))
        )
        total = sum(share for share, _ in there)
        assert steps[i] == pytest.approx(expected / total if there else expected)


@pytest.mark.parametrize("seed", range(6))
def test_neighbours_are_the_strongest_of_the_mixture(seed):
    few = replace(WIDE, n_neighbours=4, n_event_neighbours=3)
    terrain = terrain_of(any_bank(seed), params=few)
    rows = np.flatnonzero(terrain.counted)[::3]
    channels = [
        dense(links, terrain.view, rows)
        for links in (terrain.by_keyword(rows), terrain.by_event(rows), terrain.by_turn(rows))
    ]
    for hop, n in ((0, 3), (1, 2), (2, 1)):
        mixed = sum(share * one for share, one in zip(few.mixture[:n], channels[:n], strict=True))
        found = terrain.neighbours(rows, hop)
        for place, row in enumerate(rows.tolist()):
            mine = found.where(found.source == place)
            best = [weight for weight in sorted(mixed[row], reverse=True)[:4] if weight > 0]
            assert mine.weight == pytest.approx(best)
            assert mine.weight == pytest.approx(mixed[row][mine.target])


@pytest.mark.parametrize("n", [0, 1, 7, 5000])
def test_the_strongest_of_many_links_are_those_of_sorting_them_all(n):
    generator = np.random.default_rng(n)
    source = np.sort(generator.integers(5, size=6000))
    links = Links(source, np.arange(6000)[::-1], generator.integers(1, 50, size=6000) / 50)
    found = links.strongest(n)
    assert list(zip(found.source, found.target, strict=True)) == [
        (place, target)
        for place in range(5)
        for _, target in sorted(
            (-links.weight[i], links.target[i]) for i in np.flatnonzero(source == place)
        )[:n]
    ]


def test_a_keyword_of_every_fact_links_nothing():
    made = HandMade([fact(1, keywords=["tea"]), fact(2, keywords=["tea"])], turns(2))
    terrain = terrain_of(made)
    assert terrain.weights.tolist() == [0.0]
    assert len(terrain.by_keyword(np.array([0, 1])).weight) == 0


def test_a_keyword_of_the_query_counts_more_than_another_of_the_same_rarity():
    made = HandMade([fact(keywords=["tea"]), fact(keywords=["cup"]), fact()], turns(1))
    view = made.facts()
    weights = keyword_weights(view, view.is_fact, view.columns_of(["tea"]), WIDE)
    assert weights[view.columns_of(["tea"])[0]] > weights[view.columns_of(["cup"])[0]] > 0


def test_an_event_with_too_many_facts_ties_nothing():
    made = HandMade([*(fact() for _ in range(5)), event(range(1, 6))], turns(1))
    bound = replace(WIDE, max_event_facts=4)
    assert len(terrain_of(made).by_event(np.array([0])).weight) == 4
    assert len(terrain_of(made, params=bound).by_event(np.array([0])).weight) == 0


def test_bounds_on_neighbours_keep_the_strongest_and_among_equals_the_earliest():
    facts = [fact(keywords=["tea"]) for _ in range(6)]
    made = HandMade([*facts, fact(keywords=["cup"]), event([1, 6]), event([1, 5, 6])], turns(1))
    two = replace(WIDE, n_neighbours=3, n_event_neighbours=1)
    terrain = terrain_of(made, params=two)
    assert terrain.by_event(np.array([0])).target.tolist() == [5]
    assert terrain.neighbours(np.array([0]), 0).target.tolist() == [5, 1, 2]


def chain(n):
    """Facts each of which shares a keyword with the one before."""
    return HandMade([fact(keywords=[f"k{i}", f"k{i + 1}"]) for i in range(n)], turns(1))


@pytest.mark.parametrize(("hops", "there"), [(0, [3]), (1, [2, 3, 4]), (2, [1, 2, 3, 4, 5])])
def test_the_local_graph_ends_after_its_hops(hops, there):
    terrain = terrain_of(chain(8), params=replace(WIDE, hops=hops))
    assert reached(terrain, np.array([3])).tolist() == there


def test_the_local_graph_ends_when_it_is_full():
    terrain = terrain_of(chain(8), params=replace(WIDE, hops=9, max_nodes=4))
    assert len(reached(terrain, np.array([3]))) == 4
    assert reached(terrain, np.arange(8)).tolist() == [0, 1, 2, 3]


def test_turns_lead_one_hop_far():
    made = HandMade([fact(n) for n in range(1, 8)], turns(7))
    assert reached(terrain_of(made), np.array([0])).tolist() == [0, 1, 2]


def test_a_fact_that_may_not_be_used_is_neither_reached_nor_passed():
    made = chain(5)
    usable = np.array([True, True, False, True, True])
    assert reached(terrain_of(made, usable=usable), np.array([1])).tolist() == [0, 1]

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from combray.errors import InvalidInput
from combray.eval.metrics import (
    abstention_curve,
    auc,
    bootstrap_mean,
    false_abstention_at,
    hit,
    ndcg,
    ndcg_longmemeval,
    percentile,
    recall_all,
    recall_any,
    recall_atommem,
    recall_fractional,
    reciprocal_rank,
)

RANKED = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("gold", "k", "fractional", "any_", "all_"),
    [
        ({"a", "c", "x", "y"}, 5, 0.5, 1, 0),
        ({"a", "c", "x", "y"}, 2, 0.25, 1, 0),
        ({"a", "c"}, 3, 1.0, 1, 1),
        ({"a", "c"}, 2, 0.5, 1, 0),
        ({"e"}, 4, 0.0, 0, 0),
        ({"e"}, None, 1.0, 1, 1),
        ({"e"}, 50, 1.0, 1, 1),
        ({"x"}, 5, 0.0, 0, 0),
    ],
)
def test_recall_by_hand(gold, k, fractional, any_, all_):
    assert recall_fractional(RANKED, gold, k) == fractional
    assert recall_any(RANKED, gold, k) == hit(RANKED, gold, k) == any_
    assert recall_all(RANKED, gold, k) == all_


def test_gold_named_twice_counts_once():
    assert recall_fractional(RANKED, ["a", "a", "x"], 5) == 0.5
    assert recall_all(RANKED, ["a", "a"], 1) == 1


@pytest.mark.parametrize(("gold", "expected"), [({"a"}, 1), ({"c", "d"}, 1 / 3), ({"x"}, 0)])
def test_reciprocal_rank_by_hand(gold, expected):
    assert reciprocal_rank(RANKED, gold) == expected


def test_ndcg_by_hand():
    # Gold at ranks 1 and 4 of three: (1 + 1/log2 5) / (1 + 1/log2 3 + 1/log2 4).
    expected = (1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / 2)
    assert ndcg(RANKED, {"a", "d", "x"}, 5) == pytest.approx(expected)
    assert ndcg(RANKED, {"a", "b"}, 5) == 1
    assert ndcg(RANKED, {"a", "b", "c"}, 2) == 1
    assert ndcg(RANKED, {"x"}, 5) == 0


def test_longmemevals_variant_by_hand():
    # Gold at ranks 2 and 4: (1/log2 2 + 1/log2 4) / (1 + 1/log2 2); rank 2 costs nothing.
    assert ndcg_longmemeval(RANKED, {"b", "d"}, 5) == pytest.approx(1.5 / 2)
    assert ndcg_longmemeval(RANKED, {"b"}, 5) == 1
    assert ndcg_longmemeval(RANKED, {"c"}, 5) == pytest.approx(1 / math.log2(3))


@pytest.mark.parametrize("measure", [recall_fractional, recall_any, recall_all, ndcg])
def test_a_question_without_gold_has_no_measure(measure):
    with pytest.raises(InvalidInput, match="leave it out"):
        measure(RANKED, set(), 5)


def test_mean_reciprocal_rank_without_gold_is_an_error_too():
    with pytest.raises(InvalidInput, match="leave it out"):
        reciprocal_rank(RANKED, set())


@pytest.mark.parametrize("measure", [recall_fractional, ndcg, ndcg_longmemeval])
def test_k_below_one_is_an_error(measure):
    with pytest.raises(InvalidInput, match="at least 1"):
        measure(RANKED, {"a"}, 0)


def test_auc_by_hand():
    assert auc([0.9, 0.8], [0.1, 0.2]) == 1
    assert auc([0.1], [0.9]) == 0
    assert auc([0.5, 0.5], [0.5]) == 0.5
    # Pairs won: .7>.2, .7>.6, .4>.2, and .4<.6: three of four.
    assert auc([0.7, 0.4], [0.2, 0.6]) == 0.75


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12),
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12),
)
def test_auc_equals_the_count_of_pairs(positive, negative):
    won = sum((p > n) + (p == n) / 2 for p in positive for n in negative)
    assert auc(positive, negative) == pytest.approx(won / len(positive) / len(negative))


@pytest.mark.parametrize("bad", [[], [float("nan")], [float("inf")]])
def test_scores_must_exist_and_be_finite(bad):
    with pytest.raises(InvalidInput):
        auc([1.0], bad)
    with pytest.raises(InvalidInput):
        false_abstention_at(bad, [1.0])
    with pytest.raises(InvalidInput):
        percentile(bad, 50)


def test_the_abstention_curve_runs_from_never_to_always():
    curve = abstention_curve([0.2, 0.8], [0.1, 0.2])
    assert [(p.threshold, p.correct_abstention, p.false_abstention) for p in curve[:3]] == [
        (0.1, 0.0, 0.0),
        (0.2, 0.5, 0.0),
        (0.8, 1.0, 0.5),
    ]
    assert (curve[-1].correct_abstention, curve[-1].false_abstention) == (1, 1)


def test_false_abstention_by_hand():
    answerable = [0.1, 0.3, 0.5, 0.7, 0.9]
    unanswerable = [0.05, 0.15, 0.2, 0.25, 0.4]
    assert false_abstention_at(answerable, unanswerable, 0.8) == 0.2
    assert false_abstention_at(answerable, unanswerable, 1.0) == 0.4
    assert false_abstention_at(answerable, unanswerable, 0.0) == 0
    with pytest.raises(InvalidInput):
        false_abstention_at(answerable, unanswerable, 1.1)


def test_the_bootstrap_resamples_conversations_not_questions():
    # Questions within a conversation agree wholly, so the interval is that of two draws.
    interval = bootstrap_mean([0.0] * 50 + [1.0] * 50, ["x"] * 50 + ["y"] * 50)
    assert (interval.mean, interval.low, interval.high) == (0.5, 0.0, 1.0)


def test_one_conversation_has_an_interval_without_width():
    interval = bootstrap_mean([0.0, 1.0], ["x", "x"])
    assert (interval.low, interval.high) == (0.5, 0.5)


def test_the_same_seed_gives_the_same_interval():
    values, groups = [0.1, 0.5, 0.9, 0.3, 0.2], ["a", "b", "c", "d", "e"]
    first, again, other = (bootstrap_mean(values, groups, n_samples=20, seed=s) for s in (3, 3, 4))
    assert first == again != other


def test_a_bootstrap_of_nothing_or_of_unequal_lengths_is_an_error():
    for values, groups, level in (([], [], 0.9), ([1.0], [], 0.9), ([1.0], ["a"], 1.0)):
        with pytest.raises(InvalidInput):
            bootstrap_mean(values, groups, level=level)


def test_percentiles_interpolate():
    assert percentile([1, 2, 3, 4], 50) == 2.5
    assert percentile([5], 95) == 5


def test_atommem_counts_evidence_as_it_stands():
    found = ["D1:1", "D1:1", "D2:3"]
    assert recall_atommem(found, ["D1:1", "D9:9"]) == 0.5
    assert recall_atommem(found, ["D1:1; D2:3"]) == 0.0
    assert recall_atommem(found, ["D1:1", "D1:1", "D9:9"]) == pytest.approx(2 / 3)


def test_atommem_counts_a_question_without_evidence_as_found():
    assert recall_atommem([], []) == 1.0


def test_atommem_counts_facts_and_not_the_turns_behind_them():
    assert recall_atommem(["D1:1", "D1:1", "D2:3"], ["D2:3"], 2) == 0.0

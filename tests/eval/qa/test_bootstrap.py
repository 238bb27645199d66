import pytest

from combray.errors import InvalidInput
from combray.eval.qa.bootstrap import intervals, paired
from combray.eval.record import Row


def rows(scores):
    """Rows from {conversation: [(category, score or None), …]}."""
    return [
        Row(
            dataset="locomo",
            method="m",
            bank=bank,
            question=str(n),
            category=category,
            split="tuned",
            values={} if score is None else {"f1": score},
        )
        for bank, items in scores.items()
        for n, (category, score) in enumerate(items)
    ]


def test_intervals_are_over_conversations():
    # Draws of two conversations: both means .5 with probability 1/2, 0 and 1 with 1/4 each.
    found = intervals(rows({"x": [("a", 1.0)] * 3, "y": [("a", 0.0)] * 3}), "f1")
    assert found["question_weighted"].mean == 0.5
    assert (found["question_weighted"].low, found["question_weighted"].high) == (0, 1)
    alone = intervals(rows({"x": [("a", 1.0), ("a", 0.0)]}), "f1")["question_weighted"]
    assert (alone.low, alone.mean, alone.high) == (0.5, 0.5, 0.5)


def test_both_averages_have_their_interval():
    scores = {"x": [("a", 1.0), ("a", 1.0), ("b", 0.0)], "y": [("a", 1.0), ("a", 1.0), ("b", 0.0)]}
    found = intervals(rows(scores), "f1")
    assert found["question_weighted"].mean == pytest.approx(2 / 3)
    assert found["question_weighted"].low == pytest.approx(2 / 3)
    assert found["category_weighted"].low == found["category_weighted"].high == 0.5


def test_a_category_that_a_draw_lacks_is_left_out_of_its_mean():
    found = intervals(rows({"x": [("a", 1.0)], "y": [("b", 0.0)]}), "f1")["category_weighted"]
    assert (found.low, found.mean, found.high) == (0, 0.5, 1)


def test_a_difference_is_paired_by_question():
    first = rows({"x": [("a", 0.0), ("b", 0.5)], "y": [("a", 1.0), ("b", 0.25)]})
    second = rows({"x": [("a", 1.0), ("b", 0.5)], "y": [("a", 1.0), ("b", 0.0)]})
    found = paired(first, second, "f1")
    assert (found.n, found.n_unpaired, found.better, found.worse) == (4, 0, 1, 1)
    assert (found.first, found.second) == (0.4375, 0.625)
    assert found.question_weighted.mean == pytest.approx(0.1875)
    # Conversation x gains a half a question, y loses an eighth.
    assert found.question_weighted.low == pytest.approx(-0.125)
    assert found.question_weighted.high == pytest.approx(0.5)
    assert found.category_weighted.mean == pytest.approx((0.5 - 0.125) / 2)


def test_questions_without_the_measure_on_one_side_are_counted_and_left_out():
    found = paired(rows({"x": [("a", 0.0), ("a", None)]}), rows({"x": [("a", 1.0)] * 2}), "f1")
    assert (found.n, found.n_unpaired, found.first, found.second) == (1, 1, 0, 1)


def test_the_same_seed_gives_the_same_interval():
    scores = rows({str(n): [("a", n / 7)] for n in range(7)})
    once, again = (intervals(scores, "f1", seed=3, n_samples=500) for _ in range(2))
    assert once == again
    assert once != intervals(scores, "f1", seed=4, n_samples=500)


def test_nothing_to_compare_is_an_error():
    with pytest.raises(InvalidInput, match="no question has 'f1' on both sides"):
        paired(rows({"x": [("a", 1.0)]}), rows({"y": [("a", 1.0)]}), "f1")
    with pytest.raises(InvalidInput, match="nothing to average"):
        intervals([], "f1")
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        intervals(rows({"x": [("a", 1.0)]}), "f1", level=1)

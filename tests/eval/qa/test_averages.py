import pytest

from combray.eval.qa.averages import averages


def test_the_two_averages_weigh_questions_and_categories():
    found = averages(
        [("single_hop", 1.0), ("single_hop", 1.0), ("single_hop", 0.0), ("open_domain", 0.0)]
    )
    assert found.question_weighted == 0.5
    assert found.category_weighted == pytest.approx(1 / 3)
    assert found.n_by_category == {"single_hop": 3, "open_domain": 1}
    assert found.to_json() == {
        "n": 4,
        "question_weighted": 0.5,
        "category_weighted": 0.33333,
        "single_hop": 0.66667,
        "open_domain": 0.0,
    }


def test_nothing_has_no_average():
    assert averages([]).to_json() == {"n": 0, "question_weighted": None, "category_weighted": None}

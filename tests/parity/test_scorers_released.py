"""Scorers against AnchorMem's released answers: 1,540 of them, each with the scores published beside it."""

import json
from functools import cache

import pytest

from combray.errors import NotFound
from combray.eval.datasets import data_root
from combray.eval.qa.averages import averages
from combray.eval.qa.scorers import SCORERS

CATEGORIES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop"}
PUBLISHED = {"EM": "exact_match", "F1": "f1_squad", "BLEU1": "bleu1_nltk"}


@pytest.fixture(scope="module")
def answers():
    try:
        folder = data_root() / "locomo_facts_anchormem"
    except NotFound as error:
        pytest.skip(str(error))
    files = sorted(folder.glob("conv-*.json"))
    if not files:
        pytest.skip(f"{folder} does not hold AnchorMem's released run.")
    return [
        answer
        for file in files
        for answer in json.loads(file.read_text(encoding="utf-8"))["answers"]
    ]


@pytest.fixture(scope="module")
def scored(answers):
    @cache
    def scores(name):
        score = SCORERS[name].score
        return [
            (category, score(item["answer"], str(item["gold"]), category))
            for item in answers
            for category in (CATEGORIES[item["category"]],)
        ]

    return scores


@pytest.mark.parametrize(
    ("name", "mean"),
    [
        ("f1_squad", 47.13),
        ("f1_locomo", 48.54),
        ("f1_set_word", 47.28),
        ("bleu1_nltk", 37.61),
        ("exact_match", 13.64),
    ],
)
def test_the_mean_over_all_released_answers_is_the_published_one(scored, name, mean):
    found = averages(scored(name))
    assert found.n == 1540
    assert 100 * found.question_weighted == pytest.approx(mean, abs=0.05)


@pytest.mark.parametrize(
    ("category", "f1", "bleu1"),
    [
        ("multi_hop", 33.14, 24.01),
        ("temporal", 45.17, 33.57),
        ("open_domain", 17.81, 14.24),
        ("single_hop", 55.92, 46.37),
    ],
)
def test_the_mean_of_each_category_is_the_published_one(scored, category, f1, bleu1):
    squad = averages(scored("f1_squad")).by_category
    bleu = averages(scored("bleu1_nltk")).by_category
    assert 100 * squad[category] == pytest.approx(f1, abs=0.01)
    assert 100 * bleu[category] == pytest.approx(bleu1, abs=0.01)


@pytest.mark.parametrize(("published", "name"), PUBLISHED.items())
def test_every_answer_has_the_score_published_with_it(answers, scored, published, name):
    found = [score for _, score in scored(name)]
    assert found == pytest.approx([item["scores"][published] for item in answers], abs=1e-6)

import json

import pytest

from combray.errors import InvalidInput
from combray.eval.qa.questions import chosen_questions, locomo_questions


def test_questions_come_with_gold_answers_and_traps(small_locomo):
    dataset, questions = locomo_questions(small_locomo)
    assert (dataset.name, len(questions)) == ("locomo", 16)
    first, trapped = questions[0], questions[6]
    assert (first.key, first.gold, first.trap, first.answerable) == (
        ("conv-26", 0),
        "Ann",
        None,
        True,
    )
    assert (trapped.key, trapped.gold, trapped.trap) == (("conv-26", 6), None, "6 May")
    assert not trapped.answerable


def test_what_is_posed_tells_neither_category_nor_gold(small_locomo):
    _, questions = locomo_questions(small_locomo)
    posed = questions[0].posed
    assert (posed.sample, posed.index, posed.text) == ("conv-26", 0, "Who went to Porto?")
    assert posed.asked_at == questions[0].question.asked_at
    assert set(type(posed).__slots__) == {"sample", "index", "text", "asked_at"}


def test_an_answer_that_is_a_number_becomes_text(small_locomo):
    document = json.loads(small_locomo.read_text())
    document[0]["qa"][0]["answer"] = 2022
    small_locomo.write_text(json.dumps(document))
    assert locomo_questions(small_locomo)[1][0].gold == "2022"


def test_an_answerable_question_without_an_answer_is_an_error(small_locomo):
    document = json.loads(small_locomo.read_text())
    del document[1]["qa"][2]["answer"]
    small_locomo.write_text(json.dumps(document))
    with pytest.raises(InvalidInput, match="conv-50, question 2: there is no answer"):
        locomo_questions(small_locomo)


def test_a_choice_keeps_the_order_and_limits_each_conversation(small_locomo):
    _, questions = locomo_questions(small_locomo)
    limited = chosen_questions(questions, categories=["open_domain", "adversarial"], limit=2)
    assert [item.key for item in limited] == [
        ("conv-26", 1), ("conv-26", 5), ("conv-50", 1), ("conv-50", 5)
    ]  # fmt: skip
    assert {item.sample for item in chosen_questions(questions, samples=["conv-50"])} == {"conv-50"}
    with pytest.raises(InvalidInput, match="no question is left"):
        chosen_questions(questions, samples=["conv-1"])
    with pytest.raises(InvalidInput, match="limit must be at least 1"):
        chosen_questions(questions, limit=0)


def test_the_whole_benchmark_has_1540_answerable_questions(benchmark_data):
    _, questions = locomo_questions(benchmark_data)
    assert len(questions) == 1986
    assert sum(item.answerable for item in questions) == 1540
    adversarial = [item for item in questions if not item.answerable]
    assert sum(item.gold is None for item in adversarial) == 444
    assert sum(item.trap is not None for item in adversarial) >= 444

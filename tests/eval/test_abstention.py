from combray.eval import datasets
from combray.eval.abstention import Supports, report, unrelated_questions, unrelated_texts


def test_the_shipped_list_has_sixty_distinct_questions():
    texts = unrelated_texts()
    assert len(texts) == len(set(texts)) == 60
    assert all(text.endswith("?") for text in texts)


def test_unrelated_questions_come_from_the_list_and_the_next_conversation(small_locomo):
    dataset = datasets.locomo(small_locomo)
    questions = unrelated_questions(dataset, dataset.banks[1])
    assert len(questions) == 60 + 7
    assert questions[60].text == dataset.banks[0].questions[0].text
    assert len({question.id for question in questions}) == len(questions)
    assert not any("Ben" in question.text for question in questions)


def test_the_report_by_hand():
    found = report(
        Supports(
            answerable=(0.9, 0.8, 0.3, 0.7),
            adversarial=(0.85, 0.2),
            unrelated=(0.1, 0.0, 0.4),
            threshold=0.35,
        )
    )
    assert found["auc_adversarial"] == 0.625
    assert found["auc_unrelated"] == round(11 / 12, 5)
    assert found["false_abstention_at_90"] == 0.25
    assert found["n"] == {"answerable": 4, "adversarial": 2, "unrelated": 3}
    assert found["at_threshold"] == {
        "threshold": 0.35,
        "answerable": 0.25,
        "adversarial": 0.5,
        "unrelated": round(2 / 3, 5),
    }
    assert [point["threshold"] for point in found["curve"]][::25] == [0, 0.5, 1]
    assert found["curve"][0]["answerable"] == 0


def test_without_one_kind_of_question_there_is_no_report():
    assert report(Supports(answerable=(1.0,), adversarial=(), unrelated=(0.1,))) is None

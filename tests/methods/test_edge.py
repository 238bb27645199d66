"""What `edge` does with a question about a time alone."""

import pytest

NOW = "2024-07-03T12:00"


@pytest.fixture
def bank(memory):
    made = memory.create_bank("a")
    for at, text in [
        ("2024-05-11T20:00", "Ilse is coming to stay."),
        ("2024-06-14T19:00", "I'm learning Greek."),
        ("2024-06-15T19:30", "Dinner was lovely."),
        ("2024-06-28T21:00", "We talked of the lighthouse."),
    ]:
        made.remember(text, speaker="Ana", said_at=at)
    return made


def days(bank, question):
    return [
        str(hit.turn.said_at.date())[5:]
        for hit in bank.recall(question, method="edge", now=NOW).hits
    ]


def test_a_time_that_no_word_matches_is_answered_by_its_episodes(bank):
    assert days(bank, "What happened last Friday?") == ["06-28"]


def test_the_first_episode_after_a_time_may_tell_of_it(bank):
    assert days(bank, "What happened on 14 June?") == ["06-14", "06-15"]


def test_what_was_said_then_is_not_what_was_said_after_it(bank):
    assert days(bank, "What did I say on 14 June?") == ["06-14"]


def test_a_word_that_matches_elsewhere_does_not_hide_the_time(bank):
    assert days(bank, "What did we talk about in May?")[0] == "05-11"


def test_a_question_without_a_time_and_a_match_finds_nothing(bank):
    recall = bank.recall("Which zebra?", method="edge", now=NOW)
    assert recall.abstained
    assert "nothing in the bank matches" in recall.reason

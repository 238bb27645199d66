from datetime import UTC, datetime

import pytest

from combray.text import LightAnalyser
from combray.text.questions import asks, asks_for_a_set, asks_what_was_said, subject_terms

NOW = datetime(2024, 7, 3, 12, tzinfo=UTC)

QUESTIONS = """What did you paint?
Nice! What did you paint? 😊
"Where is it?"
本当ですか？
what did mel paint last week
when is the exam
who moved to lisbon
did you see it
how many cats does she have
tell me where the keys are
and what about you
isn't it late
which of the books have you read"""

STATEMENTS = """I painted a sunrise.
What a day!
When I was young, we had a dog.
How wonderful that you came.
Did it. Done. Gone.
Have a nice day
May was nice
Is is a word
I asked what you did?. Then I left.
"""

SETS = """What outdoor sports does Mira enjoy?
Which books has she read?
How many children does he have?
List all the cities she visited.
What kind of art does she make?
What are the names of the dogs?
Which other outdoor sports do they like?
What people has she met?
Name all of her pets.
Who are all the people he knows?"""

SINGLES = """When did she go?
What is her name?
What does she like?
Which city is it in?
What news did she bring?
Where does James live?
What's this?
Which bus was late?"""


@pytest.mark.parametrize("text", QUESTIONS.splitlines())
def test_a_question_is_one(text):
    assert asks(text)


@pytest.mark.parametrize("text", [*STATEMENTS.splitlines(), ""])
def test_a_statement_is_not_a_question(text):
    assert not asks(text)


@pytest.mark.parametrize("text", SETS.splitlines())
def test_a_question_for_several_things_asks_for_a_set(text):
    assert asks_for_a_set(text)


@pytest.mark.parametrize("text", SINGLES.splitlines())
def test_a_question_for_one_thing_does_not(text):
    assert not asks_for_a_set(text)


@pytest.mark.parametrize(
    "text",
    [
        "What did I say on 14 June?",
        "what did we talk about in May",
        "Did she mention the bike last week?",
        "Can you tell me what we discussed on Friday?",
        "Our last conversation",
    ],
)
def test_a_question_about_the_saying_is_told_from_one_about_the_doing(text):
    assert asks_what_was_said(text)


@pytest.mark.parametrize(
    "text",
    [
        "What did Caroline do on 7 May?",
        "Tell me what happened in May.",
        "Could you remind me where we were last weekend?",
        "Which task did she finish in March?",
    ],
)
def test_asking_to_be_told_is_not_asking_what_was_said(text):
    assert not asks_what_was_said(text)


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("What happened last Friday?", []),
        ("What did we talk about in May?", []),
        ("Anything new on 15 June 2024?", []),
        ("What did Caroline do on 7 May?", []),
        ("What did Caroline paint on 7 May?", ["paint"]),
        ("Where was the dinner last weekend?", ["dinner"]),
    ],
)
def test_what_is_asked_about_besides_who_and_when(text, subject):
    analysis = LightAnalyser().analyse_query(text, NOW, ["Caroline"])
    assert subject_terms(analysis, {"carolin"}) == subject

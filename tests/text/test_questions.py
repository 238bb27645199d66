import pytest

from combray.text.questions import asks, asks_for_a_set

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

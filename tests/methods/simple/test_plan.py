"""Plans: what to look up, and how deep."""

from datetime import UTC, datetime

import pytest

from combray.errors import ExtractionError
from combray.llm import FunctionLLM
from combray.llm.base import Occasion
from combray.methods.simple.params import SimpleParams
from combray.methods.simple.plan import local_plan
from combray.methods.simple.planner import model_plan
from combray.model import Query
from combray.text.light import LightAnalyser

NOW = datetime(2023, 6, 1, 12, tzinfo=UTC)


def query(text):
    analysis = LightAnalyser().analyse_query(text, NOW, ["Ann", "Bob"])
    return Query(text=text, analysis=analysis, k=10, budget_tokens=600, now=NOW)


def planned(text, *replies, **params):
    said = iter(replies)
    asked = []

    def reply(messages, schema):
        asked.append(messages[-1].content)
        return next(said)

    plan = model_plan(query(text), FunctionLLM(reply), Occasion(), SimpleParams(**params))
    return plan, asked


def test_a_plain_question_needs_no_model_and_little_depth():
    plan = local_plan(query("Where does Ann work?"))
    assert (plan.semantic, plan.lexical) == (("Where does Ann work?",), ("ann", "work"))
    assert (plan.people, plan.depth, plan.model) == (("Ann",), 0.0, "")
    assert SimpleParams().n(plan.depth) == 3


def test_a_question_for_a_set_goes_deeper():
    one = local_plan(query("What book did Ann read?"))
    many = local_plan(query("Which books did Ann and Bob read in Rome and in Paris?"))
    assert one.depth < 0.5 < many.depth <= 1


def test_a_time_in_the_question_is_a_condition():
    plan = local_plan(query("What did Ann do in May 2023?"))
    assert plan.time is not None
    assert (plan.time.start.month, plan.time.end.month) == (5, 6)


def test_the_same_question_has_the_same_plan():
    assert local_plan(query("What did Bob do?")) == local_plan(query("What did Bob do?"))


def test_one_call_plans_and_adds_to_the_question():
    plan, asked = planned(
        "What did Ann eat last month?",
        {
            "semantic": ["Ann's meals", "Ann ate"],
            "lexical": ["food", "the dishes"],
            "persons": ["Ann"],
            "entities": ["Trattoria Roma"],
            "location": "Rome",
            "since": "2023-05-01",
            "until": "2023-05-31",
            "depth": 0.5,
        },
    )
    assert len(asked) == 1
    assert "2023-06-01 (Thursday)" in asked[0]
    assert plan.semantic == ("What did Ann eat last month?", "Ann's meals", "Ann ate")
    assert plan.lexical[-2:] == ("food", "dish")
    assert (plan.entities, plan.location, plan.depth) == (("Trattoria Roma",), "Rome", 0.5)
    assert (plan.time.start.day, plan.time.end.month) == (1, 6)
    assert plan.model == "function"


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"depth": 7, "since": "last May", "until": "2023-13"},
        {"semantic": ["  "], "lexical": [""], "persons": None, "depth": -1},
        {"since": "2023-05-09", "until": "2023-05-01", "depth": None},
    ],
)
def test_what_a_model_leaves_out_or_gets_wrong_is_what_the_question_says(reply):
    own = local_plan(query("Where does Ann work?"))
    plan, _ = planned("Where does Ann work?", reply)
    assert (plan.semantic, plan.lexical, plan.people) == (own.semantic, own.lexical, own.people)
    assert plan.time is None
    assert 0 <= plan.depth <= 1


def test_a_plan_is_bounded():
    much = {
        "semantic": [f"q{n}" for n in range(50)],
        "lexical": [f"w{n}" for n in range(99)],
        "persons": [f"P{n}" for n in range(99)],
    }
    plan, _ = planned("Where?", much)
    assert (len(plan.semantic), len(plan.lexical), len(plan.people)) == (4, 24, 8)


def test_reflection_asks_only_where_it_is_wanted_and_ends_when_nothing_is_added():
    first, more = {"semantic": ["a"], "depth": 0.2}, {"semantic": ["b"], "depth": 0.1}
    plan, asked = planned("Where?", first, more, more, reflection=5)
    assert len(asked) == 3
    assert (plan.semantic, plan.depth) == (("Where?", "a", "b"), 0.2)
    assert '\\"a\\"' in asked[1]
    assert len(planned("Where?", first)[1]) == 1


def test_a_reply_that_is_no_plan_is_an_error():
    with pytest.raises(ExtractionError):
        planned("Where?", "I cannot", "I cannot")

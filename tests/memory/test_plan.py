"""A model says what a query is after, only where it is asked to, and never at the cost of the recall."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from pydantic import BaseModel

from combray import Memory
from combray.answer import Answer
from combray.errors import ConfigError, ProviderError, RateLimited, TimedOut
from combray.llm import FunctionLLM
from combray.llm.base import messages_of
from combray.methods.atom import Atom
from combray.methods.base import Ranking


class Wanted(BaseModel):
    """What a model replies about a query."""

    day: str


@dataclass(frozen=True, kw_only=True)
class OfADay:
    """Ranks the turns in order; what it was given to go by is in `seen`."""

    name: str = "of-a-day"
    params: object = None
    default_k: int | None = None
    default_budget_tokens: int = 256
    seen: list = field(default_factory=list)

    def plan(self, query, llm, occasion):
        asked = messages_of([("user", f"plan: {query.text}")])
        return llm.complete(asked, Wanted, occasion=occasion).parsed

    def rank(self, query, evidence):
        self.seen.append(query.plan)
        rows = np.arange(evidence.view.n)
        return Ranking(rows=rows, scores=np.linspace(1, 0.5, evidence.view.n), notes=("ranked",))


@pytest.fixture
def asked():
    return []


@pytest.fixture
def reply():
    """What the model does when it is asked for a plan; a test may change it."""
    return [lambda: {"day": "Monday"}]


@pytest.fixture
def llm(asked, reply):
    def function(messages, schema):
        asked.append(messages[-1].content)
        return reply[0]() if asked[-1].startswith("plan:") else "On Monday [1]."

    return FunctionLLM(function)


@pytest.fixture
def memory(tmp_path, llm):
    with Memory.open(tmp_path / "m.db", embedder="hash", llm=llm) as opened:
        opened.create_bank("b").remember("We meet on Monday.", speaker="Ann", session="s")
        yield opened


@pytest.fixture
def bank(memory):
    return memory.bank("b")


def fails(error):
    def raises():
        raise error

    return raises


QUESTION = "When do we meet?"


def test_no_model_is_asked_unless_a_plan_is_wanted(bank, asked):
    method = OfADay()
    found = bank.recall(QUESTION, method=method)
    assert (asked, method.seen) == ([], [None])
    assert "plan" not in found.trace.timings_ms
    assert found.trace.notes == ("ranked",)


def test_the_method_ranks_by_the_plan_it_made(bank, asked):
    method = OfADay()
    found = bank.recall(QUESTION, method=method, plan=True)
    assert asked == [f"plan: {QUESTION}"]
    assert method.seen == [Wanted(day="Monday")]
    assert found.trace.notes == ("ranked",)
    assert [hit.turn.text for hit in found.hits] == ["We meet on Monday."]


def test_the_time_of_planning_is_a_stage_of_its_own_and_no_search(bank):
    took = bank.recall(QUESTION, method=OfADay(), plan=True).trace.timings_ms
    before = sum(took[name] for name in ("analyse", "embed", "plan"))
    assert took["search"] == pytest.approx(took["total"] - before)


def test_a_plan_is_a_call_in_the_ledger(bank):
    bank.recall(QUESTION, method=OfADay(), plan=True)
    (one,) = bank.enrichment.costs()
    assert (one.phase, one.method, one.n_calls, one.n_failed) == ("plan", "of-a-day", 1, 0)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ProviderError("the endpoint is down."), "provider"),
        (TimedOut("no reply in 60 s."), "timed_out"),
        (RateLimited("wait.", retry_after_s=5), "rate_limited"),
    ],
)
def test_a_model_that_fails_loses_no_recall(bank, reply, error, code):
    reply[0] = fails(error)
    method = OfADay()
    found = bank.recall(QUESTION, method=method, plan=True)
    assert method.seen == [None]
    assert [hit.turn.text for hit in found.hits] == ["We meet on Monday."]
    note, ranked = found.trace.notes
    assert ranked == "ranked"
    assert f"could not plan ({code}): {str(error).rstrip('.')}" in note
    (one,) = bank.enrichment.costs()
    assert (one.n_calls, one.n_failed) == (1, 1)


def test_a_reply_that_fits_no_schema_loses_no_recall(bank, reply, asked):
    reply[0] = lambda: "I would rather talk about the weather."
    found = bank.recall(QUESTION, method=OfADay(), plan=True)
    assert len(found.hits) == 1
    assert "could not plan (extraction)" in found.trace.notes[0]
    assert len(asked) == 2


def test_a_mistake_of_the_method_itself_is_not_hidden(bank, reply):
    reply[0] = fails(ZeroDivisionError("mine"))
    with pytest.raises(ZeroDivisionError, match="mine"):
        bank.recall(QUESTION, method=OfADay(), plan=True)


def test_a_method_that_does_not_plan_says_so(bank, asked):
    found = bank.recall(QUESTION, method="bm25", plan=True, abstain=False)
    assert asked == []
    assert len(found.hits) == 1
    assert any(note.startswith("bm25 does not plan") for note in found.trace.notes)


def test_a_plan_without_a_model_is_refused(tmp_path):
    with Memory.open(tmp_path / "m.db", embedder="none") as memory:
        bank = memory.create_bank("b")
        bank.remember("We meet on Monday.", speaker="Ann")
        with pytest.raises(ConfigError, match="COMBRAY_LLM_MODEL"):
            bank.recall(QUESTION, method=OfADay(), plan=True)
        assert len(bank.recall(QUESTION, method=OfADay()).hits) == 1


def test_what_is_forgotten_while_the_model_thinks_is_not_ranked(bank, reply):
    bank.remember("We never meet.", speaker="Bo", session="s")

    def forgets():
        bank.forget(turns=[next(bank.turns()).id])
        return {"day": "Monday"}

    reply[0] = forgets
    found = bank.recall(QUESTION, method=OfADay(), plan=True)
    assert [hit.turn.text for hit in found.hits] == ["We never meet."]
    assert "Monday" not in found.text


def test_an_answer_can_rest_on_a_planned_recall(bank, asked):
    method = OfADay()
    said = bank.answer(QUESTION, method=method, plan=True)
    assert isinstance(said, Answer)
    assert method.seen == [Wanted(day="Monday")]
    assert [text.startswith("plan:") for text in asked] == [True, False]
    assert {one.phase for one in bank.enrichment.costs()} == {"plan", "answer"}


def test_atom_reads_the_question_by_the_model_where_it_is_asked_to(tmp_path):
    asked = []

    def intent(messages, schema):
        asked.append(sorted(schema["properties"]))
        return {"attribute": True, "people": ["Ann"], "keywords": ["home"], "times": []}

    with Memory.open(tmp_path / "m.db", embedder="hash", llm=FunctionLLM(intent)) as memory:
        bank = memory.create_bank("b")
        bank.remember("I live in Lisbon.", speaker="Ann")
        bank.recall("Where does Ann live?", method=Atom())
        assert asked == []
        bank.recall("Where does Ann live?", method=Atom(), plan=True)
        assert asked == [["attribute", "keywords", "people", "times"]]
        assert [(one.phase, one.method) for one in bank.enrichment.costs()] == [("plan", "atom")]

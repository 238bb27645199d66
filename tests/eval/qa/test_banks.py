"""The QA bench from banks to scores, with a model that is a function."""

from __future__ import annotations

import re

import pytest

from combray.errors import InvalidInput, ProviderError
from combray.eval.qa import Answering, QaSetup, run_qa_locomo
from combray.llm import FunctionLLM

SAID = re.compile(r'^"((?:[^"\\]|\\.)*)" said "((?:[^"\\]|\\.)*)"', re.MULTILINE)


def reply(messages, schema):
    text = messages[-1].content
    if "<topics>" in text:
        return []
    if "<turns>" in text:
        return [f"{speaker} said {said}" for speaker, said in SAID.findall(text)]
    return "something [1]"


def setup(path, **more):
    return QaSetup(data=path, workers=1, n_samples=50, **more)


@pytest.mark.parametrize("method", ["bm25", "anchor"])
def test_questions_are_answered_from_banks_and_costs_are_split_by_phase(small_locomo, method):
    answering = Answering(method=method, llm=FunctionLLM(reply))
    result = run_qa_locomo(answering, setup=setup(small_locomo)).to_json()
    assert result["method"] == method
    assert result["n_questions"] > 0
    phases = set(result["costs"]["phases"])
    assert "answer" in phases
    assert ("facts" in phases) == (method == "anchor")


def test_a_kept_store_is_not_enriched_again(small_locomo, tmp_path):
    asked = []

    def counting(messages, schema):
        asked.append(messages[-1].content)
        return reply(messages, schema)

    for _ in range(2):
        asked.clear()
        answering = Answering(
            method="anchor", llm=FunctionLLM(counting), store=tmp_path / "kept.db"
        )
        run_qa_locomo(answering, setup=setup(small_locomo))
    assert not [text for text in asked if "<turns>" in text]


def test_enrichment_that_fails_ends_the_run_and_says_how_to_go_on(small_locomo):
    def down(messages, schema):
        raise ProviderError("the endpoint is down.")

    with pytest.raises(InvalidInput, match="run it again"):
        run_qa_locomo(Answering(method="anchor", llm=FunctionLLM(down)), setup=setup(small_locomo))


def test_an_unknown_conversation_is_an_error(small_locomo):
    with pytest.raises(InvalidInput, match="conv-99"):
        run_qa_locomo(
            Answering(method="bm25", llm=FunctionLLM(reply)),
            setup=setup(small_locomo, samples=("conv-99",)),
        )

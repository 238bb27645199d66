"""`atom` over AtomMem's released facts of LoCoMo: the flat ranking is near what Table 2 says of it, one conversation by default."""

from __future__ import annotations

import os
import statistics

import numpy as np
import pytest

from combray.embed import weights
from combray.embed.onnx import MiniLM
from combray.errors import NotFound, WeightsUnavailable
from combray.eval import Setup
from combray.eval.datasets import locomo
from combray.eval.datasets.atommem import atommem
from combray.eval.datasets.base import Dataset
from combray.eval.datasets.locomo import raw_evidence
from combray.eval.experiment import written
from combray.eval.metrics import recall_atommem
from combray.eval.released_atommem import remember_atommem
from combray.methods.atom import Atom, AtomParams
from combray.model import RecordKind

FEW = ("conv-30",)
"""Encoding all ten conversations takes minutes; COMBRAY_PARITY=all has it done."""

TABLE_2_FLAT = {"single_hop": 72.18, "temporal": 79.89, "open_domain": 42.46}
"""Without multi-hop, where the table's 41.75 is 5 below what its facts give by cosine; see docs/methods/atom.md."""

FLAT = AtomParams(graph=False, profiles=False, n_primary=10, n_compensatory=0)


@pytest.fixture(scope="module")
def released():
    try:
        return atommem()
    except NotFound as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def data():
    try:
        whole = locomo()
    except NotFound as error:
        pytest.skip(str(error))
    every = os.environ.get("COMBRAY_PARITY") == "all"
    banks = tuple(bank for bank in whole.banks if every or bank.name in FEW)
    return Dataset(name=whole.name, sha256=whole.sha256, banks=banks)


@pytest.fixture(scope="module")
def embedder():
    try:
        weights.fetch("all-MiniLM-L6-v2")
    except WeightsUnavailable as error:
        if os.environ.get("COMBRAY_OFFLINE"):
            pytest.skip(str(error))
        raise
    return MiniLM()


@pytest.fixture(scope="module")
def banks(released, data, embedder, tmp_path_factory):
    store = tmp_path_factory.mktemp("released") / "released.db"
    with written(data, Setup(store=store, embedder=embedder)) as there:
        for name, bank in there.banks.items():
            remember_atommem(there.memory, bank, released[name], embedder)
        yield there


def asked(data):
    return [(bank, q) for bank in data.banks for q in bank.questions if q.category != "adversarial"]


def test_every_released_fact_is_of_a_turn_of_the_benchmark(released):
    turns = {bank.name: bank.turn_keys() for bank in locomo().banks}
    for name, facts in released.items():
        assert {one.turn for one in facts} <= turns[name]


@pytest.mark.slow
def test_every_released_fact_is_stored_once_with_all_its_turns(banks, released):
    for name, bank in banks.banks.items():
        units = banks.memory.store.units(bank.name, "atom", "facts")
        records = {number for unit in units for number in unit.records}
        assert len(records) == len({text for one in released[name] for text in one.facts})
        given = sum(len(unit.records) for unit in units)
        assert given == sum(len(one.facts) for one in released[name])


@pytest.mark.slow
@pytest.mark.parametrize("params", [FLAT, AtomParams(graph=False), AtomParams()])
def test_recall_shows_ten_facts_and_ranks_the_turn_of_the_first_one_first(banks, data, params):
    for bank, question in asked(data)[:20]:
        found = banks.banks[bank.name].recall(
            question.text, method=Atom(params=params), k=10, budget_tokens=1 << 14, abstain=False
        )
        facts = [note.record for note in found.notes if note.record.kind is RecordKind.FACT]
        assert len(facts) == 10
        assert found.hits[0].id in facts[0].sources


@pytest.mark.slow
def test_facts_by_cosine_find_what_table_2_says_of_the_flat_variant(data, released, embedder):
    if len(data.banks) < 10:
        pytest.skip("needs all ten conversations: set COMBRAY_PARITY=all, it takes some minutes.")
    evidence = raw_evidence()
    found = {category: [] for category in (*TABLE_2_FLAT, "multi_hop")}
    for bank in data.banks:
        facts = released[bank.name]
        turns = np.array([one.turn[1] for one in facts for _ in one.facts])
        vectors = embedder.embed([text for one in facts for text in one.facts]).vectors
        questions = [q for q in bank.questions if q.category != "adversarial"]
        cosines = embedder.embed([q.text for q in questions]).vectors @ vectors.T
        for question, row in zip(questions, cosines, strict=True):
            best = turns[np.argsort(-row, kind="stable")[:10]].tolist()
            found[question.category].append(recall_atommem(best, evidence[question.id]))
    means = {category: 100 * statistics.mean(values) for category, values in found.items()}
    assert {c: means[c] for c in TABLE_2_FLAT} == pytest.approx(TABLE_2_FLAT, abs=2)
    assert means["multi_hop"] > 45

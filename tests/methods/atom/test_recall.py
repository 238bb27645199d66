"""Recall by `atom` on a real bank, with records that were stored without a model."""

from __future__ import annotations

import numpy as np
import pytest
from tests.methods.atom.hand_made import NOW

from combray import Filters, Memory
from combray.methods.atom import Atom
from combray.model import FactNotes, MadeBy, RecordKind, record_id
from combray.registry import deriving, method
from combray.store.derived import Closing, Derivation, RecordRow, UnitRow

SAID = [
    ("Melanie", "I started pottery classes."),
    ("Caroline", "That sounds lovely."),
    ("Melanie", "The teacher praised my bowl."),
    ("Caroline", "I moved to Porto in May."),
]
NOTED = {
    "Melanie started pottery classes.": (1, ["Melanie"], ["pottery", "class"], ""),
    "The pottery teacher praised the bowl of Mel.": (3, ["Mel"], ["pottery", "bowl"], ""),
    "Caroline moved to Porto.": (4, ["Caroline"], ["home"], "2023-05"),
}


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "m.db", embedder="hash", clock=lambda: NOW) as opened:
        bank = opened.create_bank("b")
        lines = [{"speaker": who, "text": text} for who, text in SAID]
        bank.remember(lines, session="s1", said_at="2023-06-08")
        put(opened, *(fact_unit(opened, text, *noted) for text, noted in NOTED.items()))
        yield opened


@pytest.fixture
def bank(memory):
    return memory.bank("b")


def put(memory, *units):
    embedder = memory.store.bank("b").embedder
    return memory.store.derive("b", "atom", Derivation(units=units, embedder=embedder), at=NOW)


def docs_of(memory, *places):
    """Document numbers of the turns at these places, counted from 1."""
    there = [doc for doc, _ in memory.store.scan("b", session="s1", after=0, limit=10)]
    return tuple(there[place - 1] for place in places)


def vector(memory, text):
    return memory._parts.embedder().embed([text]).vectors[0].astype("<f2").tobytes()


def record(memory, kind, text, docs, detail):
    return RecordRow(
        id=record_id(kind, "atom", text),
        kind=kind,
        text=text,
        sources=tuple(docs),
        detail=detail,
        vector=vector(memory, text),
    )


def fact_unit(memory, text, place, people, keywords, about):
    (doc,) = docs_of(memory, place)
    notes = FactNotes(people=tuple(people), keywords=tuple(keywords), about=about)
    row = record(memory, RecordKind.FACT, text, [doc], notes.detail())
    return UnitRow(
        kind="facts",
        key=text,
        subject="s1",
        turns=(doc,),
        made_by=MadeBy(method="atom"),
        records=(row,),
    )


def numbers(memory, *texts):
    ids = [record_id(RecordKind.FACT, "atom", text) for text in texts]
    found = memory.store.find_records("b", ids)
    return tuple(found[id_].number for id_ in ids)


def event_unit(memory, *texts):
    docs = docs_of(memory, *(NOTED[text][0] for text in texts))
    summary = "Melanie learns pottery."
    row = record(memory, RecordKind.EVENT, summary, docs, {"people": ["Melanie"]})
    return UnitRow(
        kind="event",
        key="e",
        turns=docs,
        inputs=numbers(memory, *texts),
        made_by=MadeBy(method="atom"),
        records=(row,),
    )


def texts_of(recall):
    return [hit.turn.text for hit in recall.hits]


def test_the_registry_has_the_method():
    assert isinstance(method("atom"), Atom)
    assert isinstance(deriving("atom"), Atom)


def test_facts_lead_to_the_turns_that_they_come_from(bank):
    found = bank.recall("What did Mel do in her pottery class?", method="atom")
    assert texts_of(found) == [SAID[0][1], SAID[2][1], SAID[3][1]]
    assert found.hits[0].channels["keyword"] > 0
    assert found.hits[0].contributions["walk"] > 1
    assert found.hits[2].contributions["outside"] == -2


def test_facts_and_their_event_stand_beside_the_turns(memory, bank):
    put(memory, event_unit(memory, *list(NOTED)[:2]))
    found = bank.recall("What did Mel do in her pottery class?", method="atom")
    assert [note.record.text for note in found.notes] == [
        *list(NOTED)[:2],
        "Melanie learns pottery.",
    ]


def test_a_fact_that_was_closed_since_leads_nowhere(memory, bank):
    bank.recall("What did Mel do?", method="atom")
    first, second = numbers(memory, *list(NOTED)[:2])
    closing = UnitRow(
        kind="verified",
        key="v",
        turns=docs_of(memory, 1, 3),
        inputs=(second, first),
        made_by=MadeBy(method="atom"),
        closes=(Closing(record=first),),
    )
    put(memory, closing)
    found = bank.recall("What did Mel do in her pottery class?", method="atom")
    assert SAID[0][1] not in texts_of(found)
    assert next(iter(NOTED)) not in [note.record.text for note in found.notes]
    assert memory._parts.facts.view("b", "atom").records.current.tolist() == [False, True, True]


def test_what_is_forgotten_is_gone_from_the_view(memory, bank):
    bank.recall("What did Mel do?", method="atom")
    (gone,) = [turn for turn in bank.turns() if turn.text == SAID[0][1]]
    bank.forget(turns=[gone.id])
    found = bank.recall("What did Mel do?", method="atom")
    assert SAID[0][1] not in texts_of(found)
    assert memory._parts.facts.view("b", "atom").n == 2


def test_a_fact_that_comes_later_is_found(memory, bank):
    bank.recall("Who has a dog?", method="atom")
    put(memory, fact_unit(memory, "Caroline has a dog.", 2, ["Caroline"], ["dog"], ""))
    found = bank.recall("Who has a dog?", method="atom")
    assert texts_of(found)[0] == SAID[1][1]


def test_filters_hold_for_turns_and_notes(memory, bank):
    put(memory, event_unit(memory, *list(NOTED)[:2]))
    found = bank.recall("What about pottery?", method="atom", filters=Filters(speakers="Caroline"))
    assert texts_of(found) == [SAID[3][1]]
    assert [note.record.text for note in found.notes] == ["Caroline moved to Porto."]


def test_a_bank_without_vectors_is_recalled_by_keywords(tmp_path):
    with Memory.open(tmp_path / "m.db", embedder="none", clock=lambda: NOW) as memory:
        bank = memory.create_bank("b")
        bank.remember([{"speaker": "Melanie", "text": SAID[0][1]}], session="s1")
        docs = docs_of(memory, 1)
        notes = FactNotes(people=("Melanie",), keywords=("pottery",))
        row = RecordRow(
            id="f1:x", kind=RecordKind.FACT, text="x", sources=docs, detail=notes.detail()
        )
        unit = UnitRow(
            kind="facts", key="k", turns=docs, made_by=MadeBy(method="atom"), records=(row,)
        )
        memory.store.derive("b", "atom", Derivation(units=[unit]), at=NOW)
        assert texts_of(bank.recall("Who does pottery?", method="atom")) == [SAID[0][1]]
        assert texts_of(bank.recall("Who sails?", method="atom")) == []


def test_the_arrays_are_those_of_the_details_in_the_store(memory):
    view = memory._parts.facts.view("b", "atom")
    assert view.records.number.tolist() == list(numbers(memory, *NOTED))
    assert tuple(view.doc) == docs_of(memory, 1, 3, 4)
    assert view.with_people(view.people_of(["Melanie"])).tolist() == [True, True, False]
    assert np.diff(view.keywords.indptr).tolist() == [2, 2, 1]


def test_dropping_a_bank_lets_go_of_its_arrays(memory):
    memory._parts.facts.view("b", "atom")
    memory._parts.drop("b")
    assert memory._parts.facts._kept.n_bytes == 0

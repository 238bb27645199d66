"""Turns by the client's own ids, turns at an end, and banks as rows."""

import pytest

from combray import TurnDraft
from combray.errors import Conflict, NotFound
from combray.importers import read


@pytest.fixture
def bank(memory):
    bank = memory.create_bank("mira")
    bank.remember([{"text": f"Turn {n}.", "id": f"u{n}"} for n in range(5)], session="a")
    bank.remember([{"text": "Other.", "id": "u1"}, {"text": "Last.", "id": "v"}], session="b")
    return bank


def texts(turns):
    return [turn.text for turn in turns]


def test_a_clients_own_id_names_a_turn(bank):
    assert texts(bank.get(["v", "u0"])) == ["Last.", "Turn 0."]
    assert len(bank.forget(turns=["u0", "v"]).turns) == 2
    with pytest.raises(NotFound, match="u0"):
        bank.get("u0")


def test_the_same_turn_by_both_of_its_ids_is_forgotten_once(bank):
    (turn,) = bank.get("v")
    assert bank.forget(turns=["v", turn.id]).turns == (turn.id,)


def test_an_id_that_two_sessions_have_is_a_conflict_that_lists_them(bank):
    with pytest.raises(Conflict, match=r"2 turns.*session 'a'.*session 'b'|session 'b'.*'a'"):
        bank.forget(turns=["u1"])
    assert bank.bank.n_turns == 7


def test_turns_go_on_after_one_of_them(bank):
    assert texts(bank.turns("a", after="u2")) == ["Turn 3.", "Turn 4."]
    assert texts(bank.turns(after="u4")) == ["Other.", "Last."]
    assert texts(bank.turns("b", after="u4")) == ["Other.", "Last."]
    bank.forget(turns="u2")
    assert texts(bank.turns("a", after="u3")) == ["Turn 4."]


def test_the_last_turns_come_in_order(bank):
    assert texts(bank.last_turns(3)) == ["Turn 4.", "Other.", "Last."]
    assert texts(bank.last_turns(2, "a")) == ["Turn 3.", "Turn 4."]
    assert texts(bank.last_turns(99, "b")) == ["Other.", "Last."]


def test_a_bank_comes_out_as_rows_and_goes_back_in_from_its_file(bank, memory, tmp_path):
    rows = list(bank.export())
    assert [next(iter(row)) for row in rows].count("turn") == 7
    assert bank.export_to(tmp_path / "mira.jsonl") == 7
    copy = memory.create_bank("copy")
    for one in read(tmp_path / "mira.jsonl"):
        copy.remember(one.turns, session=one.session)
    assert texts(copy.turns()) == texts(bank.turns())


def test_reindexing_to_none_drops_the_vectors_and_says_so(hashed):
    bank = hashed.create_bank("b")
    bank.remember(["the kingfisher", "the heron"], session="s")
    done = bank.reindex(embedder="none")
    assert (done.embedder, done.dropped, done.embedded) == (None, "hash@1-64", 0)
    assert bank.bank.embedder is None
    assert any("lexical" in note for note in bank.recall("heron", abstain=False).trace.notes)
    assert bank.reindex(embedder="none").dropped is None
    assert bank.reindex().embedded == 2


def test_a_memory_without_a_model_leaves_the_vectors_of_a_bank_as_they_are(tmp_path):
    from combray import Memory

    with Memory.open(tmp_path / "m.db", embedder="hash") as memory:
        memory.create_bank("b").remember(TurnDraft(text="the heron"), session="s")
    with Memory.open(tmp_path / "m.db", embedder="none") as memory:
        assert memory.bank("b").reindex().embedder == "hash@1-64"

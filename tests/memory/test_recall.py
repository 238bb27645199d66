"""Recall end to end on a real file."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from combray import Filters, Memory, TurnDraft
from combray.embed.hashing import HashEmbedder
from combray.errors import ConfigError, EmbedderMismatch, InvalidInput, NotFound

DAY = datetime(2024, 3, 3, 10, tzinfo=UTC)
FILLER = [f"we talked about the weather on walk number {i} and about bread" for i in range(60)]


@pytest.fixture
def bank(hashed):
    bank = hashed.create_bank("mira")
    bank.remember(
        "By the way, I'm Mira Okafor, I do night shifts at the harbour hospital.",
        speaker="Mira",
        session="s1",
        said_at=DAY,
    )
    bank.remember(
        [TurnDraft(text=text, speaker="Tom") for text in FILLER],
        session="s2",
        said_at=DAY + timedelta(days=1),
    )
    return bank


@pytest.mark.parametrize("method", ["fused", "edge", "bm25", "dense", "late"])
def test_every_method_finds_the_turn_that_was_said_long_ago(bank, method):
    recall = bank.recall(
        "Which hospital does Mira do night shifts at?", k=5, method=method, abstain=False
    )
    found = recall.hits[0].turn
    assert "harbour hospital" in found.text
    assert (found.speaker, found.session) == ("Mira", "s1")
    assert "harbour hospital" in recall.text


def test_the_pack_never_exceeds_its_budget_and_counts_what_it_says(bank, hashed):
    for budget in (60, 128, 1024):
        recall = bank.recall("walks and bread", budget_tokens=budget, abstain=False)
        assert 0 < recall.n_tokens <= budget
        assert recall.n_tokens == hashed._parts.counter.count(recall.text)


@pytest.mark.parametrize("query", ["", "  ", "\n"])
def test_an_empty_query_is_refused(bank, query):
    with pytest.raises(InvalidInput, match="empty"):
        bank.recall(query)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"k": -1}, {"budget_tokens": 0}, {"budget_tokens": 1}])
def test_limits_that_allow_nothing_are_refused(bank, wrong):
    with pytest.raises(InvalidInput):
        bank.recall("bread", **wrong)


def test_an_unknown_method_lists_those_there_are(bank):
    with pytest.raises(ConfigError, match="fused"):
        bank.recall("bread", method="magic")


def test_an_empty_bank_abstains_with_a_reason(hashed):
    recall = hashed.create_bank("empty").recall("anything?")
    assert recall.abstained
    assert "empty" in recall.reason
    assert recall.items == ()
    assert recall.text == ""


def test_a_query_of_any_odd_kind_is_answered_or_abstained(bank):
    for query in [
        "he?",
        "???",
        "🧜",
        "и",
        "the",
        "a" * 19_000,
        "half \ud83d",
        "NULL; drop table turn",
        "日本語の質問",
    ]:
        assert bank.recall(query, abstain=False) is not None


def test_filters_apply_before_ranking(hashed):
    bank = hashed.create_bank("trips")
    drafts = [
        TurnDraft(text=f"the trip to the lake, day {i}", tags=["trip"] if i % 400 == 7 else [])
        for i in range(2000)
    ]
    bank.remember(drafts, session="s", said_at=DAY)
    hits = bank.recall(
        "the trip to the lake", k=5, filters=Filters(tags=["trip"]), abstain=False
    ).hits
    assert len(hits) == 5
    assert all("trip" in hit.turn.tags for hit in hits)


def test_filters_by_speaker_session_and_time(bank):
    hits = bank.recall("talked about bread", filters=Filters(speakers=["mira"]), abstain=False).hits
    assert {hit.turn.speaker for hit in hits} <= {"Mira"}
    hits = bank.recall(
        "talked about bread", filters=Filters(until=DAY + timedelta(hours=1)), abstain=False
    ).hits
    assert {hit.turn.session for hit in hits} <= {"s1"}
    hits = bank.recall(
        "night shifts hospital", filters=Filters(sessions=["s2"]), abstain=False
    ).hits
    assert {hit.turn.session for hit in hits} <= {"s2"}


def test_an_expired_turn_is_not_recalled(hashed, clock):
    bank = hashed.create_bank("b")
    bank.remember(
        TurnDraft(text="the door code is 4711", expires_at=clock.now + timedelta(minutes=5)),
        session="s",
    )
    assert bank.recall("door code", abstain=False).hits
    clock.now += timedelta(minutes=6)
    assert not bank.recall("door code", abstain=False).hits


def test_a_now_in_the_past_does_not_bring_back_what_has_expired(hashed, clock):
    bank = hashed.create_bank("b")
    bank.remember(
        TurnDraft(text="the door code is 4711", expires_at=clock.now + timedelta(minutes=5)),
        session="s",
    )
    before = clock.now
    clock.now += timedelta(minutes=6)
    assert not bank.recall("door code", now=before, abstain=False).hits
    assert not bank.rank("door code", now=before)


def test_an_expired_neighbour_is_not_packed_as_context(hashed, clock):
    bank = hashed.create_bank("b")
    soon = clock.now + timedelta(minutes=5)
    bank.remember(
        [
            TurnDraft(text="Which colour shall we take?", speaker="Ada", expires_at=soon),
            TurnDraft(text="The pale green.", speaker="Tom"),
        ],
        session="s",
    )
    assert len(bank.recall("pale green", abstain=False).items) == 2
    clock.now += timedelta(minutes=6)
    assert len(bank.recall("pale green", abstain=False).items) == 1


def test_what_is_forgotten_is_not_recalled(bank):
    (hit, *_) = bank.recall("Mira harbour hospital", abstain=False).hits
    receipt = bank.forget(turns=[hit.turn.id])
    assert receipt.turns == (hit.turn.id,)
    assert not any(
        "harbour hospital" in h.turn.text
        for h in bank.recall("Mira harbour hospital", abstain=False).hits
    )
    with pytest.raises(NotFound):
        bank.get([hit.turn.id])


def test_a_write_is_seen_by_another_memory_over_the_same_file(tmp_path):
    with (
        Memory.open(tmp_path / "m.db", embedder="hash") as one,
        Memory.open(tmp_path / "m.db", embedder="hash") as two,
    ):
        mine = one.create_bank("b")
        mine.remember("the first word", session="s")
        assert two.bank("b").recall("first word", abstain=False).hits
        mine.remember("the kingfisher came back", session="s")
        assert "kingfisher" in two.bank("b").recall("kingfisher", abstain=False).hits[0].turn.text
        mine.forget(session="s")
        assert not two.bank("b").recall("kingfisher", abstain=False).hits


def test_another_embedder_is_refused_before_any_write(tmp_path):
    with Memory.open(tmp_path / "m.db", embedder="hash") as memory:
        memory.create_bank("b").remember("one", session="s")
    with Memory.open(tmp_path / "m.db", embedder=HashEmbedder(dimension=128)) as memory:
        bank = memory.bank("b")
        with pytest.raises(EmbedderMismatch, match="combray reindex b"):
            bank.remember("two", session="s")
        with pytest.raises(EmbedderMismatch):
            bank.recall("one")
        assert bank.bank.n_turns == 1
        bank.reindex()
        bank.remember("two", session="s")
        assert bank.recall("one", method="dense", abstain=False).hits[0].turn.text == "one"


def test_vectors_can_be_added_to_a_bank_that_had_none(tmp_path):
    with Memory.open(tmp_path / "m.db", embedder="none") as memory:
        bank = memory.create_bank("b")
        done = bank.remember(["the kingfisher", "the heron"], session="s")
        assert "without vectors" in done.notes[0]
        assert any("lexical" in note for note in bank.recall("heron", abstain=False).trace.notes)
    with Memory.open(tmp_path / "m.db", embedder="hash") as memory:
        bank = memory.bank("b")
        assert bank.reindex().embedded == 2
        assert bank.recall("heron", method="dense", abstain=False).hits[0].turn.text == "the heron"


def test_many_threads_write_and_recall_one_bank(hashed):
    bank = hashed.create_bank("busy")
    errors = []

    def work(n):
        try:
            for i in range(10):
                bank.remember(f"note {i} of worker {n}", session=f"s{n}")
                bank.recall(f"worker {n}", abstain=False)
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert bank.bank.n_turns == 40


def test_the_same_question_gives_the_same_pack(bank):
    first, second = (bank.recall("walk number 7", abstain=False) for _ in range(2))
    assert first.text == second.text
    assert [hit.score for hit in first.hits] == [hit.score for hit in second.hits]

"""The whole path on a real store: facts, what is known of them, events and profiles, and what forgetting leaves."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from tests.methods.atom.scripted import Scripted

from combray import Memory
from combray.methods.atom.kinds import EVENT, METHOD
from combray.model import RecordKind, Status


@pytest.fixture
def script():
    return Scripted()


@pytest.fixture
def memory(tmp_path, script):
    with Memory.open(tmp_path / "m.db", embedder="hash", llm=script.llm()) as opened:
        yield opened


@pytest.fixture
def bank(memory):
    made = memory.create_bank("b")
    made.enrichment.use(METHOD)
    return made


def say(bank, speaker, text, day, session=None):
    receipt = bank.remember(
        [{"speaker": speaker, "text": text}], session=session or f"s{day}", said_at=day
    )
    worked = bank.enrichment.run()
    assert [failed.error for failed in worked.failed] == []
    return receipt


def records(bank, kind, status=None):
    return [
        record
        for record in bank.enrichment.records(METHOD)
        if record.kind == kind and status in (None, record.status)
    ]


def texts(bank, kind, status=Status.CURRENT):
    return sorted(record.text for record in records(bank, kind, status))


def pottery(bank):
    say(bank, "Melanie", "I started pottery classes last Tuesday.", "2023-05-08")
    say(bank, "Melanie", "The pottery teacher praised my first bowl!", "2023-05-15")
    say(bank, "Melanie", "I broke the bowl from pottery class.", "2023-05-22")


def test_facts_carry_whom_what_and_when(bank):
    pottery(bank)
    first, second, third = records(bank, RecordKind.FACT)
    assert first.detail == {
        "people": ["Melanie"],
        "keywords": ["pottery", "class"],
        "about": "2023-05-02",
    }
    assert first.valid_from == datetime(2023, 5, 2, tzinfo=UTC)
    assert second.valid_from == datetime(2023, 5, 15, tzinfo=UTC)
    # "last week" is no date, and "Mel" is not in the fact.
    assert "about" not in third.detail
    assert third.detail["people"] == ["Melanie"]


def test_facts_that_belong_together_are_one_event_that_grows(bank):
    pottery(bank)
    (event,) = records(bank, RecordKind.EVENT)
    assert len(event.members) == 3
    assert "broke the bowl" in event.text
    assert len(event.sources) == 3
    assert event.detail["people"] == ["Melanie"]


def test_an_event_survives_a_member_and_not_two(bank):
    pottery(bank)
    turns = list(bank.turns())
    bank.forget(turns=[turns[1].id])
    assert records(bank, RecordKind.EVENT) == []
    bank.enrichment.run()
    (event,) = records(bank, RecordKind.EVENT)
    assert len(event.members) == 2
    assert "praised" not in event.text
    bank.forget(turns=[turns[2].id])
    bank.enrichment.run()
    assert records(bank, RecordKind.EVENT) == []
    assert texts(bank, RecordKind.FACT) == ["Melanie started pottery classes on 2 May 2023."]


def test_a_fact_that_something_has_changed_stays_with_its_end(bank):
    say(bank, "Caroline", "I live in Lisbon.", "2023-05-01")
    say(bank, "Caroline", "I moved, I live in Porto now.", "2023-07-20")
    before, after = records(bank, RecordKind.FACT)
    assert before.status is Status.SUPERSEDED
    assert before.superseded_by == after.id
    assert before.valid_to == datetime(2023, 7, 1, tzinfo=UTC)
    assert after.status is Status.CURRENT


def test_what_held_earlier_is_ended_whichever_arrives_first(bank):
    say(bank, "Caroline", "I moved, I live in Porto now.", "2023-07-20")
    say(bank, "Caroline", "I live in Lisbon.", "2023-05-01")
    assert texts(bank, RecordKind.FACT) == ["Caroline lives in Porto."]
    assert texts(bank, RecordKind.FACT, Status.SUPERSEDED) == ["Caroline lives in Lisbon."]


def test_what_is_new_of_a_fact_is_kept_of_it(bank):
    say(bank, "Caroline", "I live in Lisbon.", "2023-05-01")
    say(bank, "Caroline", "As I said, I live in Lisbon, and I have a dog called Rex.", "2023-05-09")
    assert texts(bank, RecordKind.FACT) == [
        "Caroline has a dog called Rex.",
        "Caroline lives in Lisbon.",
    ]
    assert texts(bank, RecordKind.FACT, Status.MERGED) == [
        "Caroline lives in Lisbon and has a dog called Rex."
    ]


def test_a_repetition_gives_its_turn_to_the_fact_that_says_it(bank):
    say(bank, "Caroline", "I live in Lisbon.", "2023-05-01")
    say(bank, "Melanie", "Caroline lives in Lisbon, you know.", "2023-05-09")
    (fact,) = records(bank, RecordKind.FACT, Status.CURRENT)
    assert fact.text == "Caroline lives in Lisbon."
    assert len(fact.sources) == 2


def test_a_repetition_stands_for_itself_once_the_first_is_forgotten(bank):
    say(bank, "Caroline", "I live in Lisbon.", "2023-05-01")
    say(bank, "Melanie", "Caroline lives in Lisbon, you know.", "2023-05-09")
    bank.forget(turns=[next(iter(bank.turns())).id])
    bank.enrichment.run()
    (fact,) = records(bank, RecordKind.FACT)
    assert fact.text == "Caroline lives in Lisbon!"
    assert fact.status is Status.CURRENT


def test_a_profile_keeps_what_held_before_with_its_end(bank):
    say(bank, "Caroline", "I live in Lisbon.", "2023-05-01")
    say(bank, "Caroline", "I moved, I live in Porto now.", "2023-07-20")
    told = [r for r in records(bank, RecordKind.PROFILE) if "timeline" in r.detail]
    assert [(r.text, r.status) for r in told] == [
        ("Caroline lives in Lisbon.", Status.SUPERSEDED),
        ("Caroline lives in Porto.", Status.CURRENT),
    ]
    assert told[0].valid_to == datetime(2023, 7, 1, tzinfo=UTC)


def test_a_profile_goes_with_its_last_support(bank):
    say(bank, "Caroline", "I live in Lisbon.", "2023-05-01")
    assert texts(bank, RecordKind.PROFILE) != []
    bank.forget(turns=[next(iter(bank.turns())).id])
    bank.enrichment.run()
    assert records(bank, RecordKind.PROFILE) == []


def test_nothing_of_a_forgotten_turn_stays_in_what_was_made_beside_the_profile(
    bank, script, tmp_path
):
    say(bank, "Caroline", "I live in Lisbon.", "2023-05-01")
    script.echoes = True
    say(bank, "Caroline", "I moved, I live in Porto now.", "2023-07-20")
    told = [r for r in records(bank, RecordKind.PROFILE) if "Porto" in r.text]
    assert any("caroline lives in lisbon" in r.detail["keywords"] for r in told)
    bank.forget(turns=[next(iter(bank.turns())).id])
    left = [str((r.text, r.detail)).lower() for r in bank.enrichment.records(METHOD)]
    assert not [text for text in left if "lisbon" in text]
    with closing(sqlite3.connect(tmp_path / "m.db")) as connection:
        replies = [value.lower() for (value,) in connection.execute("SELECT value FROM reply")]
    assert replies
    assert not [value for value in replies if "lisbon" in value]
    assert [failed.error for failed in bank.enrichment.run().failed] == []
    assert [entry.text for entry in bank.profile("Caroline").entries] == [
        "Caroline lives in Porto."
    ]


@pytest.mark.parametrize("prompt", ["turn", "earlier", "candidates", "earlier_summary", "profile"])
def test_garbage_loses_nothing_and_the_work_is_done_when_the_model_recovers(bank, script, prompt):
    bank.remember(
        [{"speaker": "Caroline", "text": "I live in Lisbon."}], session="a", said_at="2023-05-01"
    )
    bank.remember(
        [{"speaker": "Caroline", "text": "I moved, I live in Porto now."}],
        session="b",
        said_at="2023-07-20",
    )
    for n, text in enumerate(
        ["I started pottery classes last Tuesday.", "The pottery teacher praised my first bowl!"]
    ):
        bank.remember([{"speaker": "Melanie", "text": text}], session=f"p{n}", said_at="2023-05-08")
    script.broken = {prompt}
    failed = bank.enrichment.run().failed
    assert {one.code for one in failed} == {"extraction"}
    assert all("It was asked" in one.error for one in failed)
    script.broken = set()
    bank.enrichment.retry()
    assert bank.enrichment.run().failed == []
    assert texts(bank, RecordKind.FACT, Status.SUPERSEDED) == ["Caroline lives in Lisbon."]
    assert len(records(bank, RecordKind.EVENT)) == 1


def test_work_that_is_done_again_changes_nothing(bank, memory, script):
    pottery(bank)
    say(bank, "Caroline", "I live in Lisbon.", "2023-05-01")
    say(bank, "Caroline", "I moved, I live in Porto now.", "2023-07-20")
    before = [(r.id, r.status, r.sources, r.members) for r in bank.enrichment.records(METHOD)]
    n_asked = len(script.asked)
    bank.enrichment.run()
    assert [
        (r.id, r.status, r.sources, r.members) for r in bank.enrichment.records(METHOD)
    ] == before
    assert len(script.asked) == n_asked
    assert len(memory.store.units(bank.name, METHOD, EVENT)) == 1

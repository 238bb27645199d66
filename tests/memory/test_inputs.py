"""Whatever is handed in: either it is understood, or the error says what to do, and nothing is changed."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from combray import Filters, Memory, Role, Session, TurnDraft
from combray.errors import CombrayError, ConfigError, InvalidInput, NotFound, ScopeError

NAN = float("nan")


@pytest.fixture
def bank(memory):
    bank = memory.create_bank("mira", zone="Asia/Tokyo")
    bank.remember(
        [
            TurnDraft(text="The lake is blue.", speaker="Ann", tags=["trip"], id="u1"),
            TurnDraft(text="The fence is blue.", speaker="Tom", role="assistant"),
        ],
        session="may",
        said_at="2024-05-04T01:00",
    )
    return bank


CALLS = {
    "remember": [
        lambda b: b.remember(None),
        lambda b: b.remember(5),
        lambda b: b.remember(b"bytes"),
        lambda b: b.remember("x", session=5),
        lambda b: b.remember("x", speaker=5),
        lambda b: b.remember("x", role=5),
        lambda b: b.remember("x", said_at=1_700_000_000),
        lambda b: b.remember("x", said_at="soon"),
        lambda b: b.remember({"text": "x", "caption": 5}),
        lambda b: b.remember({"text": "x", "tags": 5}),
        lambda b: b.remember({"text": "x", "metadata": 5}),
        lambda b: b.remember({"text": "x", "expires_at": 5}),
        lambda b: list(b.remember_in_batches(["x"], size=0)),
        lambda b: list(b.remember_in_batches(None)),
        lambda b: b.remember("x", session=Session(name="n", title=5)),
        lambda b: b.remember("x", session=Session(name="n", metadata=[5])),
        lambda b: b.remember("x", session=Session(name="n", started_at="soon")),
        lambda b: b.restore(5, []),
        lambda b: b.restore(None, []),
        lambda b: b.restore(Session(name="n"), 5),
        lambda b: b.restore(Session(name="n"), ["x"]),
        lambda b: b.restore(b.session("may"), [replace(one, text="y") for one in b.turns()]),
        lambda b: b.restore(b.session("may"), [replace(one, client_id="z") for one in b.turns()]),
        lambda b: list(b.turns(after=5)),
        lambda b: b.reindex(analyser=5),
    ],
    "recall": [
        lambda b: b.recall(None),
        lambda b: b.recall(5),
        *(lambda b, k=k: b.recall("blue", k=k) for k in ("3", True, 2.5, NAN, 0, -1)),
        *(
            lambda b, n=n: b.recall("blue", budget_tokens=n)
            for n in ("64", True, 64.5, NAN, float("inf"), 0)
        ),
        lambda b: b.recall("blue", now=5),
        lambda b: b.recall("blue", now="soon"),
        lambda b: b.recall("blue", method=5),
        lambda b: b.recall("blue", filters={"speakers": ["Ann"]}),
        lambda b: b.rank(None),
        lambda b: b.rank("blue", k="3"),
        lambda b: b.rank("blue", filters=["Ann"]),
    ],
    "filters": [
        lambda _: Filters(speakers=5),
        lambda _: Filters(speakers=[5]),
        lambda _: Filters(sessions={"may": 1}),
        lambda _: Filters(tags=[""]),
        lambda _: Filters(roles="king"),
        lambda _: Filters(since=5),
        lambda _: Filters(until="soon"),
        lambda _: Filters(since="2024-06-01", until="2024-05-01"),
        lambda b: b.recall(
            "blue", filters=Filters(since="2024-06-01T00:00", until="2024-05-31T00:00Z")
        ),
    ],
    "the rest": [
        lambda b: b.forget(turns=5),
        lambda b: b.forget(turns=[5]),
        lambda b: b.forget(session=5),
        lambda b: b.forget(),
        lambda b: b.forget(turns=["u1"], session="may"),
        lambda b: b.get(5),
        lambda b: b.get([None]),
        lambda b: b.sessions(after=5),
        lambda b: b.sessions(limit="9"),
        lambda b: b.sessions(limit=-1),
        lambda b: b.session(5),
        lambda b: list(b.turns(5)),
        lambda b: b.last_turns("2"),
        lambda b: b.reindex(embedder=5),
        lambda b: b.export_to(5),
    ],
}


@pytest.mark.parametrize("call", [(kind, i) for kind in CALLS for i in range(len(CALLS[kind]))])
def test_what_cannot_be_meant_is_an_invalid_input(bank, call):
    with pytest.raises(InvalidInput) as caught:
        CALLS[call[0]][call[1]](bank)
    assert str(caught.value).endswith(".")
    assert bank.bank.n_turns == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.bank(5),
        lambda m: m.bank(None),
        lambda m: m.create_bank(5),
        lambda m: m.create_bank("x", zone=5),
        lambda m: m.create_bank("x", zone="Mars"),
        lambda m: m.forget_bank(None),
        lambda m: m.banks(limit="x"),
        lambda m: m.banks(after=5),
        lambda m: m.check(bank=5),
    ],
)
def test_a_memory_refuses_what_is_no_bank(memory, call):
    with pytest.raises(CombrayError):
        call(memory)
    assert memory.banks() == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"embedder": "foo"},
        {"embedder": 5},
        {"method": "foo"},
        {"method": 5},
        {"analyser": "foo"},
        {"analyser": 5},
    ],
    ids=repr,
)
def test_a_part_that_does_not_exist_is_refused_when_the_memory_is_opened(tmp_path, wrong):
    with pytest.raises((ConfigError, InvalidInput)):
        Memory.open(tmp_path / "m.db", **wrong)
    with pytest.raises(InvalidInput):
        Memory.open(5)


def test_the_embedders_there_are_are_listed(tmp_path):
    with pytest.raises(ConfigError, match="auto, hash, minilm, none"):
        Memory.open(tmp_path / "m.db", embedder="foo")


def test_an_empty_name_of_a_bank_is_no_bank(memory):
    for name in ("", None):
        with pytest.raises(ScopeError):
            memory.bank(name)


def test_a_date_is_its_midnight_in_the_banks_zone(bank):
    bank.remember("A day.", session="s", said_at=date(2024, 6, 1))
    bank.remember("Gone by then.", session="s", said_at="2024-06-02")
    tokyo = ZoneInfo("Asia/Tokyo")
    assert [turn.said_at for turn in bank.turns("s")] == [
        datetime(2024, 6, 1, tzinfo=tokyo),
        datetime(2024, 6, 2, tzinfo=tokyo),
    ]


def test_numbers_of_numpy_are_numbers(bank):
    assert len(bank.rank("blue", k=np.int64(1))) == 1


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        # the turns were said at one o'clock in Tokyo, which is 16:00 of the day before in UTC
        (Filters(since=datetime(2024, 5, 4)), 2),
        (Filters(since=date(2024, 5, 4)), 2),
        (Filters(since="2024-05-04"), 2),
        (Filters(until=datetime(2024, 5, 4)), 0),
        (Filters(since=datetime(2024, 5, 4, tzinfo=UTC)), 0),
        (Filters(since="2024-05", until="2024-06"), 2),
        (Filters(since="2024", until="2025"), 2),
        (Filters(until="2024"), 0),
        (Filters(speakers="Ann"), 1),
        (Filters(tags="trip"), 1),
        (Filters(sessions="may"), 2),
        (Filters(roles="assistant"), 1),
        (Filters(roles=Role.USER), 1),
        (Filters(roles=["user", "assistant"]), 2),
    ],
    ids=repr,
)
def test_filters_take_one_name_and_times_in_the_banks_zone(bank, filters, found):
    assert len(bank.rank("blue", filters=filters)) == found


def test_one_id_may_stand_without_a_list(bank):
    (turn,) = bank.get("u1")
    assert bank.get(turn.id) == [turn]
    assert bank.forget(turns="u1").turns == (turn.id,)


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        (Filters(sessions="mai"), "no session is called 'mai'. Did you mean 'may'?"),
        (Filters(speakers=["Anne"]), "nobody called 'Anne' said anything. There are: Ann, Tom"),
        (Filters(tags=["trips"]), "no turn has the tag 'trips'"),
    ],
)
def test_a_filter_that_nothing_can_satisfy_is_named(bank, filters, says):
    found = bank.recall("blue", filters=filters)
    assert found.abstained
    assert says in found.reason


def test_a_name_that_is_wrong_among_right_ones_is_noted(bank):
    found = bank.recall(
        "blue", filters=Filters(sessions=["may", "june"], speakers="ann"), abstain=False
    )
    assert len(found.hits) == 1
    assert any("no session is called 'june'" in note for note in found.trace.notes)


def test_names_that_are_nearly_right_are_suggested(memory, bank):
    with pytest.raises(NotFound, match=r"Did you mean 'mira'\? `combray banks`"):
        memory.bank("mirra")
    with pytest.raises(NotFound, match=r"Did you mean 'may'\? `combray sessions mira`"):
        bank.forget(session="mayy")
    with pytest.raises(NotFound, match="`combray turns mira` lists"):
        bank.get(["u2"])


@pytest.mark.parametrize(
    "name", [" a", "a ", "a\x7f", "a\x85b", "a\u202eb", "a\u200b", "\ufeffa", "a\u2066"]
)
def test_a_new_bank_has_no_name_that_looks_like_anothers(memory, name):
    with pytest.raises(InvalidInput, match="leave them out"):
        memory.create_bank(name)


UNSEEN = ["\u200b", "\u202e\u2066", "\ufeff \u2060", "\U000e0100", "\u3164", "\u00ad", "\u2800"]
CONTROL = ["a\x00", "a\tb", "a\x7f", "a\x85b", "\x9bm", "a\u2028b"]


@pytest.mark.parametrize("name", [*UNSEEN, *CONTROL], ids=ascii)
@pytest.mark.parametrize(
    "call",
    [
        lambda memory, name: memory.create_bank(name),
        lambda memory, name: memory.bank("b", create=True).remember("x", session=name),
        lambda memory, name: memory.bank("b", create=True).remember("x", session=Session(name=name)),
        lambda memory, name: memory.bank("b", create=True).remember("x", speaker=name),
        lambda memory, name: memory.bank("b", create=True).remember(TurnDraft(text="x", tags=[name])),
        lambda memory, name: memory.bank("b", create=True).remember(TurnDraft(text="x", id=name)),
    ],
    ids=["bank", "session's name", "session", "speaker", "tag", "id"],
)  # fmt: skip
def test_no_new_name_is_unseen_or_holds_controls(memory, call, name):
    with pytest.raises(InvalidInput):
        call(memory, name)
    assert not any(bank.n_turns for bank in memory.banks())


@pytest.mark.parametrize("name", ["Zoë", "👩\u200d👧", "\u200eMira", "\u845b\U000e0100"])
def test_speakers_tags_and_sessions_may_be_named_in_any_script(bank, name):
    bank.remember(TurnDraft(text="x", speaker=name, tags=[name]), session=name)
    (turn,) = bank.turns(name)
    assert (turn.speaker, turn.tags) == (name, (name,))


@pytest.mark.parametrize("name", [" a", "a\u200b", "\u202e", "a\tb", "  ", "x" * 300], ids=ascii)
def test_a_bank_of_a_name_that_no_new_one_may_have_opens_and_goes_on(tmp_path, name):
    path = tmp_path / "m.db"
    with Memory.open(path, embedder="none") as memory:
        memory.create_bank("b").remember("One.", session="s")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE bank SET name = ?", (name,))
        connection.execute("UPDATE session SET name = ?", ("\u200b",))
    with Memory.open(path, embedder="none") as memory:
        bank = memory.bank(name, create=True)
        bank.remember("Two.", session="\u200b")
        assert [turn.text for turn in bank.turns("\u200b")] == ["One.", "Two."]
        assert [one.name for one in memory.banks()] == [name]


@pytest.mark.parametrize("name", ["Zoë", "मीरा", "\u0645\u06cc\u200c\u062e", "👩\u200d👧", "a b"])
def test_a_bank_may_be_named_in_any_script(memory, name):
    assert memory.create_bank(name).name == name


def test_what_no_database_can_hold_is_replaced_in_a_session_too(bank):
    bank.remember(
        "x", session=Session(name="n", title="a\ud800", source="b\0", metadata={"c": "\ud800"})
    )
    session = bank.session("n")
    assert (session.title, session.source, session.metadata) == (
        "a\ufffd",
        "b\ufffd",
        {"c": "\ufffd"},
    )


@pytest.mark.parametrize("path", ["a\0b", "~nobody-of-that-name/x.db", "a\ud800"])
def test_a_path_that_cannot_be_one_is_a_config_error(path):
    with pytest.raises(ConfigError):
        Memory.open(path, embedder="none")

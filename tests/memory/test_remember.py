"""What is stored, what counts as the same turn, and what is refused."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from combray import Memory, Role, TurnDraft
from combray.errors import ConfigError, Conflict, InvalidInput, NotFound, ScopeError
from combray.model.turn import MAX_TURN_BYTES

DAY = datetime(2024, 3, 3, 10, tzinfo=UTC)


@pytest.fixture
def bank(memory):
    return memory.create_bank("mira")


def texts(bank, session=None):
    return [turn.text for turn in bank.turns(session)]


def test_a_turn_is_kept_byte_for_byte(bank):
    said = [
        "  trailing spaces  ",
        "ok",
        "17",
        "🧜🏽‍♀️ emoji",
        "tabs\tand\nlines",
        "e\u0301 ≠ é",
        "\u2028",
        "<b>&amp;",
    ]
    bank.remember([text for text in said if text.strip()], session="s")
    assert texts(bank) == [text for text in said if text.strip()]


def test_lone_surrogates_and_nuls_become_the_replacement_character(bank):
    bank.remember("half \ud83d a face\x00!", session="s")
    assert texts(bank) == ["half \ufffd a face\ufffd!"]


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_an_empty_text_is_refused_unless_something_was_shown(bank, text):
    with pytest.raises(InvalidInput, match="nothing to remember"):
        bank.remember(text)
    bank.remember(TurnDraft(text=text, caption="a red kite"))
    assert bank.recall("kite", abstain=False).hits


def test_a_turn_of_a_megabyte_is_kept_and_one_of_five_is_refused(bank):
    long = "the harbour " * 87_382
    bank.remember(long, session="s")
    assert texts(bank) == [long]
    with pytest.raises(InvalidInput, match=str(MAX_TURN_BYTES)):
        bank.remember("x" * (MAX_TURN_BYTES + 1), session="s")
    assert len(texts(bank)) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"speaker": "Mira"},
        {"text": 7},
        {"text": "hi", "colour": "red"},
        {"text": "hi", "role": "narrator"},
        {"text": "hi", "speaker": "a\x00b"},
        {"text": "hi", "speaker": "x" * 300},
        {"text": "hi", "said_at": "last week"},
        {"text": "hi", "metadata": {"x": {1, 2}}},
        {"text": "hi", "metadata": {"x": float("nan")}},
        {"text": "hi", "tags": [""]},
        {"text": "hi", "id": " "},
        None,
        3,
    ],
    ids=repr,
)
def test_what_cannot_be_a_turn_is_refused_and_stores_nothing_of_the_call(bank, wrong):
    with pytest.raises(InvalidInput):
        bank.remember(["before", wrong], session="s")
    assert texts(bank) == []


def test_no_turn_at_all_is_refused(bank):
    with pytest.raises(InvalidInput, match="no turn"):
        bank.remember([])


def test_a_naive_time_is_read_in_the_banks_zone(memory):
    bank = memory.create_bank("tokyo", zone="Asia/Tokyo")
    bank.remember("good morning", said_at=datetime(2019, 6, 1, 8))
    (turn,) = bank.turns()
    assert turn.said_at == datetime(2019, 6, 1, 8, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert turn.said_at.utcoffset().total_seconds() == 9 * 3600


def test_the_callers_time_wins_over_the_clock_even_in_the_future(bank):
    for year in (2019, 2150):
        bank.remember("a dated word", said_at=f"{year}-06-01T08:00:00Z", session=str(year))
    assert [turn.said_at.year for turn in bank.turns()] == [2019, 2150]
    assert all(turn.stored_at.year == 2024 for turn in bank.turns())


def test_a_turn_without_a_session_belongs_to_its_day(bank):
    bank.remember("hello", said_at=DAY)
    bank.remember("and now")
    assert [session.name for session in bank.sessions()] == ["2024-03-03", "2024-05-01"]


def test_the_same_id_again_is_a_no_op_that_says_so(bank):
    first = bank.remember({"text": "my phone is 555-0101", "id": "m1"}, session="s", said_at=DAY)
    again = bank.remember({"text": "my phone is 555-0101", "id": "m1"}, session="s", said_at=DAY)
    assert (first.stored, again.stored, again.known) == (first.ids, (), first.ids)
    assert again.revision == first.revision


def test_the_same_words_at_another_time_are_another_turn(bank):
    bank.remember("my phone is 555-0101", session="s", said_at=DAY)
    bank.remember("my phone is 555-0101", session="s", said_at=DAY.replace(hour=11))
    assert len(texts(bank)) == 2


def test_the_same_id_with_other_words_conflicts_and_stores_nothing(bank):
    bank.remember({"text": "blue", "id": "m1"}, session="s")
    with pytest.raises(Conflict, match="m1"):
        bank.remember([{"text": "new", "id": "m2"}, {"text": "green", "id": "m1"}], session="s")
    assert texts(bank) == ["blue"]


@pytest.mark.parametrize("timed", [True, False])
def test_a_resent_transcript_stores_only_its_tail(bank, timed):
    said = ["hi", "ok", "hi", "the blue one", "ok", "ok"]
    drafts = [TurnDraft(text=text, said_at=DAY if timed else None) for text in said]
    for n in range(1, len(drafts) + 1):
        done = bank.remember(drafts[:n], session="s")
        assert len(done.stored) == 1
    assert texts(bank) == said


def test_an_untimed_continuation_is_stored_even_where_it_repeats_words(bank):
    bank.remember(["hi", "ok"], session="s")
    bank.remember(["ok", "hi", "bye"], session="s")
    assert texts(bank) == ["hi", "ok", "ok", "hi", "bye"]


def test_single_turns_without_a_time_are_never_taken_for_one_another(bank):
    for _ in range(3):
        bank.remember("ok", session="s")
    assert texts(bank) == ["ok"] * 3


def test_two_equal_turns_in_one_call_are_two_turns(bank):
    bank.remember(["ok", "ok"], session="s", said_at=DAY)
    assert texts(bank) == ["ok", "ok"]


@settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    said=st.lists(st.sampled_from(["a", "b", "ok"]), min_size=1, max_size=12),
    cuts=st.lists(st.integers(1, 12), max_size=6),
)
def test_any_sequence_of_growing_resends_ends_with_the_transcript(tmp_path_factory, said, cuts):
    with Memory.open(":memory:", embedder="none") as memory:
        bank = memory.create_bank("b")
        for n in [*sorted(min(cut, len(said)) for cut in cuts), len(said)]:
            bank.remember(said[:n], session="s")
        assert texts(bank) == said


def test_an_unknown_bank_is_an_error_that_does_not_make_one(memory):
    with pytest.raises(NotFound, match="nobody"):
        memory.bank("nobody")
    assert memory.banks() == []


def test_a_missing_bank_name_is_an_error(memory):
    for call in (memory.bank, memory.forget_bank, memory.create_bank):
        with pytest.raises((ScopeError, InvalidInput)):
            call("")


def test_a_bank_is_made_once(memory):
    memory.create_bank("b")
    with pytest.raises(Conflict):
        memory.create_bank("b")
    assert memory.bank("b", create=True).name == "b"


def test_an_unknown_zone_makes_no_bank(memory):
    with pytest.raises(ConfigError):
        memory.create_bank("b", zone="Mars")
    assert memory.banks() == []


def test_roles_and_speakers_have_sensible_defaults(bank):
    bank.remember([{"text": "one"}, {"text": "two", "role": "assistant"}], session="s")
    assert [(turn.speaker, turn.role) for turn in bank.turns()] == [
        ("user", Role.USER),
        ("assistant", Role.ASSISTANT),
    ]


def test_one_id_with_two_contents_in_one_call_is_a_conflict_and_stores_nothing(hashed):
    bank = hashed.create_bank("twice")
    with pytest.raises(Conflict):
        bank.remember([{"text": "first", "id": "1"}, {"text": "second", "id": "1"}], session="s")
    assert list(bank.turns()) == []
    done = bank.remember([{"text": "first", "id": "1"}, {"text": "first", "id": "1"}], session="s")
    assert len(done.stored) == 1


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("America/New_York", "0001-01-01"),
        ("America/New_York", "1850-03-04"),
        ("Europe/Amsterdam", "1936-03-04"),
        ("Africa/Monrovia", "1971-03-04"),
        ("Europe/Paris", "9999-12-31"),
    ],
)
def test_a_day_before_time_zones_stays_the_day_that_was_given(tmp_path, zone, day):
    from combray import Memory

    with Memory.open(tmp_path / "m.db", embedder="none") as memory:
        bank = memory.create_bank("b", zone=zone)
        bank.remember("We planted apples.", said_at=day)
        (turn,) = bank.turns()
        assert turn.said_at.date().isoformat() == day
        assert turn.said_at.hour == turn.said_at.minute == turn.said_at.second == 0
        assert day in bank.recall("apples").text
        assert bank.sessions()


def test_the_ends_of_the_calendar_are_stored_from_any_zone(tmp_path):
    from combray import Memory

    with Memory.open(tmp_path / "m.db", embedder="none") as memory:
        for zone in ("Asia/Tokyo", "America/New_York"):
            bank = memory.create_bank(zone, zone=zone)
            for when in (datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)):
                bank.remember(f"said at {when}", said_at=when)
            assert len(list(bank.turns())) == 2

"""Windows: what one call reads."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from combray.errors import InvalidInput
from combray.methods.simple.params import SimpleParams
from combray.methods.simple.windows import pieces, windows
from combray.model import Role, Turn

AT = datetime(2023, 5, 8, tzinfo=UTC)


def session(n, text="hello there"):
    return [
        (
            position + 1,
            Turn(
                id=f"t{position}",
                session="s",
                position=position,
                speaker="Ann",
                role=Role.USER,
                text=text,
                said_at=AT,
                content="",
                stored_at=AT,
            ),
        )
        for position in range(n)
    ]


def spans(found):
    return [(w.turns[0][1].position, w.turns[-1][1].position) for w in found]


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (0, []),
        (1, [(0, 0)]),
        (20, [(0, 19)]),
        (21, [(0, 19), (18, 20)]),
        (38, [(0, 19), (18, 37)]),
        (39, [(0, 19), (18, 37), (36, 38)]),
    ],
)
def test_twenty_turns_with_two_shared_and_no_window_inside_another(n, expected):
    assert spans(windows(session(n), SimpleParams())) == expected


def test_a_forgotten_turn_changes_only_the_windows_that_read_it():
    turns = session(56)
    before = windows(turns, SimpleParams())
    after = windows([pair for pair in turns if pair[1].position != 5], SimpleParams())
    assert [w.key for w in before][1:] == [w.key for w in after][1:]
    assert before[0].key != after[0].key


def test_a_new_turn_changes_only_the_last_window():
    before, after = windows(session(30), SimpleParams()), windows(session(31), SimpleParams())
    assert before[0].key == after[0].key
    assert before[1].key != after[1].key


def test_a_window_knows_the_turns_before_it():
    _, second = windows(session(25), SimpleParams())
    assert [turn.position for _, turn in second.before] == [15, 16, 17]
    assert second.docs == tuple(range(16, 26))


def test_turns_that_say_nothing_are_not_read():
    assert windows(session(3, text="  "), SimpleParams()) == []


@given(st.lists(st.text(max_size=400), min_size=1, max_size=30))
def test_nothing_of_long_turns_is_left_out_and_no_call_is_too_long(texts):
    turns = [
        (doc, replace(turn, text=text))
        for (doc, turn), text in zip(session(len(texts)), texts, strict=True)
    ]
    params = SimpleParams(max_window_chars=100, overlap=0)
    found = windows(turns, params)
    assert all(sum(map(len, window.texts)) <= 100 for window in found)
    read = "".join(text for window in found for text in window.texts)
    assert read == "".join(turn.text for _, turn in turns if turn.text.strip())
    assert len({window.key for window in found}) == len(found)


def test_a_long_text_is_cut_between_lines_or_words():
    text = "\n".join(f"line {n} of a log" for n in range(100))
    cut = list(pieces(text, 200))
    assert "".join(cut) == text
    assert all(piece.endswith("\n") for piece in cut[:-1])


@pytest.mark.parametrize(
    "wrong",
    [{"overlap": 20}, {"similarity": 1.0}, {"least_n": 30}, {"group_size": 1}, {"history": -1}],
)
def test_numbers_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidInput):
        SimpleParams(**wrong)

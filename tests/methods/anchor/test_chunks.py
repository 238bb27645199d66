import json
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from combray.methods.anchor.chunks import windows
from combray.model import Role, Turn
from combray.prompts.quoting import rendered


@pytest.mark.parametrize(
    ("n", "found"),
    [
        (0, []),
        (1, ["a"]),
        (2, ["ab"]),
        (3, ["abc"]),
        (4, ["abc", "cd"]),
        (5, ["abc", "cde"]),
        (6, ["abc", "cde", "ef"]),
    ],
)
def test_windows_of_three_share_a_turn(n, found):
    assert windows("abcdef"[:n], size=3, stride=2) == [tuple(one) for one in found]


def test_the_released_code_has_a_last_window_of_a_turn_it_has_seen():
    assert windows("abc", size=3, stride=2, contained=True) == [("a", "b", "c"), ("c",)]


@given(
    n=st.integers(0, 40), size=st.integers(1, 6), back=st.integers(0, 5), contained=st.booleans()
)
def test_every_turn_is_in_a_window_and_none_in_the_one_before_alone(n, size, back, contained):
    stride = max(1, size - back)
    turns = list(range(n))
    found = windows(turns, size=size, stride=stride, contained=contained)
    assert sorted({turn for one in found for turn in one}) == turns
    if not contained:
        assert all(not set(after) <= set(before) for before, after in pairwise(found))


@given(n=st.integers(0, 30), more=st.integers(0, 5), size=st.integers(1, 5), back=st.integers(0, 4))
def test_a_session_that_grows_keeps_its_whole_windows(n, more, size, back):
    stride = max(1, size - back)
    before = windows(range(n), size=size, stride=stride)
    after = windows(range(n + more), size=size, stride=stride)
    whole = [one for one in before if len(one) == size]
    assert after[: len(whole)] == whole


def turn(text, **other):
    at = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    given = {"id": "t1:1", "session": "s", "speaker": "Ann", "role": Role.USER, "said_at": at}
    return Turn(**given | {"text": text, "content": "c", "stored_at": at} | other)


def test_a_model_reads_the_time_and_a_line_a_turn():
    turns = [turn("Hello."), turn('He said "no".', speaker="Ben", caption="a red door")]
    assert rendered(turns) == (
        "2023-05-08 13:56 (Monday)\n"
        '"Ann" said "Hello."\n'
        '"Ben" said "He said \\"no\\"." and shared an image of "a red door"'
    )
    assert rendered([]) == ""


@given(st.lists(st.tuples(st.text(), st.text(), st.text()), min_size=1, max_size=3))
def test_no_text_passes_for_another_turn_or_closes_the_fence(said):
    turns = [turn(text, speaker=who, caption=seen) for who, text, seen in said]
    shown = rendered(turns)
    assert len(shown.splitlines()) == 1 + len(turns)
    assert "</" not in shown


@given(st.text())
def test_a_text_can_be_read_back_from_what_a_model_sees(text):
    line = rendered([turn(text)]).splitlines()[1]
    assert json.loads(line.removeprefix('"Ann" said ')) == text

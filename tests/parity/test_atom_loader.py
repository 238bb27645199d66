import json

import pytest

from combray.errors import NotFound
from combray.eval.datasets.atommem import atommem
from combray.importers.base import BadImport

TURN = {"session": "session_2", "dia_id": "D2:1", "facts": ["Ann bought  a hat."]}


def write(folder, turns):
    folder.mkdir(exist_ok=True)
    (folder / "conv-1.json").write_text(json.dumps({"results": turns}))
    return folder


def test_released_facts_are_read_from_their_folder_or_the_one_above(tmp_path):
    silent = {**TURN, "dia_id": "D2:2", "facts": []}
    folder = write(tmp_path / "locomo_facts_atommem", [TURN, silent])
    turns = atommem(tmp_path)["conv-1"]
    assert turns == atommem(folder)["conv-1"]
    assert [one.turn for one in turns] == [
        ("conv-1/session_2", "D2:1"),
        ("conv-1/session_2", "D2:2"),
    ]
    assert [one.facts for one in turns] == [("Ann bought a hat.",), ()]


def test_a_fact_that_a_turn_gave_twice_or_that_says_nothing_is_not_kept_twice_or_at_all(tmp_path):
    folder = write(tmp_path / "run", [{**TURN, "facts": ["Ann is well.", "Ann  is well.", " "]}])
    assert atommem(folder)["conv-1"][0].facts == ("Ann is well.",)


@pytest.mark.parametrize(
    ("turns", "named"),
    [
        ({}, "'results' must be an array, not an object"),
        ([1], "turn 1: a turn must be an object"),
        ([{**TURN, "session": 2}], "turn 1: 'session' must be text"),
        ([{**TURN, "dia_id": None}], "turn 1: 'dia_id' must be text"),
        ([TURN, {**TURN, "dia_id": "D2:2", "facts": [1]}], "turn 2: 'facts' must be an array"),
        ([TURN, TURN], "turn 2: the turn 'D2:1' stands there twice"),
    ],
)
def test_a_file_that_is_no_such_release_is_refused_with_its_place(tmp_path, turns, named):
    with pytest.raises(BadImport, match=named):
        atommem(write(tmp_path / "run", turns))


def test_a_folder_without_conversations_is_not_found(tmp_path):
    with pytest.raises(NotFound):
        atommem(tmp_path)


def test_the_release_is_read_whole():
    try:
        released = atommem()
    except NotFound as error:
        pytest.skip(str(error))
    turns = [turn for one in released.values() for turn in one]
    assert (len(released), len(turns)) == (10, 4122)
    assert sum(len(turn.facts) for turn in turns) == 6316

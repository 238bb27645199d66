import json
from datetime import datetime

import pytest

from combray.importers import BadImport, detect, read


def turn(number, **more):
    return {"speaker": "Ann", "dia_id": f"D1:{number}", "text": f"text {number}", **more}


def conversation(**more):
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [turn(1), turn(2, blip_caption="a red bicycle", query="secret answer")],
            "session_2_date_time": "9:00 am on 9 May, 2023",
            **more,
        },
        "qa": [],
        "event_summary": {"events_session_1": "secret summary"},
        "observation": {"session_1_observation": "secret observation"},
        "session_summary": {"session_1_summary": "secret summary"},
    }


def saved(tmp_path, document):
    path = tmp_path / "any.json"
    path.write_text(json.dumps(document))
    return path


def test_a_session_becomes_turns_with_ids_captions_and_its_date(tmp_path):
    (session,) = read(saved(tmp_path, [conversation()]))
    assert session.session.name == "conv-1/session_1"
    assert [t.id for t in session.turns] == ["D1:1", "D1:2"]
    assert session.turns[1].caption == "a red bicycle"
    assert session.turns[0].said_at == datetime(2023, 5, 8, 13, 56)
    assert session.turns[0].speaker == "Ann"


def test_annotations_and_search_strings_are_never_read(tmp_path):
    sessions = list(read(saved(tmp_path, [conversation()])))
    assert "secret" not in repr(sessions)


def test_a_dated_session_without_turns_is_skipped(tmp_path):
    names = [s.session.name for s in read(saved(tmp_path, [conversation(session_3=[])]))]
    assert names == ["conv-1/session_1"]


def test_sessions_come_in_order_of_their_number(tmp_path):
    late = {
        "session_10_date_time": "1:00 pm on 1 June, 2023",
        "session_10": [{**turn(1), "dia_id": "D10:1"}],
        "session_9_date_time": "1:00 pm on 31 May, 2023",
        "session_9": [{**turn(1), "dia_id": "D9:1"}],
    }
    names = [s.session.name for s in read(saved(tmp_path, [conversation(**late)]))]
    assert names == ["conv-1/session_1", "conv-1/session_9", "conv-1/session_10"]


def test_one_conversation_alone_is_recognised_too(tmp_path):
    assert detect(saved(tmp_path, conversation())) == "locomo"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"session_1_date_time": "8 May 2023, 13:56"}, "conversation 1, session_1: the date"),
        ({"session_1_date_time": None}, "session_1: 'session_1_date_time' must be text"),
        ({"session_1": {}}, "session_1: a session must be an array"),
        ({"session_1": [turn(1), turn(1)]}, "session_1: two turns have the same dia_id"),
        ({"session_1": [turn(1, dia_id="1")]}, "session_1, turn 1: the dia_id '1'"),
        ({"session_1": [turn(1, text=" ")]}, "session_1, turn 1: a turn has neither text"),
        ({"session_1": [turn(1, speaker=3)]}, "turn 1: 'speaker' must be text, not a number"),
        ({"session_1": ["hello"]}, "turn 1: a turn must be an object, not text"),
    ],
)
def test_a_broken_session_is_an_error_that_names_the_place(tmp_path, change, place):
    path = saved(tmp_path, [conversation(**change)])
    with pytest.raises(BadImport) as caught:
        list(read(path, "locomo"))
    assert str(path) in str(caught.value)
    assert place in str(caught.value)


@pytest.mark.parametrize(
    "document", [[], "text", [[]], [{"conversation": {}}], [{"sample_id": "x"}]]
)
def test_what_is_no_release_is_an_error(tmp_path, document):
    with pytest.raises(BadImport):
        list(read(saved(tmp_path, document), "locomo"))

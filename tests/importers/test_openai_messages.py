import json
from datetime import UTC, datetime

import pytest

from combray.errors import InvalidInput
from combray.importers import BadImport, detect, from_messages, read
from combray.model import Role


def saved(tmp_path, value, name="chat.json"):
    path = tmp_path / name
    text = "".join(json.dumps(v) + "\n" for v in value) if name.endswith("l") else json.dumps(value)
    path.write_text(text, encoding="utf-8")
    return path


def turns_of(tmp_path, *messages):
    (session,) = read(saved(tmp_path, list(messages)), "openai")
    return session.turns


HELLO = [
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Hello, Mira."},
]


def test_an_array_of_messages_is_one_session_named_after_the_file(tmp_path):
    path = saved(tmp_path, HELLO, "greeting.json")
    (session,) = read(path)
    assert detect(path) == "openai"
    assert session.session.name == "greeting"
    assert [(t.role, t.text) for t in session.turns] == [
        (Role.USER, "Hello."),
        (Role.ASSISTANT, "Hello, Mira."),
    ]


def test_lines_of_messages_are_one_session(tmp_path):
    (session,) = read(saved(tmp_path, HELLO, "greeting.jsonl"))
    assert session.session.name == "greeting"
    assert len(session.turns) == 2


def test_lines_of_conversations_are_sessions_with_title_and_start(tmp_path):
    first = {"id": "c-1", "title": "Greeting", "created": 1700000000, "messages": HELLO}
    sessions = list(read(saved(tmp_path, [first, {"messages": HELLO}], "all.jsonl")))
    assert [s.session.name for s in sessions] == ["c-1", "all-2"]
    assert sessions[0].session.title == "Greeting"
    assert sessions[0].session.started_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_an_array_of_conversations_and_a_single_one_are_read(tmp_path):
    many = read(saved(tmp_path, [{"messages": HELLO}, {"messages": HELLO}], "many.json"))
    assert [s.session.name for s in many] == ["many-1", "many-2"]
    (one,) = read(saved(tmp_path, {"messages": HELLO, "metadata": {"app": "x"}}, "one.json"))
    assert one.session.metadata == {"app": "x"}


def test_a_single_line_with_a_conversation_is_read_whatever_the_name(tmp_path):
    (session,) = read(saved(tmp_path, [{"messages": HELLO}], "one.jsonl"))
    assert len(session.turns) == 2


def test_a_naive_start_stays_in_the_metadata(tmp_path):
    conversation = {"messages": HELLO, "created_at": "2024-05-01T10:00:00"}
    (session,) = read(saved(tmp_path, conversation))
    assert session.session.started_at is None
    assert session.session.metadata == {"created": "2024-05-01T10:00:00"}


@pytest.mark.parametrize(
    ("said_as", "role"),
    [
        ("developer", Role.SYSTEM),
        ("system", Role.SYSTEM),
        ("function", Role.TOOL),
        ("tool", Role.TOOL),
        ("critic", Role.OTHER),
    ],
)
def test_roles_are_mapped(tmp_path, said_as, role):
    (turn,) = turns_of(tmp_path, {"role": said_as, "content": "x"})
    assert turn.role is role
    assert turn.metadata == ({"role": "critic"} if said_as == "critic" else {})


def test_the_name_becomes_the_speaker_and_the_id_stays(tmp_path):
    (turn,) = turns_of(tmp_path, {"role": "user", "name": "Mira", "id": "m1", "content": "x"})
    assert (turn.speaker, turn.id) == ("Mira", "m1")


def test_text_is_verbatim(tmp_path):
    text = "  two\u2028lines \U0001f600\x85 end \n"
    for name in ("a.json", "a.jsonl"):
        message = {"role": "user", "content": text}
        path = tmp_path / name
        path.write_text(json.dumps(message, ensure_ascii=False) + "\n", encoding="utf-8")
        (session,) = read(path)
        assert session.turns[0].text == text


def test_parts_become_text_a_caption_and_a_list_of_what_was_left_out(tmp_path):
    parts = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "transcript": "and listen"}},
        {"type": "file", "file": {"file_id": "f"}},
        "bare text",
    ]
    (turn,) = turns_of(tmp_path, {"role": "user", "content": parts})
    assert turn.text == "Look:\nand listen\nbare text"
    assert turn.caption == "2 images"
    assert turn.metadata == {"images": ["https://example.org/a.png"], "left_out": ["file"]}


def test_an_image_alone_is_a_turn(tmp_path):
    (turn,) = turns_of(
        tmp_path,
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]},
    )
    assert (turn.text, turn.caption) == ("", "image")


def test_tool_calls_stay_readable_and_whole(tmp_path):
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "weather", "arguments": '{"in":"Rome"}'},
    }
    asked, answered = turns_of(
        tmp_path,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "21 °C"},
    )
    assert asked.text == 'call weather({"in":"Rome"})'
    assert asked.metadata == {"tool_calls": [call]}
    assert answered.metadata == {"tool_call_id": "c1"}


def test_the_older_function_call_is_read_too(tmp_path):
    message = {
        "role": "assistant",
        "content": "One moment.",
        "function_call": {"name": "weather", "arguments": {"in": "Rome"}},
    }
    (turn,) = turns_of(tmp_path, message)
    assert turn.text == 'One moment.\ncall weather({"in": "Rome"})'


def test_a_message_without_content_is_left_out(tmp_path):
    turns = turns_of(tmp_path, {"role": "assistant", "content": None}, HELLO[0])
    assert [t.text for t in turns] == ["Hello."]


@pytest.mark.parametrize(
    "key", ["created_at", "timestamp", "said_at", "at", "created", "create_time", "date"]
)
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1700000000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (1700000000.5, datetime(2023, 11, 14, 22, 13, 20, 500000, tzinfo=UTC)),
        (1700000000000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("1700000000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("2023-11-14T22:13:20Z", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("2023-11-14 22:13", datetime(2023, 11, 14, 22, 13)),
    ],
)
def test_times_are_read_under_the_usual_names(tmp_path, key, value, expected):
    (turn,) = turns_of(tmp_path, {"role": "user", "content": "x", key: value})
    assert turn.said_at == expected


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("hello", "a message must be an object, not text"),
        ({"content": "x"}, "'role' must be text, not missing"),
        ({"role": " ", "content": "x"}, "'role' is empty"),
        ({"role": "user", "content": 3}, "'content' must be text or an array of parts"),
        ({"role": "user", "content": [3]}, "message 1, part 1: a part must be an object"),
        ({"role": "user", "content": [{"text": "x"}]}, "part 1: 'type' must be text"),
        ({"role": "user", "content": "x", "created_at": "soon"}, "'created_at' is 'soon'"),
        ({"role": "user", "content": "x", "timestamp": 1e300}, "'timestamp' is 1e+300"),
        ({"role": "user", "content": "x", "timestamp": True}, "'timestamp' is True"),
        ({"role": "user", "content": "x", "id": {}}, "'id' must be text or a whole number"),
        ({"role": "user", "content": "x", "name": 3}, "'name' must be text"),
        ({"role": "user", "content": "x", "tool_calls": 3}, "'tool_calls' must be an array"),
    ],
)
def test_a_bad_message_is_an_error_that_names_it(tmp_path, message, problem):
    with pytest.raises(BadImport, match="message 1") as caught:
        turns_of(tmp_path, message)
    assert problem in str(caught.value)


def test_a_bad_line_is_an_error_with_its_number_and_what_came_before_is_given(tmp_path):
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps({"messages": HELLO}) + "\n\n{broken\n")
    sessions = read(path)
    assert len(next(sessions).turns) == 2
    with pytest.raises(BadImport) as caught:
        next(sessions)
    assert caught.value.line == 3


def test_lines_must_all_be_of_one_kind(tmp_path):
    path = saved(tmp_path, [{"messages": HELLO}, HELLO[0]], "chat.jsonl")
    with pytest.raises(BadImport, match="line 2"):
        list(read(path))


@pytest.mark.parametrize(
    "raw",
    [b"[{]", b'[{"role": "user", "content": "\xff"}]', b"[]", b"3", b'{"a": NaN}', b"[" * 200000],
)
def test_what_is_no_chat_is_an_error(tmp_path, raw):
    path = tmp_path / "chat.json"
    path.write_bytes(raw)
    with pytest.raises(BadImport):
        list(read(path, "openai"))


def test_a_byte_order_mark_is_no_trouble(tmp_path):
    path = tmp_path / "chat.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(HELLO[0]).encode() + b"\n")
    assert detect(path) == "openai"
    (session,) = read(path)
    assert session.turns[0].text == "Hello."


def test_a_message_without_a_time_was_said_when_the_one_before_it_was(tmp_path):
    messages = [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b", "date": "2024-05-01T10:00:00Z"},
        {"role": "user", "content": "c"},
        {"role": "user", "content": "d", "date": "2024-05-02T10:00:00Z"},
        {"role": "user", "content": "e"},
    ]
    (session,) = read(saved(tmp_path, messages))
    days = [turn.said_at and turn.said_at.day for turn in session.turns]
    assert days == [None, 1, 1, 2, 2]
    assert (session.n_carried, session.n_untimed) == (2, 1)


@pytest.mark.parametrize("created", ["2024-05-01T10:00:00Z", "2024-05-01T10:00:00"])
def test_the_first_message_was_said_when_its_conversation_was_made(tmp_path, created):
    (session,) = read(saved(tmp_path, {"messages": HELLO, "created": created}))
    assert {turn.said_at for turn in session.turns} == {datetime.fromisoformat(created)}
    assert (session.n_carried, session.n_untimed) == (2, 0)


def test_messages_of_a_running_program_become_turns():
    turns = from_messages([*HELLO, {"role": "assistant", "content": None}])
    assert [(turn.role, turn.text) for turn in turns] == [
        (Role.USER, "Hello."),
        (Role.ASSISTANT, "Hello, Mira."),
    ]
    with pytest.raises(BadImport, match="message 1: 'role' must be text"):
        from_messages([{"content": "x"}])


@pytest.mark.parametrize("call", [from_messages, detect, read])
@pytest.mark.parametrize("wrong", [None, 5, b"bytes"])
def test_what_is_neither_messages_nor_a_path_is_an_invalid_input(call, wrong):
    with pytest.raises(InvalidInput):
        call(wrong)

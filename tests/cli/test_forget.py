import json

import pytest

SECRET = "The harbour safe opens with 4711."


@pytest.fixture
def told(cli):
    for n, text in enumerate([SECRET, "Bread was good.", "The ferry was late."]):
        cli("remember", "mira", text, "--id", f"t{n}", "--session", "s" if n < 2 else "other")
    return cli


def ids(cli):
    return [json.loads(line)["turn"]["id"] for line in cli("export", "mira").out.splitlines()
            if line.startswith('{"turn"')]  # fmt: skip


def test_a_turn_goes_with_a_receipt_and_its_bytes_leave_the_file(told, database):
    (line,) = [line for line in told("export", "mira").out.splitlines() if SECRET in line]
    target = json.loads(line)["turn"]["id"]
    done = told("forget", "mira", "--turn", target, "--yes", "--json")
    receipt = json.loads(done.out)
    assert (done.code, receipt["turns"], receipt["erased"]) == (0, [target], True)
    assert SECRET in done.err  # the preview
    assert target not in ids(told)
    assert b"4711" not in database.read_bytes()


def test_a_session_and_a_bank_can_go_whole(told):
    done = told("forget", "mira", "--session", "s", "--yes")
    assert "2 turns" in done.err
    assert "Forgot 2 turns of bank mira" in done.out
    done = told("forget", "mira", "--bank", "--yes")
    assert "1 turn in 1 session" in done.err
    assert json.loads(told("banks", "--json").out)["banks"] == []


@pytest.mark.parametrize(
    "arguments", [(), ("--bank", "--session", "s"), ("--turn", "t1:x", "--bank")]
)
def test_exactly_one_thing_must_be_named(told, arguments):
    done = told("forget", "mira", *arguments, "--yes")
    assert (done.code, "one of --turn, --session and --bank" in done.err) == (2, True)
    assert len(ids(told)) == 3


def test_an_unknown_turn_is_an_error_and_nothing_goes(told):
    done = told("forget", "mira", "--turn", ids(told)[0], "--turn", "t1:unknown", "--yes")
    assert done.code == 3
    assert len(ids(told)) == 3


def test_where_nobody_can_be_asked_nothing_is_deleted(process, told):
    done = process("forget", "mira", "--bank")
    assert (done.code, "--yes" in done.err) == (2, True)
    assert len(ids(told)) == 3


@pytest.mark.parametrize(("typed", "code", "left"), [(b"n\n", 1, 3), (b"\n", 1, 3), (b"y\n", 0, 1)])
def test_a_person_is_asked_first(terminal, told, typed, code, left):
    done = terminal("forget", "mira", "--session", "s", typed=typed)
    assert done.code == code
    assert "This forgets session s of bank mira: 2 turns." in done.out
    assert len(ids(told)) == left

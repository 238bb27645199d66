import io
import json

import pytest

from combray import Memory


def stored(database, bank="mira"):
    with Memory.open(database, embedder="hash") as memory:
        return list(memory.bank(bank).turns())


def give(monkeypatch, raw: bytes):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))


def test_every_option_ends_up_in_the_turn(cli, database):
    done = cli(
        *("remember", "mira", "The door was red.", "--speaker", "Mira", "--role", "assistant"),
        *("--session", "walk", "--at", "2024-03-03T10:00:00+01:00", "--tag", "b", "--tag", "a"),
        *("--id", "w1", "--caption", "a red door"),
    )
    assert done.code == 0
    (turn,) = stored(database)
    assert (turn.text, turn.speaker, turn.role) == ("The door was red.", "Mira", "assistant")
    assert (turn.session, turn.client_id, turn.caption) == ("walk", "w1", "a red door")
    assert turn.said_at.isoformat() == "2024-03-03T10:00:00+01:00"
    assert turn.tags == ("a", "b")
    assert done.out == f"Remembered {turn.id} in session walk of bank mira.\n"


def test_the_same_turn_again_is_a_no_op_that_says_so(cli, database):
    arguments = ("remember", "mira", "Once.", "--id", "a", "--session", "s")
    first, second = cli(*arguments), cli(*arguments)
    assert first.out.startswith("Remembered")
    assert second.out.startswith("Known already:")
    assert len(stored(database)) == 1


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_text_comes_from_standard_input_byte_for_byte(cli, database, monkeypatch, arguments):
    give(monkeypatch, "  two\nlines: é\u2028 \n\n".encode())
    assert cli("remember", "mira", *arguments).code == 0
    assert stored(database)[0].text == "  two\nlines: é\u2028 \n"


def test_standard_input_that_is_not_utf8_is_refused(cli, database, monkeypatch):
    give(monkeypatch, b"caf\xe9")
    done = cli("remember", "mira")
    assert (done.code, "byte 3" in done.err) == (2, True)
    assert not database.exists()


def test_a_caption_alone_is_a_turn(cli, database):
    assert cli("remember", "mira", "--caption", "a red door").code == 0
    assert (stored(database)[0].text, stored(database)[0].caption) == ("", "a red door")


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_turn_is_refused(cli, text):
    done = cli("remember", "mira", text)
    assert (done.code, "nothing to remember" in done.err) == (2, True)


def test_a_person_at_a_terminal_who_gives_no_text_is_told(terminal):
    done = terminal("remember", "mira")
    assert done.code == 2
    assert "give the text" in done.out


def test_no_create_makes_neither_a_bank_nor_a_file(cli, database):
    done = cli("remember", "mira", "Words.", "--no-create")
    assert done.code == 3
    assert not database.exists()
    cli("remember", "other", "Words.")
    done = cli("remember", "mira", "Words.", "--no-create")
    assert (done.code, "no bank 'mira'" in done.err) == (3, True)


def test_what_was_created_is_said_and_told(cli):
    done = cli("remember", "mira", "Words.", "--json")
    assert json.loads(done.out)["created"] is True
    assert done.err == "Created bank mira.\n"
    assert json.loads(cli("remember", "mira", "More words.", "--json").out)["created"] is False


def test_quiet_leaves_out_the_notes(cli):
    assert cli("--quiet", "remember", "mira", "Words.").err == ""


def test_a_turn_without_vectors_says_so(cli, monkeypatch):
    monkeypatch.setenv("COMBRAY_EMBEDDER", "none")
    done = cli("remember", "mira", "Words.")
    assert done.code == 0
    assert "combray reindex mira" in done.err


def test_a_file_is_remembered_whole_and_takes_no_words_beside_it(cli, database, tmp_path):
    path = tmp_path / "chat.json"
    path.write_text('[{"role": "user", "content": "Hello."}]', encoding="utf-8")
    assert cli("remember", "mira", "--file", str(path)).code == 0
    assert [turn.text for turn in stored(database)] == ["Hello."]
    done = cli("remember", "mira", "Words.", "--file", str(path))
    assert (done.code, "--file" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--at", "yesterday"), "ISO 8601"),
        (("--role", "king"), "role"),
        (("--speaker", " "), "speaker"),
        (("--tag", ""), "tag"),
        (("--session", "a\nb"), "session"),
    ],
)
def test_what_cannot_be_stored_is_refused(cli, arguments, says):
    done = cli("remember", "mira", "Words.", *arguments)
    assert done.code == 2
    assert says in done.err

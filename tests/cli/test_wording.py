"""What is said when something is wrong: in our words, about the user's things, and before anything is done."""

import json

import pytest

from combray import Memory


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("recall", "b", "x", "--k", "three"), "'--k': it must be a whole number."),
        (("recall", "b", "x", "--budget", "x"), "'--budget': it must be a whole number."),
        (("banks", "--limit", "0"), "'--limit': it must be at least 1."),
        (("banks", "--limit", "9999"), "'--limit': it must be at most 1000."),
        (("recall", "b", "x", "--role", "king"), "'--role': 'king' is not one of 'user'"),
        (("import", "b", "x", "--format", "word"), "'--format': 'word' is not one of 'auto'"),
    ],
)
def test_an_option_that_cannot_be_is_refused_in_our_words(cli, arguments, says):
    done = cli(*arguments)
    assert (done.code, says in done.err) == (2, True), done.err
    assert "Input should" not in done.err
    assert "Value error" not in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("",),
        ("  \n",),
        ("Words.", "--session", "a\nb"),
        ("Words.", "--at", "soon"),
        ("Words.", "--tag", ""),
        ("Words.", "--speaker", " "),
        ("Words.", "--zone", "Mars"),
    ],
)
def test_what_cannot_be_stored_makes_neither_a_bank_nor_a_file(cli, database, arguments):
    assert cli("remember", "b", *arguments).code == 2
    assert not database.exists()


def test_a_bank_is_made_in_the_zone_that_is_named(cli, database, tmp_path):
    cli("remember", "b", "Words.", "--at", "2024-05-01T10:00", "--zone", "Asia/Tokyo")
    path = tmp_path / "chat.json"
    path.write_text('[{"role": "user", "content": "Hello."}]', encoding="utf-8")
    cli("import", "c", str(path), "--zone", "Europe/Paris")
    with Memory.open(database, embedder="hash") as memory:
        assert [bank.zone for bank in memory.banks()] == ["Asia/Tokyo", "Europe/Paris"]
        (turn,) = memory.bank("b").turns()
    assert turn.said_at.isoformat() == "2024-05-01T10:00:00+09:00"


def test_reindexing_to_none_drops_the_vectors_and_says_so(cli):
    cli("remember", "b", "Words.")
    done = cli("reindex", "b", "--embedder", "none")
    assert "dropped the vectors of hash@1-64; b has no vectors: recall is lexical." in done.out
    assert json.loads(cli("banks", "--json").out)["banks"][0]["embedder"] is None


def test_an_embedder_that_does_not_exist_is_refused_before_anything_is_said(cli, monkeypatch):
    cli("remember", "b", "Words.")
    done = cli("reindex", "b", "--embedder", "foo")
    assert done.code == 2
    assert done.err.startswith("error: 'foo' is not an embedder; there are: auto, hash")
    monkeypatch.setenv("COMBRAY_EMBEDDER", "foo")
    assert cli("banks").code == 2


def test_two_things_to_forget_are_one_too_many(cli):
    cli("remember", "b", "Words.", "--session", "s")
    done = cli("forget", "b", "--session", "s", "--bank", "--yes")
    assert "name one thing to forget at a time: only one of --turn" in done.err


def test_a_failing_export_names_the_file_that_was_asked_for(cli, tmp_path):
    cli("remember", "b", "Words.")
    path = tmp_path / "nowhere" / "b.jsonl"
    done = cli("export", "b", str(path))
    assert done.code == 74
    assert done.err == f"error: {path}: No such file or directory.\n"


def test_a_file_that_breaks_off_is_said_to_do_so_once(cli, tmp_path):
    path = tmp_path / "chat.json"
    path.write_text('[{"role": "user\n', encoding="utf-8")
    done = cli("import", "b", str(path))
    assert done.code == 2
    assert " at at " not in done.err


def test_a_database_in_a_folder_that_is_not_there_says_so(cli, tmp_path):
    done = cli("banks", "--db", str(tmp_path / "nowhere" / "x.db"))
    assert done.code == 0
    assert f"nor a folder {tmp_path / 'nowhere'}" in done.err


def test_messages_without_times_are_counted(cli, tmp_path):
    messages = [
        {"role": "user", "content": "One."},
        {"role": "assistant", "content": "Two.", "date": "2024-05-01T10:00:00Z"},
        {"role": "user", "content": "Three."},
        {"role": "assistant", "content": "Four."},
    ]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    done = cli("import", "b", str(path))
    assert "2 messages had no time and were given that of the message before" in done.err
    assert "1 message had no time, nor any before them: they count as said at the time" in done.err
    again = json.loads(cli("import", "b", str(path), "--json").out)["banks"][0]
    assert (again["stored"], again["known"]) == (0, 4)


@pytest.mark.parametrize(("since", "found"), [("2024-06", True), ("2024", True), ("2025", False)])
def test_a_month_or_a_year_may_stand_for_its_beginning(cli, since, found):
    cli("remember", "b", "The kite flew.", "--at", "2024-06-01")
    done = cli("recall", "b", "kite", "--since", since, "--no-abstain")
    assert ("The kite flew." in done.out) == found


def test_settings_are_shown_as_they_are_in_force(cli, monkeypatch, tmp_path):
    settings = json.loads(cli("config", "--json").out)
    assert settings["models"]["value"].endswith("models")
    monkeypatch.setenv("COMBRAY_DATA", str(tmp_path))
    assert json.loads(cli("config", "--json").out)["data"]["value"] == str(tmp_path)

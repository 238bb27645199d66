"""`import`, and what `remember --file` shares with it."""

import json

import pytest

from combray import Memory
from combray.cli.loading import BATCH


@pytest.fixture
def locomo(tmp_path):
    def write(*samples):
        path = tmp_path / "locomo.json"
        path.write_text(json.dumps([sample(name) for name in samples]), encoding="utf-8")
        return str(path)

    return write


def sample(name):
    return {
        "sample_id": name,
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ana", "dia_id": "D1:1", "text": f"Hello from {name}."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Hello Ana."},
            ],
        },
    }


def messages(path, values):
    path.write_text(json.dumps(values), encoding="utf-8")
    return str(path)


def banks(cli):
    return {
        bank["name"]: bank["n_turns"] for bank in json.loads(cli("banks", "--json").out)["banks"]
    }


def test_several_conversations_become_a_bank_each(cli, locomo):
    done = cli("import", "lo", locomo("conv-26", "conv-30"))
    assert done.code == 0
    assert banks(cli) == {"lo/conv-26": 2, "lo/conv-30": 2}


def test_one_conversation_can_be_picked_into_the_bank_itself(cli, locomo):
    path = locomo("conv-26", "conv-30")
    assert cli("import", "lo", path, "--only", "conv-30").code == 0
    assert banks(cli) == {"lo": 2}
    done = cli("import", "lo", path, "--only", "conv-99")
    assert done.code == 3
    assert "conv-26, conv-30" in done.err


def test_a_file_with_one_conversation_needs_no_second_name(cli, locomo):
    cli("import", "lo", locomo("conv-26"))
    assert banks(cli) == {"lo": 2}


def test_only_is_for_locomo_alone(cli, tmp_path):
    path = messages(tmp_path / "chat.json", [{"role": "user", "content": "Hello."}])
    done = cli("import", "mira", path, "--only", "conv-26")
    assert (done.code, "LoCoMo" in done.err) == (2, True)


def test_importing_twice_changes_nothing(cli, tmp_path):
    untimed = [{"role": "user", "content": f"Line {n % 7}."} for n in range(2 * BATCH + 10)]
    path = messages(tmp_path / "chat.json", untimed)
    first = json.loads(cli("import", "mira", path, "--json").out)["banks"][0]
    second = json.loads(cli("import", "mira", path, "--json").out)["banks"][0]
    assert (first["stored"], first["known"], first["created"]) == (len(untimed), 0, True)
    assert (second["stored"], second["known"], second["created"]) == (0, len(untimed), False)


def test_equal_turns_at_the_same_time_are_all_kept(cli, tmp_path):
    same = [{"role": "user", "content": "Yes.", "created_at": 1_700_000_000}] * (BATCH + 5)
    path = messages(tmp_path / "chat.json", same)
    assert json.loads(cli("import", "mira", path, "--json").out)["banks"][0]["stored"] == BATCH + 5


def test_a_longer_transcript_adds_its_new_tail_alone(cli, tmp_path):
    lines = [{"role": "user", "content": f"Line {n}."} for n in range(6)]
    cli("import", "mira", messages(tmp_path / "chat.json", lines[:4]))
    done = json.loads(cli("import", "mira", messages(tmp_path / "chat.json", lines), "--json").out)
    assert (done["banks"][0]["stored"], done["banks"][0]["known"]) == (2, 4)


def test_a_damaged_export_is_refused_before_anything_is_stored(cli, tmp_path):
    cli("remember", "mira", "One.", "--session", "a")
    cli("remember", "mira", "Two.", "--session", "b")
    whole = cli("export", "mira").out
    (tmp_path / "cut.jsonl").write_text("".join(whole.splitlines(keepends=True)[:-1]), "utf-8")
    done = cli("import", "copy", str(tmp_path / "cut.jsonl"))
    assert (done.code, "truncated" in done.err) == (2, True)
    assert list(banks(cli)) == ["mira"]


def test_a_restored_bank_keeps_its_zone_and_its_age(cli, tmp_path, database):
    with Memory.open(database, embedder="hash") as memory:
        made = memory.create_bank("mira", zone="Europe/Paris").bank
    cli("export", "mira", str(tmp_path / "mira.jsonl"))
    cli("import", "copy", str(tmp_path / "mira.jsonl"))
    with Memory.open(database, embedder="hash") as memory:
        copy = memory.bank("copy").bank
    assert (copy.zone, copy.created_at) == (made.zone, made.created_at)


def test_a_restored_turn_that_differs_from_the_stored_one_is_a_conflict(cli, tmp_path):
    cli("remember", "mira", "One.", "--id", "a", "--session", "s")
    path = tmp_path / "mira.jsonl"
    path.write_text(cli("export", "mira").out.replace("One.", "Two."), encoding="utf-8")
    done = cli("import", "mira", str(path))
    assert done.code == 4
    assert "One." in cli("export", "mira").out


def test_a_format_can_be_forced_and_must_exist(cli, tmp_path):
    path = messages(tmp_path / "chat.json", [{"role": "user", "content": "Hello."}])
    assert cli("import", "mira", path, "--format", "openai").code == 0
    assert cli("import", "mira", path, "--format", "locomo").code == 2
    assert cli("import", "mira", path, "--format", "word").code == 2


def test_no_create_refuses_an_unknown_bank(cli, tmp_path, database):
    path = messages(tmp_path / "chat.json", [{"role": "user", "content": "Hello."}])
    assert cli("import", "mira", path, "--no-create").code == 3
    assert not database.exists()


def test_standard_input_is_a_file_too(process):
    done = process("import", "mira", "-", stdin=b'[{"role": "user", "content": "Hello."}]')
    assert done.code == 0
    assert "Hello." in process("export", "mira").out


def test_an_export_with_json_needs_a_file_and_describes_it(cli, tmp_path):
    cli("remember", "mira", "One.")
    assert cli("export", "mira", "--json").code == 2
    done = json.loads(cli("export", "mira", str(tmp_path / "mira.jsonl"), "--json").out)
    assert done["bytes"] == (tmp_path / "mira.jsonl").stat().st_size
    assert len(done["sha256"]) == 64


def test_an_export_that_fails_leaves_the_old_file_alone(cli, tmp_path):
    path = tmp_path / "mira.jsonl"
    path.write_text("precious", encoding="utf-8")
    assert cli("export", "nobody", str(path)).code == 3
    assert path.read_text(encoding="utf-8") == "precious"


def test_a_bank_with_more_sessions_than_a_page_is_exported_whole(cli, tmp_path, database):
    with Memory.open(database, embedder="none") as memory:
        bank = memory.create_bank("mira")
        for n in range(130):
            bank.remember(f"Turn {n}.", session=f"s{n}")
    assert cli("export", "mira").out.count('{"turn"') == 130
    assert cli("forget", "mira", "--session", "s99", "--yes").code == 0
    assert cli("export", "mira").out.count('{"turn"') == 129


def test_a_gap_that_forgetting_left_closes_up_when_a_bank_is_restored(cli, tmp_path):
    for name in "abc":
        cli("remember", "mira", f"Turn {name}.", "--id", name, "--session", "s")
    middle = json.loads(cli("export", "mira").out.splitlines()[3])["turn"]["id"]
    cli("forget", "mira", "--turn", middle, "--yes")
    path = tmp_path / "mira.jsonl"
    cli("export", "mira", str(path))
    assert [turn["position"] for turn in turns(path.read_text("utf-8"))] == [0, 2]
    cli("import", "copy", str(path))
    assert [turn["position"] for turn in turns(cli("export", "copy").out)] == [0, 1]


def turns(export):
    rows = [json.loads(line) for line in export.splitlines()]
    return [row["turn"] for row in rows if "turn" in row]


def test_nothing_is_stored_when_the_second_conversation_has_a_bad_name(cli, tmp_path):
    path = tmp_path / "two.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": at, "messages": [{"role": "user", "content": "Hi.", "name": name}]})
            + "\n"
            for at, name in (("a", "Ana"), ("b", "Bad\0name"))
        ),
        encoding="utf-8",
    )
    done = cli("import", "two", str(path))
    assert done.code == 2
    assert "session 'b'" in done.err
    assert banks(cli) == {}


def test_nothing_is_restored_when_a_later_session_was_changed(cli, tmp_path):
    cli("remember", "mira", "One.", "--session", "a")
    cli("remember", "mira", "Two.", "--session", "b")
    path = tmp_path / "mira.jsonl"
    text = (
        cli("export", "mira")
        .out.replace('"id":"t1:', '"client_id":"x","id":"t1:')
        .replace('"client_id":"x","id"', '"id"', 1)
    )
    path.write_text(text.replace('"client_id":null,', ""), encoding="utf-8")
    done = cli("import", "copy", str(path))
    assert done.code == 2
    assert "session 'b'" in done.err
    assert list(banks(cli)) == ["mira"]

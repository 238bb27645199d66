"""The main flows as a person or a script runs them: real processes, real files, real signals."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import FileLock

from combray import Memory, Session, TurnDraft


def command(*arguments):
    return [sys.executable, "-m", "combray.cli", *arguments]


def many(path, n):
    """An OpenAI-style file of one conversation whose messages have ids."""
    messages = [
        {
            "id": f"m{i}",
            "role": "user" if i % 2 else "assistant",
            "content": f"Message {i} about the harbour, the ferry and bread number {i * 7}.",
            "created_at": 1_700_000_000 + 60 * i,
        }
        for i in range(n)
    ]
    path.write_text(json.dumps({"id": "long", "messages": messages}), encoding="utf-8")


def test_what_is_remembered_can_be_piped_out_of_recall(process):
    said = process(
        "remember", "mira", "--speaker", "Mira", stdin=b"I work at the harbour hospital.\n"
    )
    assert said.code == 0
    assert "Created bank mira." in said.err

    found = process("recall", "mira", "Where is the harbour hospital?", "--no-abstain")
    assert found.code == 0
    assert "Mira: I work at the harbour hospital." in found.out
    assert found.out.endswith("</memory>\n")
    assert "support" in found.err
    assert "support" not in found.out


def test_standard_output_is_one_json_value_whatever_happens(process):
    commands = [
        ["remember", "mira", "Hello from the harbour.", "--json"],
        ["recall", "mira", "harbour", "--json"],
        ["--json", "explain", "mira", "harbour"],
        ["banks", "--json"],
        ["doctor", "--json"],
        ["config", "--json"],
        ["reindex", "mira", "--json"],
        ["models", "list", "--json"],
        ["recall", "nobody", "harbour", "--json"],
        ["recall", "mira", "--json"],
        ["recall", "mira", "  ", "--json"],
        ["forget", "mira", "--bank", "--yes", "--json"],
    ]
    for arguments in commands:
        done = process(*arguments)
        assert json.loads(done.out) is not None, arguments
        assert done.out.count("\n") == 1, arguments


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["recall", "nobody", "harbour"], 3, "no bank 'nobody'"),
        (["recall", "mira", ""], 2, "the query is empty"),
        (["recall", "mira", "harbour", "--method", "magic"], 2, "fused"),
        (["recall", "mira", "harbour", "--now", "yesterday"], 2, "ISO 8601"),
        (["recall", "mira", "Which words?", "--budget", "1", "--no-abstain"], 2, "budget_tokens"),
        (["remember", "mira", "other words", "--id", "a", "--session", "s"], 4, "other content"),
        (["forget", "mira", "--bank"], 2, "--yes"),
        (["forget", "mira", "--session", "nowhere", "--yes"], 3, "no session 'nowhere'"),
        (["import", "mira", "/nowhere/at/all.json"], 2, "cannot be read"),
        (["export", "mira", "/nowhere/at/all.jsonl"], 74, "No such file"),
        (["nonsense"], 2, "No such command"),
        (["recall", "mira", "harbour", "--db", "/nowhere/at/all.db"], 3, "no database"),
    ],
)
def test_each_failure_has_its_exit_code_and_says_what_to_do(process, arguments, code, says):
    process("remember", "mira", "Words.", "--id", "a", "--session", "s")
    done = process(*arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err.splitlines()[-1].startswith("error: ")
    assert says in done.err


def test_an_error_as_json_carries_its_facts(process):
    process("remember", "mira", "Words.")
    error = json.loads(process("recall", "nobody", "harbour", "--json").out)["error"]
    assert error == {
        "code": "not_found",
        "kind": "bank",
        "name": "nobody",
        "message": "no bank 'nobody'. `combray banks` lists what is there.",
    }


def test_a_file_that_is_not_ours_is_refused_and_left_alone(process, tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("my notes " * 500, encoding="utf-8")
    done = process("banks", "--db", str(other))
    assert done.code == 6
    assert other.read_text(encoding="utf-8") == "my notes " * 500


def test_a_reader_that_goes_away_ends_the_command_quietly(start, tmp_path, process):
    many(tmp_path / "long.json", 3000)
    assert process("import", "mira", str(tmp_path / "long.json")).code == 0
    child = start("export", "mira")
    child.stdout.readline()
    child.stdout.close()
    errors = child.stderr.read()
    child.stderr.close()
    assert child.wait(timeout=60) == 141
    assert errors == ""


def told(database):
    """A bank in which everything that an export must carry occurs."""
    with Memory.open(database, embedder="hash") as memory:
        bank = memory.create_bank("mira", zone="Europe/Paris")
        bank.remember(
            [
                TurnDraft(text="Naïve café,\u2028two\r\nlines \U0001f600", speaker="Zoë", id="a"),
                TurnDraft(text="", caption="a red door", role="assistant", tags=["y", "x"]),
                TurnDraft(text="[red]tagged[/red] \x1b[31m", metadata={"n": [1, None, "é"]}),
            ],
            session="first",
        )
        bank.remember(
            TurnDraft(text="In June.", said_at="2023-06-01T10:00:00.000001+05:30"),
            session=Session(name="second", title="A title", source="elsewhere", metadata={"a": 1}),
        )
        bank.remember(
            TurnDraft(text="Soon gone.", said_at="1969-01-01", expires_at="2999-01-01"),
            session="second",
        )


def test_an_export_comes_back_byte_for_byte(process, database, tmp_path):
    told(database)
    first = process("export", "mira")
    assert first.code == 0
    (tmp_path / "mira.jsonl").write_bytes(first.out.encode())

    fresh = str(tmp_path / "fresh.db")
    assert process("import", "mira", str(tmp_path / "mira.jsonl"), "--db", fresh).code == 0
    again = process("export", "mira", str(tmp_path / "again.jsonl"), "--db", fresh)
    assert again.code == 0
    assert (tmp_path / "again.jsonl").read_bytes() == first.out.encode()


def test_an_export_that_is_piped_in_under_another_name_differs_in_its_name_alone(
    process, database, tmp_path
):
    told(database)
    first = process("export", "mira").out
    assert process("import", "copy", "-", stdin=first.encode()).code == 0
    assert process("export", "copy").out == first.replace('"name":"mira"', '"name":"copy"')


def test_an_import_that_is_killed_goes_on_where_it_was(process, start, database, tmp_path):
    many(tmp_path / "long.json", 4000)
    arguments = ("import", "mira", str(tmp_path / "long.json"), "--quiet")
    child = start(*arguments)
    until_some_turns_are_stored(database, child)
    with FileLock(f"{database}.lock", poll_interval=0.001):  # no writer comes further than this
        stored = n_turns(database)
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=60)
    assert 0 < stored < 4000

    rest = json.loads(process(*arguments, "--json").out)["banks"][0]
    assert rest["stored"] + rest["known"] == 4000
    assert rest["known"] >= stored
    third = json.loads(process(*arguments, "--json").out)["banks"][0]
    assert (third["stored"], third["known"]) == (0, 4000)
    with Memory.open(database, embedder="hash") as memory:
        assert [turn.client_id for turn in memory.bank("mira").turns()] == [
            f"m{i}" for i in range(4000)
        ]


def test_an_import_that_is_killed_goes_on_though_its_messages_have_neither_ids_nor_times(
    process, start, database, tmp_path
):
    messages = [{"role": "user", "content": f"Line {n % 7} of bread."} for n in range(3000)]
    (tmp_path / "long.json").write_text(json.dumps(messages), encoding="utf-8")
    arguments = ("import", "mira", str(tmp_path / "long.json"), "--quiet")
    child = start(*arguments)
    until_some_turns_are_stored(database, child)
    with FileLock(f"{database}.lock", poll_interval=0.001):
        stored = n_turns(database)
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=60)
    assert 0 < stored < 3000

    rest = json.loads(process(*arguments, "--json").out)["banks"][0]
    assert (rest["stored"], rest["known"]) == (3000 - stored, stored)
    with Memory.open(database, embedder="hash") as memory:
        said = [turn.text for turn in memory.bank("mira").turns()]
    assert said == [message["content"] for message in messages]


def test_an_import_that_is_interrupted_says_how_to_go_on(database, tmp_path):
    """It waits for the lock that the test holds, so that it cannot be done before the signal comes."""
    many(tmp_path / "long.json", 300)
    with Memory.open(database, embedder="hash") as memory:
        memory.create_bank("mira")
    master, slave = pty.openpty()
    with (
        FileLock(f"{database}.lock"),
        subprocess.Popen(
            command("import", "mira", str(tmp_path / "long.json")),
            stdin=slave,
            stdout=slave,
            stderr=slave,
        ) as child,
    ):
        os.close(slave)
        shown = read_until(master, "Importing into mira")
        child.send_signal(signal.SIGINT)
        shown += read_until(master, "")
        assert child.wait(timeout=60) == 130
    os.close(master)
    assert "interrupted: 0 turns of the file are stored; run the same command again" in shown
    assert "Traceback" not in shown


def read_until(master, wanted) -> str:
    """What a terminal shows up to those words, or up to its end."""
    shown = b""
    while not wanted or wanted.encode() not in shown:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not chunk:
            break
        shown += chunk
    return shown.decode()


def n_turns(database) -> int:
    with Memory.open(database, embedder="hash") as memory:
        return sum(bank.n_turns for bank in memory.banks())


def until_some_turns_are_stored(database, child) -> int:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and child.poll() is None:
        if database.exists() and (n := n_turns(database)):
            return n
        time.sleep(0.02)
    raise AssertionError("nothing was stored in time")


def test_a_command_whose_streams_are_closed_still_ends_in_order(database):
    shell = f"{sys.executable} -m combray.cli"
    done = subprocess.run(
        ["sh", "-c", f"{shell} remember mira <&-; echo $?; {shell} banks >&- 2>&-; echo $?"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["2", "0"]
    assert "standard input is closed" in done.stderr


def test_help_loads_nothing_that_it_does_not_need():
    heavy = (
        "{'rich', 'onnxruntime', 'tokenizers', 'dateparser', 'combray.eval', 'combray.embed.onnx'}"
    )
    script = (
        "import sys; from combray.cli.run import run; run(['--help']); "
        f"sys.stderr.write(','.join({heavy} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""


def test_an_import_that_a_person_watches_shows_a_bar_and_then_the_table(terminal, tmp_path):
    many(tmp_path / "long.json", 600)
    done = terminal("import", "mira", str(tmp_path / "long.json"))
    assert done.code == 0
    assert "Importing into mira" in done.out
    assert "known turns" in done.out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("form", [["--json"], []])
def test_a_full_device_is_one_sentence(process, form):
    process("remember", "mira", "Words.")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("banks", *form), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 74
    assert done.stderr.count("No space left") == 1
    assert "Traceback" not in done.stderr

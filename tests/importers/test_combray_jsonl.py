import json
import os
import sqlite3
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from combray.errors import InvalidInput
from combray.importers import BadImport, combray_jsonl, detect, read
from combray.model import Bank, Role, Session, Turn
from combray.model.ids import content_key

NINE = timezone(timedelta(hours=9))
BANK = Bank(
    name="mira",
    zone="Europe/Paris",
    analyser="light:1",
    embedder="minilm",
    dimension=384,
    created_at=datetime(2024, 1, 1, tzinfo=UTC),
)


def turn(position, text="hello", **more):
    fields = {"speaker": "Mira", "role": Role.USER, "caption": None} | more
    return Turn(
        id=f"t1:{position}",
        session="s",
        position=position,
        text=text,
        said_at=more.pop("said_at", datetime(2024, 5, 1, 9, 30, tzinfo=NINE)),
        content=content_key(fields["speaker"], fields["role"], text, fields["caption"]),
        stored_at=datetime(2024, 5, 1, 1, 0, 0, 7, tzinfo=UTC),
        **{k: v for k, v in fields.items() if k != "said_at"},
    )


SESSION = Session(
    name="s",
    title=" Night shifts ",
    started_at=datetime(2024, 5, 1, 9, 30, tzinfo=NINE),
    source="test",
    metadata={"a": [1, None]},
)
TURNS = [
    turn(0, "trailing  \n", client_id="m0", tags=("trip",), metadata={"k": {"v": 1.5}}),
    turn(1, "a\u2028b\x85c\u2029 \U0001f600", caption=" ", role=Role.ASSISTANT),
    turn(4, "later", expires_at=datetime(2030, 1, 1, tzinfo=NINE)),
]


@pytest.fixture
def export(tmp_path):
    path = tmp_path / "bank.jsonl"
    combray_jsonl.write(
        path, combray_jsonl.rows(BANK, [(SESSION, TURNS), (Session(name="empty"), [])])
    )
    return path


def rewritten(path, change):
    rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    change(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_what_is_written_is_read_back_equal(export):
    assert detect(export) == "combray"
    assert combray_jsonl.read_bank(export) == BANK
    (session, turns), (empty, none) = combray_jsonl.read_records(export)
    assert session == SESSION
    assert turns == TURNS
    assert [t.said_at.utcoffset() for t in turns] == [timedelta(hours=9)] * 3
    assert (empty.name, none) == ("empty", [])


def test_drafts_carry_all_that_a_client_can_give(export):
    first = next(iter(read(export))).turns[0]
    assert (first.id, first.text, first.tags) == ("m0", "trailing  \n", ("trip",))
    assert first.metadata == {"k": {"v": 1.5}}


def test_no_tool_can_break_a_line_inside_a_text(export):
    assert len(export.read_text("utf-8").splitlines()) == 1 + 1 + 3 + 1 + 1


@given(
    st.text(
        alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1
    )
)
def test_any_text_survives(text):
    rows = [
        combray_jsonl.line(row) for row in combray_jsonl.rows(BANK, [(SESSION, [turn(0, text)])])
    ]
    assert all(row.endswith("\n") and len(row.splitlines()) == 1 for row in rows)
    assert json.loads(rows[2])["turn"]["text"] == text


def test_a_failed_write_leaves_the_old_file_and_nothing_else(export, tmp_path):
    before = export.read_bytes()

    def broken():
        yield SESSION, TURNS
        raise RuntimeError("the store went away")

    with pytest.raises(RuntimeError):
        combray_jsonl.write(export, combray_jsonl.rows(BANK, broken()))
    assert export.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [export.name]


def test_a_truncated_file_is_an_error_after_what_is_whole(export):
    lines = export.read_bytes().split(b"\n")
    export.write_bytes(b"\n".join(lines[:-2]) + b"\n")
    sessions = read(export)
    assert next(sessions).session.name == "s"
    with pytest.raises(BadImport, match="truncated"):
        list(sessions)


def test_a_file_cut_within_a_line_is_an_error_with_the_line(export):
    export.write_bytes(export.read_bytes()[:-10])
    with pytest.raises(BadImport) as caught:
        list(read(export))
    assert caught.value.line == 7


@pytest.mark.parametrize(
    ("version", "problem"),
    [(2, "newer"), (0, "no version"), ("1", "no version"), (True, "no version")],
)
def test_another_version_is_an_error(export, version, problem):
    rewritten(export, lambda rows: rows[0].update(version=version))
    with pytest.raises(BadImport, match=problem):
        list(read(export))


def drop(fields, key):
    del fields[key]


@pytest.mark.parametrize(
    ("change", "line", "problem"),
    [
        (lambda r: r[0].update(format="other"), 1, "no header"),
        (lambda r: r[0].update(bank=None), 1, "'bank' must be an object"),
        (lambda r: r[0]["bank"].update(name=""), 1, "bank's name"),
        (lambda r: r[0]["bank"].update(dimension=-1), 1, "'dimension'"),
        (lambda r: r[1]["session"].update(name=""), 2, "session's name"),
        (lambda r: r.pop(1), 2, "before any session"),
        (lambda r: r[2]["turn"].update(role="king"), 3, "'king' is not a role"),
        (lambda r: r[2]["turn"].update(text=None), 3, "'text' must be text"),
        (lambda r: r[2]["turn"].update(tags="x"), 3, "'tags'"),
        (lambda r: r[2]["turn"].update(said_at="2024-05-01T09:30:00"), 3, "has no offset"),
        (lambda r: r[2]["turn"].update(said_at="soon"), 3, "not an ISO 8601 time"),
        (lambda r: r[2]["turn"].update(said_at=3), 3, "must be an ISO 8601 time"),
        (lambda r: drop(r[2]["turn"], "stored_at"), 3, "'stored_at' is missing"),
        (lambda r: r[3]["turn"].update(position=0), 4, "does not come after"),
        (lambda r: r[3]["turn"].update(position=True), 4, "'position' must be a whole number"),
        (lambda r: r.insert(2, {"fact": {}}), 3, "expected a session, a turn or the end"),
        (lambda r: r[6]["end"].update(turns=9), 7, "the file says 9"),
        (lambda r: r.append({"session": {}}), 8, "more after the end"),
    ],
)
def test_damage_is_an_error_that_names_the_line(export, change, line, problem):
    rewritten(export, change)
    with pytest.raises(BadImport) as caught:
        list(read(export, "combray"))
    assert caught.value.line == line
    assert problem in str(caught.value)


@pytest.fixture
def bank(tmp_path):
    from combray import Memory

    with Memory.open(tmp_path / "m.db", embedder="none") as memory:
        bank = memory.create_bank("b")
        bank.remember("one")
        yield bank


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal", ".lock"])
@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_a_database_keeps_beside_it_is_no_target(bank, tmp_path, ending, there):
    target = tmp_path / f"other.db{ending}"
    if there:
        target.touch()
    with pytest.raises(InvalidInput, match="beside"):
        bank.export_to(target)
    assert target.exists() == there
    assert not there or target.stat().st_size == 0


@pytest.mark.parametrize("ending", ["-wal", "-journal", ".lock"])
def test_an_empty_file_that_begins_a_database_is_no_target(bank, tmp_path, ending):
    target = tmp_path / "young.db"
    target.touch()
    (tmp_path / f"young.db{ending}").touch()
    with pytest.raises(InvalidInput, match="not an export"):
        bank.export_to(target)
    assert target.stat().st_size == 0


def test_a_live_database_is_no_target_and_keeps_its_locks(bank, tmp_path):
    other = sqlite3.connect(tmp_path / "theirs.db", isolation_level=None)
    other.execute("CREATE TABLE theirs (a)")
    other.execute("BEGIN EXCLUSIVE")
    link = tmp_path / "innocent.jsonl"
    link.hardlink_to(tmp_path / "theirs.db")
    with pytest.raises(InvalidInput, match="not an export"):
        bank.export_to(link)
    script = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], timeout=0).execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    sys.exit(str(error))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "theirs.db")],
        capture_output=True,
        text=True,
        check=False,
    )
    other.close()
    assert "locked" in done.stderr


def test_a_write_protected_file_is_no_target_even_for_root(bank, tmp_path):
    target = tmp_path / "b.jsonl"
    bank.export_to(target)
    before = target.read_bytes()
    target.chmod(0o444)
    bank.remember("two", session="later")
    with pytest.raises(InvalidInput, match=r"0444.*permissions"):
        bank.export_to(target)
    assert target.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="needs modes of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_replaced_file_keeps_its_mode(bank, tmp_path, mode):
    target = tmp_path / "b.jsonl"
    bank.export_to(target)
    target.chmod(mode)
    bank.remember("two", session="later")
    assert bank.export_to(target) == 2
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_an_export_replaces_an_export_and_nothing_else(tmp_path):
    from combray import Memory

    with Memory.open(tmp_path / "m.db", embedder="none") as memory:
        bank = memory.create_bank("b")
        bank.remember("one")
        target = tmp_path / "b.jsonl"
        assert bank.export_to(target) == 1
        bank.remember("two", session="later")
        link = tmp_path / "link.jsonl"
        link.symlink_to(target)
        assert bank.export_to(link) == 2
        assert link.is_symlink()
        notes = tmp_path / "notes.txt"
        notes.write_text("my notes")
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        for wrong in (tmp_path / "m.db", tmp_path / "m.db-wal", notes, pipe, tmp_path):
            if not wrong.exists():
                continue
            before = wrong.stat()
            with pytest.raises(InvalidInput):
                bank.export_to(wrong)
            assert wrong.stat().st_ino == before.st_ino
        assert notes.read_text() == "my notes"
        assert [turn.text for turn in bank.turns()] == ["one", "two"]

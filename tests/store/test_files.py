import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from combray.errors import ConfigError, MigrationError, NotOurFile, StoreError
from combray.model import Session, Status
from combray.store import SqliteStore
from combray.store.base import Selection
from combray.store.derived import Closing
from combray.store.migrate import Migration, migrate_sqlite, shipped, to_apply
from combray.store.sqlite.file import APPLICATION_ID, connect
from combray.testing.derived_rows import METHOD, derive, texts, verdict, window
from combray.testing.store_rows import NOON, Saying, new_bank


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def make_foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()


@pytest.mark.parametrize("content", [b"hello", b"SQLite format 3\0", os.urandom(5000)])
def test_a_file_that_is_no_database_is_refused_and_not_touched(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(NotOurFile, match=r"notes\.txt"):
        SqliteStore(path)
    assert snapshot(tmp_path) == {"notes.txt": content}


def test_a_database_of_another_program_is_refused_and_not_touched(tmp_path):
    path = tmp_path / "theirs.db"
    make_foreign(path)
    before = snapshot(tmp_path)
    with pytest.raises(NotOurFile, match="another program"):
        SqliteStore(path)
    assert snapshot(tmp_path) == before


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(NotOurFile, match="directory"):
        SqliteStore(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotOurFile, match="regular"):
        SqliteStore(tmp_path / "pipe")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(StoreError, match="no folder"):
        SqliteStore(tmp_path / "none" / "evidence.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("path", ["/proc/self/mem", "/proc/evidence.db", "/sys/evidence.db"])
def test_a_place_that_takes_no_lock_file_is_refused_before_anything_is_waited_for(path):
    with pytest.raises(StoreError, match=r"\.lock cannot be made"):
        SqliteStore(path)


def test_something_else_in_the_place_of_the_lock_file_is_named(tmp_path):
    (tmp_path / "evidence.db.lock").mkdir()
    with pytest.raises(StoreError, match=r"\.lock cannot be"):
        SqliteStore(tmp_path / "evidence.db")


def test_a_lock_file_that_somebody_removed_is_made_again(tmp_path):
    with SqliteStore(tmp_path / "evidence.db") as store:
        (tmp_path / "evidence.db.lock").unlink(missing_ok=True)
        store.create_bank(new_bank("alpha"))
        assert [bank.name for bank in store.banks()] == ["alpha"]


@pytest.mark.parametrize("path", ["", ":memory:"])
def test_a_store_is_a_file(path):
    with pytest.raises(ConfigError, match="file"):
        SqliteStore(path)


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "evidence.db"
    SqliteStore(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + os.urandom(len(whole) - 100))
    with pytest.raises(NotOurFile, match="damaged"):
        SqliteStore(path)


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "evidence.db"
    SqliteStore(path).close()
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(NotOurFile, match="damaged"):
        SqliteStore(path)


def test_an_empty_file_becomes_a_store(tmp_path):
    path = tmp_path / "evidence.db"
    path.touch()
    with SqliteStore(path) as store:
        store.create_bank(new_bank("alpha"))
    assert int.from_bytes(path.read_bytes()[68:72], "big") == APPLICATION_ID


def test_odd_characters_in_a_path_are_only_characters(tmp_path):
    path = tmp_path / "a b?mode=ro#%41é.db"
    with SqliteStore(path) as store:
        store.create_bank(new_bank("alpha"))
    assert path.exists()


def test_a_link_to_a_store_shares_its_lock(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "near.db").symlink_to(tmp_path / "far" / "evidence.db")
    for path in (tmp_path / "far" / "evidence.db", tmp_path / "near.db"):
        with SqliteStore(path) as store:
            store.create_bank(new_bank(f"from {path.name}"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far", "near.db"]


def test_the_file_says_how_it_is_kept(tmp_path):
    with SqliteStore(tmp_path / "evidence.db") as store, store._connections.reading() as connection:
        pragmas = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in (
                "journal_mode",
                "synchronous",
                "secure_delete",
                "foreign_keys",
                "busy_timeout",
                "temp_store",
                "trusted_schema",
                "application_id",
            )
        }
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,
        "secure_delete": 1,
        "foreign_keys": 1,
        "busy_timeout": 10_000,
        "temp_store": 2,
        "trusted_schema": 0,
        "application_id": APPLICATION_ID,
    }


def test_synchronous_can_be_normal(tmp_path):
    with (
        SqliteStore(tmp_path / "evidence.db", synchronous="NORMAL") as store,
        store._connections.reading() as connection,
    ):
        assert connection.execute("PRAGMA synchronous").fetchone() == (1,)


AS_NOBODY = """
import os, sys
from combray.errors import StoreError
from combray.store import SqliteStore
SqliteStore(sys.argv[1]).close()  # everything is imported while it can be read
os.setgid(65534)
os.setuid(65534)
try:
    SqliteStore(sys.argv[1])
except StoreError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs to drop root")
@pytest.mark.parametrize(("mode", "said"), [(0o600, "cannot be read"), (0o644, "denied")])
def test_a_file_without_permission_is_a_store_error(mode, said):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "evidence.db"
        SqliteStore(path).close()
        path.with_name("evidence.db.lock").chmod(0o600)
        path.chmod(mode)
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(path)],
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout.startswith("StoreError")
    assert said in done.stdout or "cannot be opened" in done.stdout


# Migrations


def test_a_migration_is_recorded_with_its_hash(tmp_path):
    path = tmp_path / "evidence.db"
    SqliteStore(path).close()
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT number, sha256 FROM migration").fetchall()
    connection.close()
    assert rows == [(step.number, step.sha256) for step in shipped("sqlite")]


def change_ledger(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


def test_a_newer_schema_is_refused(tmp_path):
    path = tmp_path / "evidence.db"
    SqliteStore(path).close()
    change_ledger(path, "INSERT INTO migration VALUES (99, 'later', 'x', 'y')")
    before = path.read_bytes()
    with pytest.raises(MigrationError, match="newer"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_another_history_is_refused(tmp_path):
    path = tmp_path / "evidence.db"
    SqliteStore(path).close()
    change_ledger(path, "UPDATE migration SET sha256 = 'x' WHERE number = 1")
    with pytest.raises(MigrationError, match="migration 1"):
        SqliteStore(path)


def test_migrations_are_numbered_without_gaps():
    assert [step.number for step in shipped("sqlite")] == list(range(1, len(shipped("sqlite")) + 1))


def test_what_is_applied_is_not_applied_again():
    steps = [Migration(number=n, name="n", sql=f"SELECT {n};") for n in (1, 2)]
    assert to_apply([(1, steps[0].sha256)], steps, "x") == steps[1:]


def with_rows(path: Path) -> list[str]:
    with SqliteStore(path) as store:
        store.create_bank(new_bank("alpha"))
        return list(store.put("alpha", Session(name="s1"), [Saying(text="one").row()]).stored)


def test_a_destructive_migration_copies_the_file_first(tmp_path):
    path = tmp_path / "evidence.db"
    ids = with_rows(path)
    connection = connect(path, "FULL")
    number = len(shipped("sqlite")) + 1
    drop = Migration(number=number, name="drop", sql="-- destructive\nDROP TABLE vector;\n")
    migrate_sqlite(connection, path, [*shipped("sqlite"), drop])
    connection.close()
    with SqliteStore(tmp_path / f"evidence.db.before-{number:04}") as copy:
        assert [turn.id for _, turn in copy.scan("alpha")] == ids


def test_a_migration_that_fails_changes_nothing(tmp_path):
    path = tmp_path / "evidence.db"
    ids = with_rows(path)
    connection = connect(path, "FULL")
    sql = "DROP TABLE vector;\nDROP TABLE nothing;\n"
    broken = Migration(number=len(shipped("sqlite")) + 1, name="broken", sql=sql)
    with pytest.raises(sqlite3.OperationalError, match="nothing"):
        migrate_sqlite(connection, path, [*shipped("sqlite"), broken])
    connection.close()
    with SqliteStore(path) as store:
        assert [turn.id for _, turn in store.scan("alpha")] == ids
        assert store.check()[0].severity == "ok"


def test_rows_of_the_first_schema_are_read_by_this_version(tmp_path):
    path = tmp_path / "evidence.db"
    connection = connect(path, "FULL", create=True)
    migrate_sqlite(connection, path, shipped("sqlite")[:1])
    connection.executescript((Path(__file__).parent / "rows_of_schema_1.sql").read_text())
    connection.close()
    with SqliteStore(path) as store:
        ((_, turn),) = store.scan("alpha")
        assert turn.text == "Tea with Eve"
        assert store.terms("alpha", "key", store.columns("alpha").doc.tolist()) == {
            (1 << 32) + 1: {"Eve": 1, "Tea": 1}
        }
        assert store.check()[0].severity == "ok"


def test_a_bank_of_the_first_schema_can_be_derived_from(tmp_path):
    path = tmp_path / "evidence.db"
    connection = connect(path, "FULL", create=True)
    migrate_sqlite(connection, path, shipped("sqlite")[:1])
    connection.executescript((Path(__file__).parent / "rows_of_schema_1.sql").read_text())
    connection.close()
    with SqliteStore(path) as store:
        assert store.bank("alpha").methods == ()
        assert store.set_methods("alpha", [METHOD], NOON) == (METHOD,)
        assert [job.subject for job in store.jobs("alpha")] == ["s1"]
        derive(store, window(store.columns("alpha").doc.tolist(), "Ann has tea with Eve."))
        assert texts(store) == ["Ann has tea with Eve."]
        assert store.check()[0].severity == "ok"


def test_records_of_the_second_schema_can_be_closed(tmp_path):
    path = tmp_path / "evidence.db"
    connection = connect(path, "FULL", create=True)
    migrate_sqlite(connection, path, shipped("sqlite")[:1])
    connection.executescript((Path(__file__).parent / "rows_of_schema_1.sql").read_text())
    migrate_sqlite(connection, path, shipped("sqlite")[:2])
    connection.executescript((Path(__file__).parent / "rows_of_schema_2.sql").read_text())
    connection.close()
    with SqliteStore(path) as store:
        assert store.check()[0].severity == "ok", store.check()
        assert texts(store) == ["Ann has tea.", "Ann meets Eve.", "Tea with Eve."]
        tea, eve, both = store.record_columns("alpha", METHOD).number.tolist()
        record = store.records("alpha", [tea])[tea]
        assert (record.status, record.retired_at) == (Status.CURRENT, None)
        assert (record.valid_from, record.valid_to, record.superseded_by) == (None, None, "")
        assert [unit.least_inputs for unit in store.units("alpha", METHOD, "event")] == [0, 0]
        assert store.unstaged("alpha", METHOD, "fact", limit=9) == [eve]
        state = store.derived_state("alpha")
        assert (state.revision, state.epoch) == (3, 1)
        assert store.record_details("alpha", METHOD).member.tolist() == [[both, tea], [both, eve]]
        derive(store, verdict([tea, eve], Closing(record=eve, by="f1:tea")))
        assert store.records("alpha", [eve])[eve].superseded_by == "f1:tea"
        changes = store.record_changes("alpha", METHOD, since=state.revision)
        assert changes.closed.tolist() == [eve]
        derive(store, drop=[("event", "c")])
        assert texts(store) == ["Ann has tea."]
        assert store.check()[0].severity == "ok"


# Threads and forks


def test_a_connection_of_a_finished_thread_is_closed(tmp_path):
    with SqliteStore(tmp_path / "evidence.db") as store:
        store.create_bank(new_bank("alpha"))
        for _ in range(5):
            thread = threading.Thread(target=store.banks)
            thread.start()
            thread.join()
        assert len(store._connections._seats) <= 2


def test_closing_waits_for_no_thread_that_is_idle(tmp_path):
    store = SqliteStore(tmp_path / "evidence.db")
    done, closed = threading.Event(), threading.Event()

    def read_then_idle():
        store.banks()
        done.set()
        closed.wait(10)
        with pytest.raises(StoreError, match="closed"):
            store.banks()

    thread = threading.Thread(target=read_then_idle)
    thread.start()
    done.wait(10)
    store.close()
    closed.set()
    thread.join(10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evidence.db", "evidence.db.lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX locks")
def test_a_second_store_of_the_process_does_not_drop_the_locks_of_the_first(tmp_path):
    path = tmp_path / "evidence.db"
    leave_wal = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0);"
        "print(c.execute('PRAGMA journal_mode = DELETE').fetchone()[0])"
    )
    with SqliteStore(path) as store:
        store.create_bank(new_bank("alpha"))
        with SqliteStore(path) as second:
            ids = second.put("alpha", Session(name="s1"), [Saying(text="one").row()]).ids
            assert second.forget("alpha", Selection(turns=ids), NOON).erased
        store.banks()
        # Only a process that is alone with the file may leave WAL: the lock of the first store forbids it.
        done = subprocess.run(
            [sys.executable, "-c", leave_wal, str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "locked" in done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_parent_and_child_both_write_after_a_fork(tmp_path):
    with SqliteStore(tmp_path / "evidence.db") as store:
        store.create_bank(new_bank("alpha"))
        store.put("alpha", Session(name="s1"), [Saying(text="before").row()])
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for n in range(20):
                    rows = [Saying(text=f"child {n}", session="child").row()]
                    store.put("alpha", Session(name="child"), rows)
                code = 0
            finally:
                os._exit(code)
        for n in range(20):
            store.put("alpha", Session(name="s1"), [Saying(text=f"parent {n}").row()])
        _, status = os.waitpid(child, 0)
        assert status == 0
        assert store.state("alpha").n_turns == 41
        assert store.check()[0].severity == "ok"

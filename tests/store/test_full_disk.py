import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress

import pytest

from combray.errors import StoreFull
from combray.model import Session
from combray.store import SqliteStore
from combray.store.base import Selection
from combray.testing.store_rows import NOON, Saying, new_bank


@contextmanager
def small_disk(folder, size: str):
    folder.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if (
        not hasattr(os, "geteuid")
        or os.geteuid() != 0
        or subprocess.run(options, check=False, capture_output=True).returncode
    ):
        pytest.skip("needs the right to mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(store: SqliteStore, upto: int = 1000) -> list[str]:
    """Put until there is no space left; returns what was acknowledged."""
    stored: list[str] = []
    for n in range(upto):
        rows = [Saying(text=f"turn {n}.{m} " + "x" * 3000, session="s1").row() for m in range(5)]
        try:
            stored += store.put("alpha", Session(name="s1"), rows).stored
        except StoreFull:
            return stored
    pytest.fail("the disk did not become full")


def assert_usable_with(store: SqliteStore, stored: list[str]) -> None:
    assert [turn.id for turn in store.turns("alpha", stored)] == stored
    assert store.state("alpha").n_turns == len(stored)
    assert store.check()[0].severity == "ok"


def test_a_full_disk_stores_nothing_and_the_store_goes_on(tmp_path):
    with small_disk(tmp_path / "disk", "6m") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 4_000_000)
        with SqliteStore(disk / "evidence.db") as store:
            store.create_bank(new_bank("alpha"))
            stored = fill(store)
            assert_usable_with(store, stored)
            with pytest.raises(StoreFull, match="space"):
                store.put(
                    "alpha", Session(name="s2"), [Saying(text="y" * 1_990_000, session="s2").row()]
                )
            assert_usable_with(store, stored)
            ballast.unlink()
            more = store.put("alpha", Session(name="s2"), [Saying(text="z", session="s2").row()])
            assert_usable_with(store, [*stored, *more.stored])
            assert store.forget("alpha", Selection(session="s1"), NOON).erased
            assert_usable_with(store, list(more.stored))


def test_a_store_cannot_be_made_on_a_full_disk_but_later(tmp_path):
    with small_disk(tmp_path / "disk", "768k") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 744 * 1024)
        with pytest.raises(StoreFull):
            SqliteStore(disk / "evidence.db")
        ballast.unlink()
        with SqliteStore(disk / "evidence.db") as store:
            assert store.banks() == []


def test_a_full_database_stores_nothing_and_the_store_goes_on(tmp_path):
    with SqliteStore(tmp_path / "evidence.db") as store:
        store.create_bank(new_bank("alpha"))
        with store._connections.reading() as connection:
            connection.execute("PRAGMA max_page_count = 100").close()
        stored = fill(store)
        assert_usable_with(store, stored)
        with store._connections.reading() as connection:
            connection.execute("PRAGMA max_page_count = 10000").close()
        more = store.put("alpha", Session(name="s1"), [Saying(text="z").row()])
        assert_usable_with(store, [*stored, *more.stored])


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX quota")
def test_a_write_beyond_the_file_size_limit_is_a_full_disk(tmp_path):
    script = """
import resource, signal, sys
from combray.errors import StoreError
from combray.model import Session
from combray.store import SqliteStore
from combray.testing.store_rows import Saying, new_bank
store = SqliteStore(sys.argv[1])
store.create_bank(new_bank("alpha"))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
stored = 0
try:
    for n in range(1000):
        store.put("alpha", Session(name="s1"), [Saying(text=f"{n} " + "x" * 3000).row()])
        stored += 1
except StoreError:
    pass
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert 0 < stored < 1000
assert store.state("alpha").n_turns == stored
store.put("alpha", Session(name="s1"), [Saying(text="z").row()])
assert store.check()[0].severity == "ok", store.check()
store.close()
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "evidence.db")], check=True)


def test_on_a_full_disk_the_error_says_how_much_room_lets_turns_be_forgotten(tmp_path):
    with small_disk(tmp_path / "disk", "24m") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 14_000_000)
        with SqliteStore(disk / "evidence.db") as store:
            store.create_bank(new_bank("alpha"))
            stored = fill(store)
            with (disk / "rest").open("wb", buffering=0) as rest, suppress(OSError):
                while rest.write(b"x" * 4096):
                    pass
            with pytest.raises(StoreFull, match="session") as full:
                store.forget("alpha", Selection(turns=stored[:1]), NOON)
            assert_usable_with(store, stored)
            (megabytes,) = map(int, re.findall(r"at least (\d+) MB", str(full.value)))
            os.truncate(ballast, 14_000_000 - megabytes * 1_000_000)
            for turn in stored:
                assert store.forget("alpha", Selection(turns=[turn]), NOON).erased
            assert store.state("alpha").n_turns == 0


def test_a_deletion_that_is_too_large_for_the_disk_leaves_room_for_a_smaller_one(tmp_path):
    with small_disk(tmp_path / "disk", "80m") as disk:
        ballast = disk / "ballast"
        with SqliteStore(disk / "evidence.db") as store:
            store.create_bank(new_bank("alpha"))
            rows = [Saying(text=f"turn {n} " + "x" * 3000, session="s1").row() for n in range(1000)]
            stored = store.put("alpha", Session(name="s1"), rows).stored
            store.forget("alpha", Selection(turns=stored[:1]), NOON)
            ballast.write_bytes(b"x" * (shutil.disk_usage(disk).free - 1_000_000))
            with pytest.raises(StoreFull):
                store.forget("alpha", Selection(whole_bank=True), NOON)
            assert shutil.disk_usage(disk).free > 900_000
            assert_usable_with(store, list(stored[1:]))
            assert store.forget("alpha", Selection(turns=stored[1:3]), NOON).erased
            assert_usable_with(store, list(stored[3:]))

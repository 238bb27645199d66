"""Is this file ours, and how is a connection to it set up?"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Literal

from combray.errors import ConfigError, NotOurFile, StoreError

APPLICATION_ID = 0x436F6D62
"""``Comb``: bytes 68 to 71 of every file of ours."""

BUSY_TIMEOUT_MS = 10_000
"""A net for programs that do not take our lock file. Source: measured, without it writers waited up to 2.7 s."""

_PAGE_BYTES = 8192
"""Source: benchmarks/store.py, 3.9 KB a turn where pages of 4 KB needed 4.3; no slower to write."""
_CACHE_KIB = 64 * 1024
_MMAP_BYTES = 2 * 1024**3
_LOG_BYTES = 64 * 1024**2

Synchronous = Literal["FULL", "NORMAL"]


def checked_path(path: str | Path) -> Path:
    """The absolute path, if a store can be there.

    Raises:
        ConfigError: it is empty or ``:memory:``, holds a NUL, or names a user or link that leads nowhere.
        StoreError: its folder does not exist.
    """
    if str(path) in ("", ":memory:"):
        raise ConfigError("a store is a file; for a passing one use a temporary directory.")
    if "\0" in str(path):
        raise ConfigError(f"{str(path)!r} holds a NUL character; no file has such a name.")
    try:
        # Through links, so that all who write to one file wait for one lock beside it.
        absolute = Path(path).expanduser().resolve()
    except (RuntimeError, ValueError) as error:
        raise ConfigError(f"{str(path)!r} cannot be followed: {error}") from error
    except OSError as error:
        raise StoreError(f"{str(path)!r} cannot be followed: {error.strerror}.") from error
    if not absolute.parent.is_dir():
        raise StoreError(f"there is no folder {absolute.parent}; make it, or choose another path.")
    return absolute


def is_new(path: Path) -> bool:
    """Whether there is nothing at the path yet; reads the first page at most, and writes nothing.

    Raises:
        NotOurFile: there is something, but not a Combray database; it was not touched.
        sqlite3.Error: it cannot be read.
    """
    if path.is_dir():
        raise NotOurFile(f"{path} is a directory; give the path of a file in it.")
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return True
    if not path.is_file():
        raise NotOurFile(f"{path} is not a regular file; choose another path.")
    # Through SQLite and not with `open`, whose closing would drop the locks of another store of this process.
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        try:
            (mark,) = connection.execute("PRAGMA application_id").fetchone()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
                raise
            raise NotOurFile(f"{path} is not a SQLite database; choose another path.") from error
    if mark != APPLICATION_ID:
        raise NotOurFile(f"{path} is a SQLite database of another program; choose another path.")
    return False


def connect(path: Path, synchronous: Synchronous, *, create: bool = False) -> sqlite3.Connection:
    """A connection with our settings; the caller closes it.

    Without `create` a missing file is an error, so that a file that was removed under a running
    process does not come back empty.
    """
    mode = "rwc" if create else "rw"
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_TIMEOUT_MS / 1000,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        if create:
            _mark(connection)
        for pragma in (
            f"synchronous = {synchronous}",
            "secure_delete = ON",
            "foreign_keys = ON",
            f"cache_size = -{_CACHE_KIB}",
            f"mmap_size = {_MMAP_BYTES}",
            f"journal_size_limit = {_LOG_BYTES}",
            "temp_store = MEMORY",
            "trusted_schema = OFF",
        ):
            connection.execute(f"PRAGMA {pragma}").close()
    except BaseException:
        connection.close()
        raise
    return connection


def _mark(connection: sqlite3.Connection) -> None:
    # Before the switch to WAL: our mark must be in the file itself, not in its log.
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}").close()
    connection.execute("PRAGMA auto_vacuum = NONE").close()
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}").close()
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StoreError(
            "this file system does not support SQLite's write-ahead log (network drives do not); "
            "put the store on a local disk."
        )

"""What SQLite's refusals mean, in our errors."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from pathlib import Path

from combray.errors import InvalidInput, NotOurFile, StoreError, StoreFull

_ROOM_BYTES = 256 * 1024
"""Free space below which an I/O error is taken for a full disk: one page of every index and the log."""


NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
"""Numbers of the system's errors that mean a full disk or quota."""


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise what goes wrong inside as `StoreError`, `StoreFull`, `NotOurFile` or `InvalidInput`."""
    try:
        yield
    except sqlite3.Error as error:
        raise _of_sqlite(error, path) from error
    except (JSONDecodeError, UnicodeDecodeError) as error:
        # Nothing is decoded inside but what the file holds.
        raise _damaged(path, error) from error
    except (OverflowError, UnicodeEncodeError) as error:
        raise InvalidInput(f"a value that no database can hold: {error}.") from error
    except OSError as error:
        raise _of_system(error, path) from error


def _of_sqlite(error: sqlite3.Error, path: Path) -> Exception:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if is_full(error, path):
        return _full(path)
    # Python raises this one without a code.
    undecoded = str(error).startswith("Could not decode to UTF-8")
    if undecoded or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return _damaged(path, error)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(f"{path} is locked by another program; nothing was changed. Try again.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StoreError(
            f"{path} cannot be opened for writing ({error}). The file and its folder must exist and "
            "be writable by this user."
        )
    if code == sqlite3.SQLITE_TOOBIG:
        return InvalidInput("a value is larger than a database row can be.")
    return StoreError(f"{path}: {error}.")


def _damaged(path: Path, error: Exception) -> NotOurFile:
    return NotOurFile(
        f"{path} is damaged ({error}). Put back a copy, or save what can be read with "
        "`sqlite3 FILE .recover`."
    )


def _of_system(error: OSError, path: Path) -> StoreError:
    if error.errno in NO_SPACE:
        return _full(path)
    return StoreError(f"{path}: {error.strerror or error}.")


def _full(path: Path) -> StoreFull:
    megabytes = -(-(_log_bytes(path) + _ROOM_BYTES) // 1_000_000)
    return StoreFull(
        f"no space left for {path}; nothing of this write was stored. Free at least {megabytes} MB. Deleting needs "
        "room too, for all pages that it changes until it is done: forget turns or sessions one by one rather than "
        "a whole bank."
    )


def _log_bytes(path: Path) -> int:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except OSError:
        return 0


def is_full(error: sqlite3.Error, path: Path) -> bool:
    """Whether SQLite refused because the disk is full, or the file as large as it may become."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _has_no_room(path))


def _has_no_room(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _ROOM_BYTES
    except OSError:
        return False

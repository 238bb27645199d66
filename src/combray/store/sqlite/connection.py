"""One connection per thread, one writer at a time, and nothing shared over a fork.

Readers never wait: they see the last commit before they began. A write holds a lock of this process and
an operating-system lock on ``<file>.lock`` around ``BEGIN IMMEDIATE … COMMIT``, since SQLite's own busy
handler starves writers for seconds. The operating system drops the lock of a process that dies.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from combray.errors import StoreError
from combray.store.migrate import Migration, is_current, migrate_sqlite
from combray.store.sqlite.failures import NO_SPACE, is_full, translated
from combray.store.sqlite.file import BUSY_TIMEOUT_MS, Synchronous, connect, is_new
from combray.store.sqlite.scrub import RawFile, scrub

LOCK_TIMEOUT_S = 60.0
"""Longest wait for other writers, who hold the lock for milliseconds (an import: for a second)."""

_POLL_S = 0.001
"""How often a waiting writer looks again. Source: measured, an attempt costs below 0.1 ms of CPU."""


class _Seat:
    """A thread's connection; the lock is held while the thread is inside a call."""

    __slots__ = ("connection", "lock", "thread")

    def __init__(self) -> None:
        self.thread = threading.current_thread()
        self.lock = threading.RLock()
        self.connection: sqlite3.Connection | None = None

    def leave(self) -> None:
        with self.lock:
            if self.connection is not None:
                self.connection.close()
                self.connection = None


_LOOKS = 10
_BETWEEN_LOOKS_S = 0.05


def _is_young(path: Path) -> bool:
    """Whether the file was written so lately that it may still be in the making."""
    try:
        return time.time() - path.stat().st_mtime < LOCK_TIMEOUT_S
    except OSError:
        return False


class Connections:
    """All connections of one process to one file."""

    def __init__(self, path: Path, synchronous: Synchronous, migrations: list[Migration]) -> None:
        self.path = path
        self._synchronous = synchronous
        self._closed = False
        self._raw: RawFile | None = None
        self._reset()
        try:
            with translated(path):
                self._open(migrations)
                self._raw = RawFile.of(path)
        except BaseException:
            self.close()
            raise
        _watch_forks(self)

    def close(self) -> None:
        """Close every thread's connection; a second call does nothing."""
        self._closed = True
        with self._registry:
            for seat in self._seats:
                seat.leave()
            self._seats.clear()
            if self._raw is not None:
                self._raw.release()
                self._raw = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection inside one read transaction: one view for all statements."""
        with translated(self.path), self._seated() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def noting(self) -> Iterator[sqlite3.Connection]:
        """As `writing`, without waiting for the disk: for what may be lost in a power cut, and is no evidence.

        It survives the death of the process, and the next `writing` takes it to the disk.
        """
        with translated(self.path), self._seated() as connection:
            connection.execute("PRAGMA synchronous = NORMAL").close()
            try:
                with self.writing() as same:
                    yield same
            finally:
                connection.execute(f"PRAGMA synchronous = {self._synchronous}").close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection inside one write transaction: committed at the end, or nothing."""
        with translated(self.path), self._seated() as connection, self._exclusive():
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error) and is_full(error, self.path):
                    _give_back_log(connection)
                raise

    @contextmanager
    def erasing(self, wait_ms: int) -> Iterator[sqlite3.Connection | None]:
        """A write transaction that starts when all deleted bytes are gone from the file and its log.

        The connection is a passing one: its commit makes all others drop the pages they remember, among
        which are some from before. None where a reader with an older view kept the log from being emptied
        for `wait_ms`.
        """
        with translated(self.path), self._seated(), self._exclusive():
            connection = connect(self.path, self._synchronous)
            try:
                if not _empty_log(connection, wait_ms):
                    yield None
                    return
                connection.execute("BEGIN IMMEDIATE")
                # Another program may have written in between: what it wrote is in the log again.
                if self._raw is None or _log_of(self.path).stat().st_size:
                    yield None
                    return
                scrub(self._raw, connection.execute("PRAGMA page_size").fetchone()[0])
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()

    def before_fork(self) -> None:
        """Let running calls end and close everything: SQLite must not cross a fork."""
        self._registry.acquire()
        for seat in self._seats:
            seat.lock.acquire()
            seat.leave()

    def after_fork_in_parent(self) -> None:
        """Let calls go on; each thread gets a new connection."""
        for seat in self._seats:
            seat.lock.release()
        self._registry.release()

    def after_fork_in_child(self) -> None:
        """Start afresh."""
        self._reset()

    def _reset(self) -> None:
        from filelock import FileLock

        self._registry = threading.RLock()
        self._seats: list[_Seat] = []
        self._local = threading.local()
        self._turn = threading.Lock()
        self._lock = FileLock(f"{self.path}.lock", thread_local=False)

    def _open(self, migrations: list[Migration]) -> None:
        if self._is_current(migrations):
            return
        with self._exclusive():
            is_new(self.path)
            connection = connect(self.path, self._synchronous, create=True)
            try:
                migrate_sqlite(connection, self.path, migrations)
            finally:
                connection.close()

    def _is_current(self, migrations: list[Migration]) -> bool:
        """Whether the file is there and needs nothing; looks without the lock, which would leave a file beside a foreign one.

        A file that another process is just making looks damaged for a moment, so a young one is looked at again.
        """
        for _ in range(_LOOKS):
            with suppress(StoreError, sqlite3.Error):
                return self._looked_at(migrations)
            if not _is_young(self.path):
                break
            time.sleep(_BETWEEN_LOOKS_S)
        return self._looked_at(migrations)

    def _looked_at(self, migrations: list[Migration]) -> bool:
        if is_new(self.path):
            return False
        with self._seated() as connection:
            return is_current(connection, self.path, migrations)

    @contextmanager
    def _seated(self) -> Iterator[sqlite3.Connection]:
        seat = getattr(self._local, "seat", None) or self._take_seat()
        with seat.lock:
            if self._closed:
                raise StoreError(f"the store {self.path} is closed.")
            if seat.connection is None:
                seat.connection = connect(self.path, self._synchronous)
            yield seat.connection

    def _take_seat(self) -> _Seat:
        seat = _Seat()
        with self._registry:
            gone = [other for other in self._seats if not other.thread.is_alive()]
            for other in gone:
                other.leave()
                self._seats.remove(other)
            self._seats.append(seat)
        self._local.seat = seat
        return seat

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        from filelock import Timeout

        if not self._turn.acquire(timeout=LOCK_TIMEOUT_S):
            raise StoreError(f"another thread has been writing to {self.path} for too long.")
        try:
            self._check_lock_file()
            self._lock.acquire(timeout=LOCK_TIMEOUT_S, poll_interval=_POLL_S)
            try:
                yield
            finally:
                self._lock.release()
        except Timeout as error:
            raise StoreError(
                f"another process has held {self.path}.lock for {LOCK_TIMEOUT_S:.0f} s; "
                "nothing was changed. Try again when it has finished."
            ) from error
        finally:
            self._turn.release()

    def _check_lock_file(self) -> None:
        """Refuse at once where no lock file can be: the lock itself would be waited for in vain.

        An existing one is not opened here: closing it again could drop a lock of this process.
        """
        lock = Path(f"{self.path}.lock")
        try:
            if not os.path.lexists(lock):
                with suppress(FileExistsError):
                    os.close(os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644))
            elif not (lock.is_file() and os.access(lock, os.R_OK | os.W_OK)):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            if error.errno in NO_SPACE:
                raise
            raise StoreError(
                f"{lock} cannot be made or opened ({error.strerror}): writers take turns by this file. Nothing was "
                "changed; the folder and the file must be writable by this user, or choose another place."
            ) from error


def _give_back_log(connection: sqlite3.Connection) -> None:
    """Shorten the log, which a failed write leaves as long as the disk allowed: what comes next needs the room."""
    with suppress(sqlite3.Error):
        _empty_log(connection, wait_ms=0)
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}").close()


def _empty_log(connection: sqlite3.Connection, wait_ms: int) -> bool:
    connection.execute(f"PRAGMA busy_timeout = {wait_ms}").close()
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


_open_now: weakref.WeakSet[Connections] = weakref.WeakSet()
_held_over_fork: list[Connections] = []
_forks_are_watched = False


def _watch_forks(connections: Connections) -> None:
    global _forks_are_watched
    _open_now.add(connections)
    if _forks_are_watched or not hasattr(os, "register_at_fork"):
        return
    _forks_are_watched = True
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def _before_fork() -> None:
    _held_over_fork[:] = list(_open_now)
    for connections in _held_over_fork:
        connections.before_fork()


def _after_fork_in_parent() -> None:
    while _held_over_fork:
        _held_over_fork.pop().after_fork_in_parent()


def _after_fork_in_child() -> None:
    while _held_over_fork:
        _held_over_fork.pop().after_fork_in_child()

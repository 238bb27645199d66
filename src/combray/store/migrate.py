"""Numbered, append-only, forward-only migrations that ship with the package.

A migration is a file ``NNNN_name.sql``. What was applied is written to the table ``migration`` with the
SHA-256 of the file, so that a database made by another history is refused instead of guessed at. A file
whose first line is ``-- destructive`` drops or rewrites rows: the database is copied beside itself first.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from combray.errors import MigrationError
from combray.model.time import to_stored

_NAME = re.compile(r"(\d{4})_(\w+)\.sql")

_LEDGER = """
CREATE TABLE IF NOT EXISTS migration (
  number     INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  sha256     TEXT NOT NULL,
  applied_at TEXT NOT NULL
) STRICT
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of a schema.

    Attributes:
        number: from 1, without gaps.
        name: what it brings.
        sql: its statements.
    """

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """Hash of the statements, as recorded in the database."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def destructive(self) -> bool:
        """Whether the database is to be copied first."""
        return self.sql.startswith("-- destructive")


def shipped(dialect: str) -> list[Migration]:
    """The migrations of this version for ``sqlite`` or ``postgres``, in order."""
    folder = resources.files("combray.store") / "migrations" / dialect
    found = []
    for entry in folder.iterdir():
        if match := _NAME.fullmatch(entry.name):
            sql = entry.read_text(encoding="utf-8").replace("\r\n", "\n")
            found.append(Migration(number=int(match[1]), name=match[2], sql=sql))
    return sorted(found, key=lambda migration: migration.number)


def statements(sql: str) -> Iterator[str]:
    """The statements of a script, one by one (`executescript` would commit between them)."""
    buffer = ""
    for line in sql.splitlines(keepends=True):
        buffer += line
        if sqlite3.complete_statement(buffer):
            yield buffer
            buffer = ""
    if buffer.strip():
        yield buffer


def to_apply(
    applied: Sequence[tuple[int, str]], known: Sequence[Migration], where: object
) -> list[Migration]:
    """The migrations that a database still needs.

    Args:
        applied: number and hash of those it has, in order.
        known: those of this version, in order.
        where: what to call the database in an error.

    Raises:
        MigrationError: it has one that this version does not know, or knows otherwise.
    """
    hashes = {migration.number: migration.sha256 for migration in known}
    for number, sha256 in applied:
        if number not in hashes:
            raise MigrationError(
                f"{where} was written by a newer Combray: it has migration {number}, this version "
                f"knows {len(known)}. Upgrade Combray to open it."
            )
        if hashes[number] != sha256:
            raise MigrationError(
                f"migration {number} of {where} is not the one that this version ships. "
                "Open it with the version that made it, and export it from there."
            )
    done = {number for number, _ in applied}
    return [migration for migration in known if migration.number not in done]


def migrate_sqlite(connection: sqlite3.Connection, path: Path, known: Sequence[Migration]) -> None:
    """Bring a SQLite database to the newest schema; the caller holds the write lock.

    Each migration is one transaction, with its line in the ledger.

    Raises:
        MigrationError: the database has a migration that this version does not know.
    """
    connection.execute(_LEDGER)
    applied = connection.execute("SELECT number, sha256 FROM migration ORDER BY number").fetchall()
    for migration in to_apply(applied, known, path):
        if migration.destructive:
            _copy_aside(connection, path, migration)
        _apply(connection, migration)


def is_current(connection: sqlite3.Connection, path: Path, known: Sequence[Migration]) -> bool:
    """Whether nothing is left to apply; reads only.

    Raises:
        MigrationError: as `migrate_sqlite`.
    """
    ledger = connection.execute(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migration'"
    ).fetchone()
    if ledger is None:
        return False
    applied = connection.execute("SELECT number, sha256 FROM migration ORDER BY number").fetchall()
    return not to_apply(applied, known, path)


def _copy_aside(connection: sqlite3.Connection, path: Path, migration: Migration) -> None:
    target = path.with_name(f"{path.name}.before-{migration.number:04d}")
    target.unlink(missing_ok=True)
    connection.execute("VACUUM INTO ?", (str(target),))


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in statements(migration.sql):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO migration VALUES (?, ?, ?, ?)",
            (migration.number, migration.name, migration.sha256, to_stored(datetime.now(UTC))),
        )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise

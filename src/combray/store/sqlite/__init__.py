"""The evidence store in one SQLite file."""

from combray.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]

"""Where rows live: SQLite today, PostgreSQL by the same contract."""

from combray.store.sqlite import SqliteStore

__all__ = ["SqliteStore"]

"""Where rows live: SQLite today, PostgreSQL by the same contract."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from combray.store.sqlite import SqliteStore

__all__ = ["SqliteStore"]


def __getattr__(name: str) -> object:
    if name == "SqliteStore":
        from combray.store.sqlite import SqliteStore

        return SqliteStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

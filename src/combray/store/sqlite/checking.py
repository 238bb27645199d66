"""Looking for damage, and for derived rows that do not fit their turns."""

from __future__ import annotations

import sqlite3

from combray.store.base import Finding


def check(connection: sqlite3.Connection, bank: str | None) -> list[Finding]:
    """Findings about one bank, or about all and the file itself."""
    return []

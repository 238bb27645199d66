"""The method's own words for its units, and the keys that they are found by."""

from __future__ import annotations

from combray.model.ids import content_hash

METHOD = "atom"

FACTS = "facts"
"""Draws facts from a turn; its subject is the session."""

VERIFIED = "verified"
"""Holds a fact against earlier ones; it reads the fact first, and its subject is the fact's id."""

EVENT = "event"
"""Facts that belong together, with a summary."""

PENDING = "pending"
"""A lasting fact that waits for the end of the session; its subject is the person."""

STATEMENTS = "statements"
"""Draws profile statements from lasting facts; its subject is the person."""

REVISION = "revision"
"""Holds a profile statement against the profile; it reads the statement first, and its subject is the person."""


def key_of(kind: str, *parts: str) -> str:
    """What a unit is found by."""
    return content_hash("u1", kind, *parts)

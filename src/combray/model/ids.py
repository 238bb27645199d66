"""Tagged content hashes: the same content has the same id on every machine and in every store.

An id is ``<tag>:<26 characters>``: the tag names the kind of record and the version of the recipe, the rest is
the first 130 bits of a SHA-256 in lower-case base 32. Fields are length-prefixed before hashing, so that
``("ab", "c")`` and ``("a", "bc")`` differ.
"""

from __future__ import annotations

import hashlib
from base64 import b32encode

_CHARACTERS = 26


def content_hash(tag: str, *fields: str | None) -> str:
    """The tagged hash of the fields; None and the empty string differ.

    >>> content_hash("t1", "a", "b") == content_hash("t1", "ab", "")
    False
    """
    digest = hashlib.sha256(tag.encode())
    for field in fields:
        if field is None:
            digest.update(b"-")
        else:
            raw = field.encode("utf-8", "surrogatepass")
            digest.update(b"+%d:" % len(raw))
            digest.update(raw)
    return f"{tag}:{b32encode(digest.digest()).decode().lower()[:_CHARACTERS]}"


def turn_id_from_client(session: str, client_id: str) -> str:
    """The id of a turn that the client has named within its session."""
    return content_hash("t1", "client", session, client_id)


def turn_id_from_content(session: str, content: str, said_at: str | None, occurrence: int) -> str:
    """The id of a turn without a name: the `occurrence`-th (from 1) of that content in the session.

    Args:
        session: name of the session.
        content: `content_key` of the turn.
        said_at: stored form of the time the client gave, or None where it gave none.
        occurrence: counts equal content within the session, from 1.
    """
    return content_hash("t1", "content", session, content, said_at, str(occurrence))


def content_key(speaker: str, role: str, text: str, caption: str | None) -> str:
    """What makes two turns the same utterance, whenever it was said."""
    return content_hash("c1", speaker, role, text, caption)

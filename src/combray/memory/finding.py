"""Turns and names that a caller asks for: by id, by the client's own id, at the end of a session, nearly right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from combray.errors import Conflict, NotFound
from combray.memory.parts import Parts
from combray.model import Filters, Session, Turn
from combray.model.ids import turn_id_from_client

_PAGE = 1000
_NEAR = 3
_LOOKED_AT = 10_000
"""Most names that are compared with a mistyped one."""


def turn_ids(parts: Parts, bank: str, wanted: Sequence[str]) -> list[str]:
    """Ids of turns, where each may be the client's own id instead, if only one session has it.

    Raises:
        NotFound: no turn has that id.
        Conflict: turns of several sessions have that client's id; lists them.
    """
    stored = parts.store.known(bank, wanted)
    return [one if one in stored else _by_client(parts, bank, one) for one in wanted]


def _by_client(parts: Parts, bank: str, client_id: str) -> str:
    named = {turn_id_from_client(name, client_id): name for name in session_names(parts, bank)}
    found = parts.store.known(bank, list(named))
    if not found:
        raise NotFound(
            "turn",
            client_id,
            f"Bank {bank!r} has no turn of this id, nor of a client's; `combray turns {bank}` lists them.",
        )
    if len(found) > 1:
        places = ", ".join(f"{id_} in session {named[id_]!r}" for id_ in sorted(found))
        raise Conflict(f"{len(found)} turns have the client's id {client_id!r}: {places}. Name one by its own id.")  # fmt: skip
    return next(iter(found))


def sessions(parts: Parts, bank: str) -> Iterator[Session]:
    """All sessions in order of name; reads page by page."""
    after = ""
    while page := parts.store.sessions(bank, after=after, limit=_PAGE):
        yield from page
        after = page[-1].name


def session_names(parts: Parts, bank: str) -> Iterator[str]:
    """Names of all sessions."""
    return (session.name for session in sessions(parts, bank))


def session_of(parts: Parts, bank: str, name: str) -> Session:
    """The session of that name.

    Raises:
        NotFound: there is none; names those that are spelt alike.
    """
    names = []
    for session in sessions(parts, bank):
        if session.name == name:
            return session
        names.append(session.name)
    raise NotFound("session", name, near(name, names, f"combray sessions {bank}"))


def near(name: str, names: Iterable[str], listing: str) -> str:
    """What to say to somebody who asked for a name that is not there."""
    some = [one for one, _ in zip(names, range(_LOOKED_AT), strict=False)]
    alike = get_close_matches(name, some, n=_NEAR, cutoff=0.6)
    hint = f"Did you mean {' or '.join(map(repr, alike))}? " if alike else ""
    return f"{hint}`{listing}` lists what is there."


def turns(
    parts: Parts, bank: str, session: str | None, *, after: str | None = None
) -> Iterator[Turn]:
    """All turns (of the session) in the order they were stored, those after the turn of that id."""
    doc = 0 if after is None else _doc(parts, bank, after)
    while page := parts.store.scan(bank, session=session, after=doc, limit=_PAGE):
        yield from (turn for _, turn in page)
        doc = page[-1][0]


def last_turns(parts: Parts, bank: str, session: str | None, n: int) -> list[Turn]:
    """The last n turns (of the session) in the order they were stored."""
    filters = Filters() if session is None else Filters(sessions=[session])
    docs = parts.store.matching(bank, filters)[-n:].tolist()
    found = parts.store.turns_by_doc(bank, docs)
    return [found[doc] for doc in docs if doc in found]


def _doc(parts: Parts, bank: str, turn_id: str) -> int:
    """The document of a turn: within its session documents and positions grow together."""
    (turn,) = parts.store.turns(bank, turn_ids(parts, bank, [turn_id]))
    docs = parts.store.matching(bank, Filters(sessions=[turn.session])).tolist()
    low, high = 0, len(docs) - 1
    while low < high:
        middle = (low + high) // 2
        before = parts.store.turns_by_doc(bank, docs[middle : middle + 1])
        if any(one.position < turn.position for one in before.values()):
            low = middle + 1
        else:
            high = middle
    return int(docs[low])

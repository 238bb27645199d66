"""Which turns of a list are in their session already: a transcript sent again, whole or from somewhere on.

Turns without ids and times are told apart by their place alone. A list of them that agrees with the session from
the beginning is its transcript; one that begins with the session's last turns is the end of it (what an agent
sends that cuts old turns off its window), with or without the system prompt before it. In both cases only what
comes after is new. Everything else goes on where the session ends.

A turn keeps its position for ever, so what was forgotten leaves a gap, and a turn of a resent transcript that falls
into a gap is not stored again. Whether what comes after the last stored turn was forgotten or is new cannot be told,
since a deletion leaves nothing of the turn but that its position was given: it is stored, and `Alignment.returned`
says how many turns may have come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from combray.model import Filters, Role, Turn, TurnDraft
from combray.model.ids import turn_id_from_content
from combray.store.base import SessionState, Store

LEAST_OVERLAP = 2
"""Turns that must agree before a list counts as the end of a transcript: one "ok" after another proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """How a list stands to its session.

    Attributes:
        n_turns: turns of the session when it was looked at.
        ids: id of the stored turn that a draft is, by the draft's index.
        counts: how often each content of the list occurs in the session.
        forgotten: indices of the drafts that stand where a turn was forgotten.
        returned: how many of the drafts that follow the session's last turn stand where one was forgotten.
        n_strayed: drafts of a list that could not be aligned whose contents are in the session all the same;
            0 where they may be chance.
    """

    n_turns: int
    ids: Mapping[int, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    forgotten: frozenset[int] = frozenset()
    returned: int = 0
    n_strayed: int = 0


def align(
    store: Store, bank: str, session: str, drafts: Sequence[TurnDraft], keys: Sequence[str]
) -> Alignment:
    """Find the list in its session; work is linear in the list, but for one list of numbers of the session's turns.

    Args:
        store: holds the session, or not yet.
        bank: name.
        session: name.
        drafts: checked.
        keys: content key of each draft.
    """
    held = store.session_state(bank, session, keys)
    if not held.n_turns:
        return Alignment(n_turns=0)
    docs = store.matching(bank, Filters(sessions=[session])).tolist()
    overlap = min(len(keys), len(docs))
    if tuple(keys[:overlap]) == held.head[:overlap]:
        stored = _read(store, bank, docs[:overlap])
        return _found(held, {i: turn.id for i, turn in enumerate(stored)}, len(keys))
    pinned = _prompt(drafts, keys, held.head)
    ids = {i: turn.id for i, turn in enumerate(_read(store, bank, docs[:pinned]))}
    rest = keys[pinned:]
    tail = _read(store, bank, docs[-len(rest) :])
    around = _around_gaps(_read(store, bank, docs[:overlap]), keys, len(docs))
    if not around:
        around = {pinned + i: turn for i, turn in _window_around_gaps(tail, rest).items()}
    if around:
        ids |= {i: turn.id for i, turn in around.items()}
        gone = frozenset(range(max(around))) - ids.keys()
        return replace(_found(held, ids, len(keys)), forgotten=gone)
    n = overlap_of([turn.content for turn in tail], rest)
    if n >= min(LEAST_OVERLAP, len(rest)):
        ids |= {pinned + i: turn.id for i, turn in enumerate(tail[len(tail) - n :])}
        return _found(held, ids, len(keys))
    strayed = sum(held.counts.get(key, 0) > 0 for key in rest)
    chance = strayed < max(LEAST_OVERLAP, len(rest) / 2)
    return Alignment(
        n_turns=held.n_turns, counts=held.counts, ids=ids, n_strayed=0 if chance else strayed
    )


def _found(held: SessionState, ids: Mapping[int, str], n_drafts: int) -> Alignment:
    """The list is found in its session; what follows the last turn that they share comes after all of the session."""
    n_after = n_drafts - 1 - max(ids, default=-1)
    return Alignment(
        n_turns=held.n_turns, ids=ids, counts=held.counts, returned=min(n_after, held.n_lost)
    )


def new_ids(
    store: Store, place: tuple[str, str], keys: Sequence[str], counts: Mapping[str, int]
) -> list[str]:
    """An id for each content that is new in the session: the next number among its equals that is free.

    Args:
        store: knows which ids are taken; forgetting leaves gaps in the numbers.
        place: name of the bank, and of the session.
        keys: contents, in order.
        counts: how often each is in the session.
    """
    bank, session = place
    numbers = Counter(dict(counts))
    ids = [""] * len(keys)
    waiting = list(range(len(keys)))
    while waiting:
        for i in waiting:
            numbers[keys[i]] += 1
            ids[i] = turn_id_from_content(session, keys[i], None, numbers[keys[i]])
        taken = store.known(bank, [ids[i] for i in waiting])
        waiting = [i for i in waiting if ids[i] in taken]
    return ids


def overlap_of(before: Sequence[str], after: Sequence[str]) -> int:
    """Length of the longest end of `before` with which `after` begins.

    >>> overlap_of(["a", "b", "c"], ["b", "c", "d"])
    2

    Source:
        The prefix function of Knuth, Morris and Pratt 1977, over `after`, a mark, and `before`.
    """
    line: list[str | None] = [*after, None, *before]
    lengths = [0] * len(line)
    for i in range(1, len(line)):
        n = lengths[i - 1]
        while n and line[i] != line[n]:
            n = lengths[n - 1]
        lengths[i] = n + 1 if line[i] == line[n] else 0
    return lengths[-1] if before else 0


def _around_gaps(head: Sequence[Turn], keys: Sequence[str], n_stored: int) -> dict[int, Turn]:
    """The stored turns by their index in a list that is the transcript from its beginning; none if it is not.

    Args:
        head: the session's first turns, as many as the list has, or all.
        keys: contents of the list.
        n_stored: turns of the session.
    """
    in_place = {turn.position: turn for turn in head if turn.position < len(keys)}
    if all(keys[i] == turn.content for i, turn in in_place.items()):
        return in_place
    if len(head) < n_stored:
        return {}
    # Turns that came back at the end stand elsewhere than in the transcript: their order tells.
    found: dict[int, Turn] = {}
    last = before = -1
    for turn in head:
        room = range(last + 1, min(last + 1 + turn.position - before, len(keys)))
        at = next((i for i in room if keys[i] == turn.content), None)
        if at is None:
            return {}
        found[at] = turn
        last, before = at, turn.position
    return found


def _window_around_gaps(tail: Sequence[Turn], keys: Sequence[str]) -> dict[int, Turn]:
    """The same for a list that holds the end of the transcript; two turns must agree, and one stand in a gap."""
    last = tail[-1]
    for at in range(min(len(keys) - 1, last.position), -1, -1):
        first = last.position - at
        if keys[at] != last.content:
            continue
        found = {turn.position - first: turn for turn in tail if turn.position >= first}
        agree = all(keys[i] == turn.content for i, turn in found.items())
        if agree and LEAST_OVERLAP <= len(found) <= at:
            return found
    return {}


def _prompt(drafts: Sequence[TurnDraft], keys: Sequence[str], head: Sequence[str]) -> int:
    """How many drafts are the system prompt with which the session began."""
    n = 0
    while n < min(len(keys), len(head)) and drafts[n].role == Role.SYSTEM and keys[n] == head[n]:
        n += 1
    return n


def _read(store: Store, bank: str, docs: Sequence[int]) -> list[Turn]:
    found = store.turns_by_doc(bank, docs)
    return [found[doc] for doc in docs if doc in found]

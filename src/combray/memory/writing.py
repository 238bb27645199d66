"""The write path: drafts to durable turns, and the rebuilding of what is derived from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from combray.embed.base import Embedder
from combray.errors import Conflict, EmbedderMismatch, InvalidInput
from combray.memory.alignment import align, new_ids
from combray.memory.drafts import (
    DraftLike,
    Moment,
    as_draft,
    checked,
    contents,
    session_of_day,
    to_turns,
    without_identity,
)
from combray.memory.parts import Parts
from combray.memory.rows import embedded, halved, to_rows
from combray.model import Bank, Session, Turn, TurnDraft
from combray.model.turn import checked_new_name
from combray.store.base import PutReceipt
from combray.text.base import Analyser

BATCH = 256
"""Turns in one transaction of a long import: a fraction of a second of embedding, little to do again after a kill."""

_ALIGNMENT_TRIES = 8
_BATCH = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What `remember` did; when it returns, the stored turns are durable.

    Attributes:
        ids: of all turns handed in, in order, but those that were forgotten.
        stored: those that are new.
        known: those that were there before.
        session: name of their session.
        revision: of the bank.
        notes: what did not happen, such as "stored without vectors".
    """

    ids: tuple[str, ...]
    stored: tuple[str, ...]
    known: tuple[str, ...]
    session: str
    revision: int
    notes: tuple[str, ...] = ()


def drafts_of(
    turns: DraftLike | Iterable[DraftLike], defaults: Mapping[str, object], now: datetime
) -> list[TurnDraft]:
    """Checked drafts with the defaults filled in; one that stands alone without a time is said now.

    Raises:
        InvalidInput: there is none, or one of them cannot be stored.
    """
    single = isinstance(turns, str | TurnDraft | Mapping)
    if not single and (not isinstance(turns, Iterable) or isinstance(turns, bytes)):
        raise InvalidInput(
            f"pass a text, a TurnDraft, a mapping, or several of them, not {turns!r}."
        )
    values: Iterable[DraftLike] = [turns] if single else turns  # type: ignore[list-item, assignment]
    drafts = [_with_defaults(as_draft(value), defaults) for value in values]
    if not drafts:
        raise InvalidInput("there is no turn to remember: pass a text, a TurnDraft or several.")
    if single and without_identity(drafts):
        drafts = [replace(drafts[0], said_at=now)]
    return [checked(draft) for draft in drafts]


def _with_defaults(draft: TurnDraft, defaults: Mapping[str, object]) -> TurnDraft:
    missing = {
        name: value
        for name, value in defaults.items()
        if value is not None and getattr(draft, name) is None
    }
    return replace(draft, **missing) if missing else draft  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """Turns that have their ids, and what must still hold when they are stored.

    Attributes:
        turns: in order.
        n_turns: turns that their session must still have, or None where the ids do not depend on it.
        notes: what the client should know.
    """

    turns: list[Turn]
    n_turns: int | None = None
    notes: tuple[str, ...] = ()


def write(
    parts: Parts, bank: Bank, session: Session | None, drafts: Sequence[TurnDraft], now: datetime
) -> Remembered:
    """Store the drafts as turns of the session, in one transaction; see `BankMemory.remember`."""
    (done,) = write_in_batches(parts, bank, session, (drafts, now), size=len(drafts))
    return done


def write_in_batches(
    parts: Parts,
    bank: Bank,
    session: Session | None,
    said: tuple[Sequence[TurnDraft], datetime],
    *,
    size: int,
) -> Iterator[Remembered]:
    """Store the drafts, `size` of them in a transaction; each is durable when it is given.

    All ids are found before the first is stored: a batch by itself could be taken for the end of a transcript.
    """
    drafts, now = said
    if session is None:
        session = Session(name=session_of_day(drafts[0].said_at, bank.zone, now))
    _check_session(parts, bank, session.name)
    moment = Moment(session=session.name, zone=bank.zone, now=now)
    plan, done = _first(parts, bank, session, (drafts, moment), size)
    yield replace(done, notes=(*done.notes, *plan.notes))
    for start in range(size, len(plan.turns), size):
        # Without the precondition of the first: whoever writes the same list at the same time gives the same ids.
        yield put_turns(parts, bank, session, plan.turns[start : start + size])


def _check_session(parts: Parts, bank: Bank, name: str) -> None:
    """Refuse a name that no new session may have; a session that is there already goes on under any."""
    try:
        checked_new_name(name, "a session's name")
    except InvalidInput:
        if not parts.store.session_state(bank.name, name, ()).n_turns:
            raise


def _first(
    parts: Parts,
    bank: Bank,
    session: Session,
    said: tuple[Sequence[TurnDraft], Moment],
    size: int,
) -> tuple[_Plan, Remembered]:
    """The plan, and its first batch stored; made anew while other writers move the session on."""
    for attempt in range(_ALIGNMENT_TRIES):
        plan = _planned(parts, bank, *said)
        try:
            done = put_turns(parts, bank, session, plan.turns[:size], if_session_turns=plan.n_turns)
        except Conflict:
            state = parts.store.session_state(bank.name, session.name, ())
            moved = plan.n_turns is not None and state.n_turns != plan.n_turns
            if not moved or attempt == _ALIGNMENT_TRIES - 1:
                raise
        else:
            return plan, done
    raise AssertionError("unreachable")


def _planned(parts: Parts, bank: Bank, drafts: Sequence[TurnDraft], moment: Moment) -> _Plan:
    keys = contents(drafts)
    untimed = without_identity(drafts)
    if not untimed:
        return _Plan(turns=to_turns(drafts, keys, {}, moment))
    found = align(parts.store, bank.name, moment.session, drafts, keys)
    new = [i for i in untimed if i not in found.ids and i not in found.forgotten]
    place = (bank.name, moment.session)
    made = new_ids(parts.store, place, [keys[i] for i in new], found.counts)
    ids = {**found.ids, **dict(zip(new, made, strict=True))}
    notes: list[str] = []
    if found.n_strayed:
        notes.append(_strayed(found.n_strayed, len(drafts), moment.session))
    gone = found.forgotten.intersection(untimed)
    if gone:
        notes.append(f"{len(gone)} of these turns were forgotten, and are not stored again")
    if found.returned:
        notes.append(_returned(found.returned, moment.session))
    kept = [i for i in range(len(drafts)) if i not in gone]
    turns = to_turns(
        [drafts[i] for i in kept],
        [keys[i] for i in kept],
        {at: ids[i] for at, i in enumerate(kept) if i in ids},
        moment,
    )
    return _Plan(turns=turns, n_turns=found.n_turns, notes=tuple(notes))


def _returned(n: int, session: str) -> str:
    return (
        f"turns at the end of session {session!r} had been forgotten; {n} of these turns follow in their place and "
        "were stored as new ones. If they are the same, forget them again, and leave them out of the transcript"
    )


def _strayed(n: int, of: int, session: str) -> str:
    return (
        f"{n} of these {of} turns are in session {session!r} already, but the list neither agrees with the session "
        "from its beginning nor begins with its last turns: all of it was stored as new turns. Ids or times of "
        "your own tell such turns apart"
    )


def put_turns(
    parts: Parts,
    bank: Bank,
    session: Session,
    turns: Sequence[Turn],
    *,
    if_session_turns: int | None = None,
) -> Remembered:
    """Store turns that have their ids; analysis and vectors are made for the new ones only."""
    ids = [turn.id for turn in turns]
    known = parts.store.known(bank.name, ids)
    contents = dict(known)
    for turn in turns:
        if contents.setdefault(turn.id, turn.content) != turn.content:
            where = "is stored" if turn.id in known else "comes twice in one call,"
            raise Conflict(
                f"turn {turn.client_id or turn.id!r} of session {session.name!r} {where} with other content; "
                "a turn never changes: give the new one another id. Nothing was stored."
            )
    fresh = [turn for turn in {turn.id: turn for turn in turns}.values() if turn.id not in known]
    embedder = parts.embedder_for(bank)
    notes = _notes(bank, embedder)
    if not fresh:
        revision = parts.store.state(bank.name).revision
        receipt = PutReceipt(ids=(), stored=(), known=(), revision=revision)
    else:
        rows = to_rows(fresh, parts.analyser_for(bank), embedder)
        try:
            receipt = parts.store.put(
                bank.name,
                session,
                rows,
                if_session_turns=if_session_turns,
                embedder=bank.embedder,
                analyser=bank.analyser,
            )
        except (EmbedderMismatch, Conflict):
            now = parts.store.bank(bank.name)
            if (now.embedder, now.analyser) == (bank.embedder, bank.analyser):
                raise
            # A reindex has switched the bank since the rows were made: make them anew.
            return put_turns(parts, now, session, turns, if_session_turns=if_session_turns)
    stored = set(receipt.stored)
    return Remembered(
        ids=tuple(ids),
        stored=receipt.stored,
        known=tuple(dict.fromkeys(turn_id for turn_id in ids if turn_id not in stored)),
        session=session.name,
        revision=receipt.revision,
        notes=notes,
    )


def _notes(bank: Bank, embedder: Embedder | None) -> tuple[str, ...]:
    if embedder is not None:
        return ()
    return (
        f"stored without vectors; `combray reindex {bank.name}` adds them once a model is here",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexed:
    """What `reindex` did.

    Attributes:
        analysed: turns whose postings were made anew.
        embedded: turns that got vectors.
        embedder: id of the model now in use, or None.
        dropped: id of the model whose vectors were dropped, or None.
    """

    analysed: int
    embedded: int
    embedder: str | None
    dropped: str | None = None


def add_vectors(parts: Parts, bank: Bank, embedder: Embedder) -> int:
    """Embed every turn and record that has no vector of that model yet, then use the model for the bank.

    Recall goes on with what the bank has until all vectors are there; turns that are written meanwhile are found
    by the next round. Records that were linked by the vectors of another model are to be linked anew.
    """
    n = 0
    while True:
        missing = parts.store.missing_vectors(bank.name, embedder.id, limit=_BATCH)
        if missing:
            rows = embedded([turn for _, turn in missing], embedder)
            docs = [doc for doc, _ in missing]
            n += parts.store.put_vectors(
                bank.name, embedder.id, embedder.dimension, dict(zip(docs, rows, strict=True))
            )
            continue
        if _embed_records(parts, bank, embedder):
            continue
        try:
            parts.store.use_embedder(bank.name, embedder.id, embedder.dimension)
        except Conflict:
            continue
        _relink(parts, bank, embedder.id)
        return n


def _embed_records(parts: Parts, bank: Bank, embedder: Embedder) -> int:
    """Embed a batch of records that lack a vector of that model; returns how many."""
    missing = parts.store.missing_record_vectors(bank.name, embedder.id, limit=_BATCH)
    if missing:
        rows = halved(embedder.embed([text for _, text in missing]))
        vectors = {number: row for (number, _), row in zip(missing, rows, strict=True)}
        parts.store.put_record_vectors(bank.name, embedder.id, embedder.dimension, vectors)
    return len(missing)


def _relink(parts: Parts, bank: Bank, embedder: str | None) -> None:
    if bank.embedder != embedder:
        for method in bank.methods:
            parts.store.relink(bank.name, method, parts.clock())


def drop_vectors(parts: Parts, bank: Bank) -> None:
    """Leave the bank with words alone."""
    if bank.embedder is not None:
        parts.store.use_embedder(bank.name, None, 0)


def analyse_again(parts: Parts, bank: Bank, analyser: Analyser) -> int:
    """Replace the postings of every turn by those of the analyser, then use it for the bank."""
    if analyser.id == bank.analyser:
        return _analyse_in_place(parts, bank, analyser)
    n = 0
    while True:
        batch = parts.store.missing_analysis(bank.name, analyser.id, limit=_BATCH)
        try:
            _replace(parts, bank, analyser, batch, final=not batch)
        except Conflict:
            continue  # a turn was stored since the list was read
        n += len(batch)
        if not batch:
            return n


def _analyse_in_place(parts: Parts, bank: Bank, analyser: Analyser) -> int:
    n = after = 0
    while batch := parts.store.scan(bank.name, after=after, limit=_BATCH):
        _replace(parts, bank, analyser, batch, final=False)
        n += len(batch)
        after = batch[-1][0]
    return n


def _replace(
    parts: Parts,
    bank: Bank,
    analyser: Analyser,
    batch: Sequence[tuple[int, Turn]],
    *,
    final: bool,
) -> None:
    rows = to_rows([turn for _, turn in batch], analyser, None)
    docs = [doc for doc, _ in batch]
    made = dict(zip(docs, rows, strict=True))
    parts.store.replace_analysis(bank.name, analyser.id, made, final=final)

"""Puts AtomMem's released facts into a bank as records of `atom`, with notes and events made without a model.

The release holds the texts of facts alone. People, keywords, times and what lasts are noted locally (`local_notes`), and events are facts
grouped by likeness (`grouped`); there are no profiles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from combray import registry
from combray.embed.base import Embedder
from combray.errors import NotFound
from combray.eval.datasets.atommem import MODEL, TurnFacts
from combray.eval.datasets.base import TurnKey
from combray.eval.released import turns_of
from combray.memory import BankMemory, Memory
from combray.memory.rows import halved
from combray.methods.atom.grouping import GroupingParams, grouped
from combray.methods.atom.kinds import EVENT, FACTS, METHOD, key_of
from combray.methods.atom.local import MAX_KEYWORDS, local_notes
from combray.model import FactNotes, MadeBy, RecordKind, Role, Turn, record_id, utc_now
from combray.model.time import to_stored
from combray.store.derived import Derivation, RecordRow, UnitRow
from combray.text.names import people

_DRAWN = MadeBy(method=METHOD, prompt="released", model=MODEL)
_GROUPED = MadeBy(method=METHOD, prompt="grouped")

_N_TOLD = 3
"""Facts whose texts tell an event, as where the released code has no summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fact:
    """A fact with what is known of it; one that several turns gave has the turn and the notes of the first."""

    text: str
    notes: FactNotes
    vector: bytes
    docs: tuple[int, ...]

    @property
    def id(self) -> str:
        return record_id(RecordKind.FACT, METHOD, self.text)


def remember_atommem(
    memory: Memory,
    bank: BankMemory,
    facts: Sequence[TurnFacts],
    embedder: Embedder,
    grouping: GroupingParams | None = None,
) -> None:
    """Store the released facts, and events of them, as the records of `atom` in the bank, which holds the turns.

    Every turn counts as read, also those that the release draws no fact from. Storing twice does nothing; with another grouping the
    events are those of the last one.

    Raises:
        NotFound: a fact is of a turn that the bank does not hold; nothing was stored.
    """
    store, name, embedded_by = memory.store, bank.name, bank.bank.embedder
    said = turns_of(memory, name)
    found = _facts(bank, facts, said, embedder)
    units = list(_units(facts, said, found))
    store.derive(name, METHOD, Derivation(units=units, embedder=embedded_by), at=utc_now())
    records = store.find_records(name, sorted(fact.id for fact in found.values()))
    numbers = {fact.text: records[fact.id].number for fact in found.values()}
    groups = grouped(*_arrays(list(found.values())), grouping or GroupingParams())
    listed = list(found.values())
    members = [[listed[row] for row in group] for group in groups]
    events = list(_events(members, numbers, embedder))
    keys = {event.key for event in events}
    earlier = [unit for unit in store.units(name, METHOD, EVENT) if unit.made_by == _GROUPED]
    store.derive(
        name,
        METHOD,
        Derivation(
            drop=[(EVENT, unit.key) for unit in earlier if unit.key not in keys],
            units=events,
            staged=sorted(numbers.values()),
            embedder=embedded_by,
        ),
        at=utc_now(),
    )


def _facts(
    bank: BankMemory,
    given: Sequence[TurnFacts],
    said: Mapping[TurnKey, tuple[int, Turn]],
    embedder: Embedder,
) -> dict[str, _Fact]:
    """The facts by text, in order."""
    missing = next((one.turn for one in given if one.turn not in said), None)
    if missing is not None:
        raise NotFound("turn", f"{missing[1]} of {missing[0]}")
    docs: dict[str, list[int]] = {}
    first: dict[str, Turn] = {}
    for one in given:
        doc, turn = said[one.turn]
        for text in one.facts:
            docs.setdefault(text, []).append(doc)
            first.setdefault(text, turn)
    texts = list(docs)
    speakers = sorted({turn.speaker for _, turn in said.values()})
    notes = local_notes(
        texts,
        [first[text].said_at for text in texts],
        registry.analyser(bank.bank.analyser),
        speakers,
    )
    vectors = halved(embedder.embed(texts))
    return {
        text: _Fact(text=text, notes=note, vector=vector, docs=tuple(docs[text]))
        for text, note, vector in zip(texts, notes, vectors, strict=True)
    }


def _units(
    given: Iterable[TurnFacts],
    said: Mapping[TurnKey, tuple[int, Turn]],
    found: Mapping[str, _Fact],
) -> Iterator[UnitRow]:
    """What was read of each turn that may tell something: it, and the one before it in the session."""
    by_turn = {one.turn: one.facts for one in given}
    before: dict[str, int] = {}
    for key, (doc, turn) in said.items():
        previous = before.get(turn.session)
        before[turn.session] = doc
        if turn.role is Role.SYSTEM or not (turn.text.strip() or turn.caption):
            continue
        yield UnitRow(
            kind=FACTS,
            key=key_of(FACTS, turn.id),
            subject=turn.session,
            turns=(doc,) if previous is None else (previous, doc),
            made_by=_DRAWN,
            records=tuple(_row(found[text], turn, doc) for text in by_turn.get(key, ())),
        )


def _row(fact: _Fact, turn: Turn, doc: int) -> RecordRow:
    span = fact.notes.span
    return RecordRow(
        id=fact.id,
        kind=RecordKind.FACT,
        text=fact.text,
        sources=(doc,),
        detail=fact.notes.detail(),
        valid_from=span.start if span else turn.said_at,
        vector=fact.vector,
    )


def _arrays(facts: Sequence[_Fact]) -> tuple[NDArray[np.float32], csr_array, csr_array]:
    """Vectors, keywords and people of the facts, as `grouped` takes them."""
    halves = np.frombuffer(b"".join(fact.vector for fact in facts), dtype="<f2")
    vectors = halves.astype(np.float32).reshape(len(facts), -1 if facts else 0)
    person = people(name for fact in facts for name in fact.notes.people)
    words = {w: n for n, w in enumerate(dict.fromkeys(w for f in facts for w in f.notes.keywords))}
    return (
        vectors,
        _ones([[words[word] for word in fact.notes.keywords] for fact in facts], len(words)),
        _ones([[person[name] for name in fact.notes.people] for fact in facts], len(person)),
    )


def _ones(rows: Sequence[Sequence[int]], n_columns: int) -> csr_array:
    sets = [sorted(set(row)) for row in rows]
    pointers = np.concatenate([[0], np.cumsum([len(row) for row in sets])]).astype(np.int64)
    columns = np.array([column for row in sets for column in row], dtype=np.int64)
    ones = np.ones(len(columns), dtype=np.float32)
    return csr_array((ones, columns, pointers), shape=(len(sets), n_columns))


def _events(
    groups: Sequence[Sequence[_Fact]], numbers: Mapping[str, int], embedder: Embedder
) -> Iterator[UnitRow]:
    texts = [" ".join(fact.text for fact in group[:_N_TOLD]) for group in groups]
    vectors = halved(embedder.embed(texts))
    for group, text, vector in zip(groups, texts, vectors, strict=True):
        key = key_of(EVENT, *(fact.id for fact in group))
        docs = tuple(sorted({doc for fact in group for doc in fact.docs}))
        spans = [fact.notes.span for fact in group if fact.notes.span]
        record = RecordRow(
            id=record_id(RecordKind.EVENT, METHOD, f"{key} {text}"),
            kind=RecordKind.EVENT,
            text=text,
            sources=docs,
            detail=_told(group),
            valid_from=min((span.start for span in spans), default=None),
            vector=vector,
        )
        yield UnitRow(
            kind=EVENT,
            key=key,
            turns=docs,
            inputs=tuple(numbers[fact.text] for fact in group),
            made_by=_GROUPED,
            records=(record,),
            least_inputs=2,
        )


def _told(group: Sequence[_Fact]) -> dict[str, object]:
    """People and time of an event are the union of its facts'; its keywords are those that most of them have."""
    counted = Counter(word for fact in group for word in fact.notes.keywords)
    spans = [fact.notes.span for fact in group if fact.notes.span]
    detail: dict[str, object] = {
        "people": list(dict.fromkeys(name for fact in group for name in fact.notes.people)),
        "keywords": [word for word, _ in counted.most_common(MAX_KEYWORDS)],
    }
    if spans:
        detail["from"] = to_stored(min(span.start for span in spans))
        detail["to"] = to_stored(max(span.end for span in spans))
    return detail

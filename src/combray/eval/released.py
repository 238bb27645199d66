"""Puts released outputs of other people's models into a bank as records, with their provenance.

So a method can be exercised on all of LoCoMo without a model, on what a real one wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from combray.embed.base import Embedder
from combray.eval.datasets.anchormem import MODEL, ReleasedRun
from combray.eval.datasets.base import TurnKey
from combray.memory import BankMemory, Memory
from combray.memory.rows import halved
from combray.methods.anchor.derive import EVENT, FACTS, METHOD, cluster_key
from combray.model import MadeBy, RecordKind, Turn, record_id, utc_now
from combray.model.ids import content_hash, turn_id_from_client
from combray.store.derived import Derivation, RecordRow, UnitRow

_MADE_BY = MadeBy(method=METHOD, prompt="released", model=MODEL)


def remember_anchormem(
    memory: Memory, bank: BankMemory, run: ReleasedRun, embedder: Embedder
) -> None:
    """Store the run's facts and events as the records of `anchor` in the bank, which holds the turns.

    An event whose facts are fewer than two different ones is one repeated sentence, and is left out.
    """
    store, name = memory.store, bank.name
    texts = [*run.facts.values(), *(event.text for event in run.events)]
    vectors = dict(zip(texts, halved(embedder.embed(texts)), strict=True))
    docs = {key: doc for key, (doc, _) in turns_of(memory, name).items()}
    chunks = [
        UnitRow(
            kind=FACTS,
            key=content_hash("u1", FACTS, *(turn_id_from_client(*key) for key in chunk.turns)),
            subject=chunk.turns[0][0],
            turns=tuple(docs[key] for key in chunk.turns),
            made_by=_MADE_BY,
            records=_records(
                RecordKind.FACT,
                [run.facts[fact] for fact in chunk.facts],
                vectors,
                tuple(docs[key] for key in chunk.turns),
            ),
        )
        for chunk in run.chunks
    ]
    embedded_by = bank.bank.embedder
    store.derive(name, METHOD, Derivation(units=chunks, embedder=embedded_by), at=utc_now())
    ids = {row.id for chunk in chunks for row in chunk.records}
    numbers = {id_: record.number for id_, record in store.find_records(name, sorted(ids)).items()}
    events = _events(run, numbers, vectors, docs)
    staged = sorted(numbers.values())
    store.derive(
        name,
        METHOD,
        Derivation(units=events, staged=staged, embedder=embedded_by),
        at=utc_now(),
    )


def _events(
    run: ReleasedRun,
    numbers: Mapping[str, int],
    vectors: Mapping[str, bytes],
    docs: Mapping[TurnKey, int],
) -> list[UnitRow]:
    homes: dict[str, set[int]] = {}
    for chunk in run.chunks:
        for fact in chunk.facts:
            homes.setdefault(fact, set()).update(docs[key] for key in chunk.turns)
    rows: dict[str, UnitRow] = {}
    for event in run.events:
        members = list(dict.fromkeys(event.facts))
        if len(members) < 2:
            continue
        inputs = [numbers[record_id(RecordKind.FACT, METHOD, run.facts[fact])] for fact in members]
        turns = tuple(sorted(set().union(*(homes[fact] for fact in members))))
        key = cluster_key(inputs)
        made = _records(RecordKind.EVENT, [event.text], vectors, turns)
        earlier = rows[key].records if key in rows else ()
        rows[key] = UnitRow(
            kind=EVENT,
            key=key,
            subject=str(inputs[0]),
            turns=turns,
            inputs=tuple(dict.fromkeys(inputs)),
            made_by=_MADE_BY,
            records=(*earlier, *made),
        )
    return list(rows.values())


def _records(
    kind: RecordKind, texts: Sequence[str], vectors: Mapping[str, bytes], docs: tuple[int, ...]
) -> tuple[RecordRow, ...]:
    return tuple(
        RecordRow(
            id=record_id(kind, METHOD, text),
            kind=kind,
            text=text,
            sources=docs,
            vector=vectors[text],
        )
        for text in dict.fromkeys(texts)
        if text.strip()
    )


def turns_of(memory: Memory, bank: str) -> dict[TurnKey, tuple[int, Turn]]:
    """Document number and turn by key, of all turns of the bank, in order."""
    found: dict[TurnKey, tuple[int, Turn]] = {}
    after = 0
    while page := memory.store.scan(bank, after=after, limit=1000):
        found |= {(turn.session, turn.client_id or ""): (doc, turn) for doc, turn in page}
        after = page[-1][0]
    return found

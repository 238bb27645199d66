"""What AnchorMem asks a model for: the facts of each chunk, and one account of facts that belong together.

Both work out from the bank what is lacking, so doing a job again, or half and then again, gives what doing it once gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from pydantic import BaseModel

from combray.errors import NotFound
from combray.index.records import RecordView
from combray.methods.anchor.chunks import windows
from combray.methods.anchor.clusters import Cluster, Plan, replan, similar_pairs
from combray.methods.anchor.params import AnchorParams
from combray.methods.workbench import Failures, Prompted, Workbench, in_pool
from combray.model import MadeBy, RecordKind, Turn, record_id
from combray.model.ids import content_hash
from combray.prompts.quoting import rendered
from combray.store.base import Store
from combray.store.derived import LINK, Derivation, Edge, RecordRow, Unit, UnitRow

METHOD = "anchor"
FACTS = "facts"
"""Kind of the units that draw facts from a chunk; their subject is the session."""

EVENT = "event"
"""Kind of the units that join facts; their subject is the main fact's number."""

SIMILAR = "similar"
"""Kind of the edges between facts."""

_SLICE = 1000


class Facts(BaseModel):
    """What a model replies about a chunk."""

    facts: list[str]


class Events(BaseModel):
    """What a model replies about facts that belong together."""

    events: list[str]


Chunk = tuple[tuple[int, Turn], ...]
"""Document numbers and turns."""


def draw_facts(bench: Workbench, params: AnchorParams) -> None:
    """Draw facts from the chunks of the job's session that have none yet.

    A chunk that is no longer there (it has grown, or lost a turn) goes once all others have their facts.

    Source:
        AnchorMem, step 1.  Deviation: a failed call is done again, where the released code takes it for a chunk without facts.
    """
    turns = bench.turns(bench.job.subject)
    wanted = {
        _key(turn.id for _, turn in chunk): chunk
        for chunk in windows(
            turns,
            size=params.window,
            stride=params.stride,
            contained=params.contained_windows,
        )
    }
    there = bench.store.units(bench.bank.name, METHOD, FACTS, subject=bench.job.subject)
    known = {unit.key for unit in there}
    missing = [(key, chunk) for key, chunk in wanted.items() if key not in known]
    failures = Failures()
    for (key, chunk), reply in in_pool(
        lambda item: _ask_facts(bench, item[1]),
        missing,
        failures,
        n_threads=bench.concurrency,
    ):
        made = _fact_unit(bench, key, chunk, reply, params)
        bench.derive(bench.change(units=[made], queue=[(LINK, "")]))
    failures.check(len(missing))
    gone = [(FACTS, key) for key in known if key not in wanted]
    if gone:
        bench.derive(Derivation(drop=gone, queue=[(LINK, "")]))


def link_facts(bench: Workbench, params: AnchorParams) -> None:
    """Find what new facts belong with, keep the clusters that add something, and have each told as an event.

    Source:
        AnchorMem, steps 3 to 5.  Deviation: done for the neighbourhood of what is new, with the result of doing all of it at once.
    """
    store, bank = bench.store, bench.bank.name
    reader = _Reader(store, bank)
    while facts := store.unstaged(bank, METHOD, RecordKind.FACT, limit=_SLICE):
        edges = _edges(bench.records(METHOD), facts, params)
        if edges:
            bench.derive(Derivation(edges=edges))
        plan = replan(facts, reader, params)
        bench.derive(_planned(reader, plan, facts))
    wanted = store.units(bank, METHOD, EVENT, done=False)
    failures = Failures()
    for unit, reply in in_pool(
        lambda unit: _ask_event(bench, unit, params),
        wanted,
        failures,
        n_threads=bench.concurrency,
    ):
        bench.derive(bench.change(units=[_event_unit(bench, unit, reply)]))
    failures.check(len(wanted))


def statements(texts: Sequence[str], longest: int) -> list[str]:
    """The texts with white space normalised; without empty, overlong and repeated ones."""
    bare = (" ".join(text.split()) for text in texts)
    return [text for text in dict.fromkeys(bare) if 0 < len(text) <= longest]


def cluster_key(members: Iterable[int]) -> str:
    """What a cluster's unit is found by."""
    return content_hash("u1", EVENT, *map(str, members))


def _key(turn_ids: Iterable[str]) -> str:
    return content_hash("u1", FACTS, *turn_ids)


def _ask_facts(bench: Workbench, chunk: Chunk) -> Facts:
    turns = [turn for _, turn in chunk]
    reply: Facts = bench.ask(
        Prompted("anchor_facts", FACTS, {"turns": rendered(turns)}),
        Facts,
        docs=[doc for doc, _ in chunk],
        about=f"for the facts of turns {turns[0].position + 1} to {turns[-1].position + 1} "
        f"of session {turns[0].session!r}",
    )
    return reply


def _fact_unit(
    bench: Workbench, key: str, chunk: Chunk, reply: Facts, params: AnchorParams
) -> UnitRow:
    docs = tuple(doc for doc, _ in chunk)
    texts = statements(reply.facts, params.max_fact_chars)
    return UnitRow(
        kind=FACTS,
        key=key,
        subject=chunk[0][1].session,
        turns=docs,
        made_by=bench.made_by("anchor_facts"),
        records=_rows(bench, RecordKind.FACT, texts, docs),
    )


def _rows(
    bench: Workbench, kind: RecordKind, texts: Sequence[str], docs: tuple[int, ...]
) -> tuple[RecordRow, ...]:
    return tuple(
        RecordRow(
            id=record_id(kind, METHOD, text), kind=kind, text=text, sources=docs, vector=vector
        )
        for text, vector in zip(texts, bench.vectors(texts), strict=True)
    )


def _edges(view: RecordView, facts: Sequence[int], params: AnchorParams) -> list[Edge]:
    """Edges of the facts to any other fact."""
    all_facts = view.of_kind(RecordKind.FACT)
    numbers = view.number[all_facts]
    rows = np.flatnonzero(np.isin(numbers, np.asarray(facts, dtype=np.int64)))
    return [
        Edge(kind=SIMILAR, a=int(numbers[i]), b=int(numbers[j]), weight=cosine)
        for i, j, cosine in similar_pairs(view.vectors[all_facts], rows, params.similarity)
    ]


@dataclass(frozen=True, slots=True)
class _Reader:
    """A neighbourhood of facts, as `replan` reads it."""

    store: Store
    bank: str

    def neighbours(self, facts: Sequence[int]) -> dict[int, dict[int, float]]:
        found = self.store.edges(self.bank, METHOD, SIMILAR, facts)
        near: dict[int, dict[int, float]] = {}
        for a, b, weight in zip(
            found.a.tolist(), found.b.tolist(), found.weight.tolist(), strict=True
        ):
            near.setdefault(a, {})[b] = weight
        return near

    def contexts(self, facts: Sequence[int]) -> dict[int, list[int]]:
        return {fact: list(docs) for fact, docs in self.docs_of(facts).items()}

    def docs_of(self, facts: Sequence[int]) -> dict[int, dict[int, tuple[int, ...]]]:
        """For each fact the chunks that it comes from (by number of their unit), with their turns."""
        found = self.store.sources(self.bank, facts)
        rows = zip(found.record.tolist(), found.unit.tolist(), found.doc.tolist(), strict=True)
        homes: dict[int, dict[int, tuple[int, ...]]] = {}
        for (record, unit), group in groupby(rows, key=lambda row: (row[0], row[1])):
            homes.setdefault(record, {})[unit] = tuple(row[2] for row in group)
        return homes

    def kept(self, facts: Sequence[int]) -> list[tuple[int, ...]]:
        return [unit.inputs for unit in self.store.units_reading(self.bank, METHOD, EVENT, facts)]


def _planned(reader: _Reader, plan: Plan, staged: Sequence[int]) -> Derivation:
    return Derivation(
        units=[_wanted(reader, cluster) for cluster in plan.keep],
        drop=[(EVENT, cluster_key(members)) for members in plan.drop],
        staged=staged,
    )


def _wanted(reader: _Reader, cluster: Cluster) -> UnitRow:
    homes = reader.docs_of(cluster.members)
    chosen = zip(cluster.members, cluster.contexts, strict=True)
    docs = {doc for member, context in chosen for doc in homes[member][context]}
    return UnitRow(
        kind=EVENT,
        key=cluster_key(cluster.members),
        subject=str(cluster.main),
        done=False,
        turns=tuple(sorted(docs)),
        inputs=cluster.members,
        made_by=MadeBy(method=METHOD),
    )


def _ask_event(bench: Workbench, unit: Unit, params: AnchorParams) -> Events:
    records = bench.store.records(bench.bank.name, unit.inputs)
    topics = [records[number].text for number in unit.inputs if number in records]
    if len(topics) < len(unit.inputs):
        raise NotFound(
            "fact", unit.subject, "It was forgotten meanwhile; the job goes on without it."
        )
    chunks = _chunks(bench, unit, params)
    values = {
        "topics": "\n".join(f"- {topic}" for topic in topics),
        "turns": "\n\n".join(rendered(chunk) for chunk in chunks),
    }
    reply: Events = bench.ask(
        Prompted("anchor_event", EVENT, values),
        Events,
        docs=unit.turns,
        about=f"what {len(topics)} facts have in common, the first: {topics[0][:80]!r}",
    )
    return reply


def _chunks(bench: Workbench, unit: Unit, params: AnchorParams) -> list[list[Turn]]:
    """The turns of each member's chunk, one a member, in the order of members."""
    turns = bench.store.turns_by_doc(bench.bank.name, unit.turns)
    homes = _Reader(bench.store, bench.bank.name).docs_of(unit.inputs)
    members = unit.inputs if params.own_context else unit.inputs[1:]
    chunks: dict[int, list[Turn]] = {}
    for member in members:
        for context, docs in homes.get(member, {}).items():
            if context not in chunks and all(doc in turns for doc in docs):
                chunks[context] = [turns[doc] for doc in docs]
                break
    return list(chunks.values())


def _event_unit(bench: Workbench, unit: Unit, reply: Events) -> UnitRow:
    texts = statements(reply.events, 20_000)
    return UnitRow(
        kind=EVENT,
        key=unit.key,
        subject=unit.subject,
        turns=unit.turns,
        inputs=unit.inputs,
        made_by=bench.made_by("anchor_event"),
        records=_rows(bench, RecordKind.EVENT, texts, unit.turns),
    )

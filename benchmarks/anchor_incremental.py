"""What adding one session costs `anchor` in banks of 1,000, 10,000 and 100,000 facts, the model's own time left out.

Facts are synthetic: groups of three with a cosine of about .92, in chunks of five. The new session has 30 turns and 75 facts, of
which a third belong to groups that are there. The model is a function, so what is measured is everything else: reading the session, vectors
(made at no cost), similarities, clusters, events, commits.

Usage: python benchmarks/anchor_incremental.py [--save FOLDER] [--size N ...]
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

from combray import Memory
from combray.embed.base import Embeddings
from combray.llm import FunctionLLM
from combray.methods.anchor.derive import EVENT, FACTS, METHOD, SIMILAR, cluster_key
from combray.model import MadeBy, RecordKind, record_id, utc_now
from combray.store.derived import Derivation, Edge, RecordRow, UnitRow

DIMENSION = 384
PER_CHUNK = 5
GROUP = 3
MADE_BY = MadeBy(method=METHOD, prompt="none", model="none")
_NUMBERS = re.compile(r"group (\d+) part (\d+)")


class GroupEmbedder:
    """Texts of one group lie near each other; any other text lies anywhere."""

    id = "groups@1-384"
    dimension = DIMENSION

    def embed(self, texts: Sequence[str]) -> Embeddings:
        return Embeddings(vectors=np.array([self._vector(text) for text in texts], np.float32))

    def _vector(self, text: str) -> np.ndarray:
        found = _NUMBERS.search(text)
        group, part = (int(found[1]), int(found[2])) if found else (zlib.crc32(text.encode()), 0)
        base = unit(np.random.default_rng([1, group]).normal(size=DIMENSION))
        noise = unit(np.random.default_rng([2, group, part]).normal(size=DIMENSION))
        return unit(base + 0.3 * noise)


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def text_of(number: int) -> str:
    return f"Someone did the thing of group {number // GROUP} part {number % GROUP}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, action="append")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    result = {str(size): measured(size) for size in options.size or (1_000, 10_000, 100_000)}
    print(json.dumps(result, indent=1))
    if options.save:
        (options.save / "anchor_incremental.json").write_text(json.dumps(result, indent=1) + "\n")


def measured(size: int, sessions: int = 5) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.db"
        with Memory.open(path, embedder=GroupEmbedder(), llm=FunctionLLM(reply)) as memory:
            bank = memory.create_bank("b")
            fill(memory, bank, size)
            bank.enrichment.use(METHOD)
            bank.enrichment.run()
            times = [added(bank, size, n) for n in range(sessions)]
            n_records = sum(1 for _ in bank.enrichment.records(METHOD))
    # The first session reads the vectors of the whole bank, which the worker then keeps.
    return {
        "first_ms": round(times[0], 1),
        "next_ms": round(statistics.median(times[1:]), 1),
        "n_records": n_records,
    }


def fill(memory: Memory, bank, size: int) -> None:
    """Facts, links and events of the size, as if all of it had been derived before."""
    bank.remember(
        [{"text": f"old turn {i}"} for i in range(3)], session="old", said_at="2020-01-01"
    )
    docs = memory.store.docs(bank.name, [turn.id for turn in bank.turns()])
    embedder = GroupEmbedder()
    for start in range(0, size, 5_000):
        numbers = range(start, min(start + 5_000, size))
        texts = [text_of(number) for number in numbers]
        rows = embedder.embed(texts).vectors.astype("<f2")
        ids = [record_id(RecordKind.FACT, METHOD, text) for text in texts]
        records = [
            RecordRow(
                id=id_,
                kind=RecordKind.FACT,
                text=text,
                sources=(docs[i % 3],),
                vector=row.tobytes(),
            )
            for i, (id_, text, row) in enumerate(zip(ids, texts, rows, strict=True))
        ]
        units = [
            UnitRow(
                kind=FACTS,
                key=f"old {start + i}",
                subject="elsewhere",
                turns=tuple(docs),
                made_by=MADE_BY,
                records=tuple(records[i : i + PER_CHUNK]),
            )
            for i in range(0, len(records), PER_CHUNK)
        ]
        made = memory.store.derive(
            bank.name, METHOD, Derivation(units=units, embedder=embedder.id), at=utc_now()
        ).records
        link(memory, bank, docs, [made[id_] for id_ in ids])


def link(memory: Memory, bank, docs: Sequence[int], facts: Sequence[int]) -> None:
    groups = [facts[i : i + GROUP] for i in range(0, len(facts), GROUP)]
    edges = [
        Edge(kind=SIMILAR, a=group[i], b=group[j], weight=0.92)
        for group in groups
        for i in range(len(group))
        for j in range(i)
    ]
    units = [
        UnitRow(
            kind=EVENT,
            key=cluster_key(group),
            subject=str(group[0]),
            turns=tuple(docs),
            inputs=tuple(group),
            made_by=MADE_BY,
        )
        for group in groups
        if len(group) > 1
    ]
    memory.store.derive(
        bank.name,
        METHOD,
        Derivation(units=units, edges=edges, staged=list(facts)),
        at=utc_now(),
    )


def added(bank, size: int, n: int) -> float:
    """Milliseconds to enrich one more session."""
    turns = [{"speaker": "Ann", "text": f"session {n} turn {i} of {size}"} for i in range(30)]
    bank.remember(turns, session=f"new {n}", said_at=f"2024-01-{n + 1:02}")
    start = perf_counter()
    worked = bank.enrichment.run()
    assert not worked.failed, worked.failed
    return (perf_counter() - start) * 1000


def reply(messages, schema):
    """Five facts a chunk: some of groups that are there, some new."""
    text = messages[-1].content
    if "<topics>" in text:
        return {"events": [text.split("<topics>")[1].split("</topics>")[0]]}
    found = re.search(r"session (\d+) turn (\d+) of (\d+)", text)
    session, turn, size = (int(found[i]) for i in (1, 2, 3))
    first = (session * 30 + turn) * 7
    known = [
        f"Ann adds to group {(first + i * 11) % (size // GROUP)} part {100 + session}."
        for i in range(2)
    ]
    new = [f"Ann begins group {size + first + i} part {session}." for i in range(3)]
    return {"facts": known + new}


if __name__ == "__main__":
    main()

"""How long `atom` takes to rank in banks of 3,000, 30,000 and 100,000 facts, beside the bare product of vectors that no ranking can do without.

Facts are synthetic: vectors of 384 numbers that lie around a few hundred topics, three keywords each by a Zipf law (the commonest in a
tenth of the facts) and one of the topic, two of twenty people, an event for each four facts, two facts a turn, 30 turns a session. Questions
name a person and have two keywords; every third also names a month. Reading the sources from a store is not in it.

Usage: python benchmarks/atom_speed.py [--save FOLDER] [--size N ...]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

import numpy as np

from combray.index.facts import FactCache
from combray.index.records import RecordView
from combray.index.view import BankView, Grower
from combray.methods.atom import Atom, Intent
from combray.methods.atom.asked import asked
from combray.methods.atom.scored import scored
from combray.methods.base import Evidence
from combray.model import Query, span_of
from combray.model.time import to_micros
from combray.registry import analyser
from combray.store.base import BankState, Columns, Postings
from combray.store.derived import DerivedState, RecordDetails, Sources

DIMENSION = 384
PER_TURN, PER_SESSION, PER_EVENT = 2, 30, 4
N_PEOPLE, N_TOPICS = 20, 300
NOW = datetime(2024, 1, 1, tzinfo=UTC)


class Synthetic:
    """A bank of so many facts as a store would give it; the first rows are the facts, the others their events."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.random = np.random.default_rng(n)
        self.topic = self.random.integers(N_TOPICS, size=n)
        self.centres = units(self.random.normal(size=(N_TOPICS, DIMENSION)))
        self.words = self._words()
        self.members = self.random.integers(n, size=(n // PER_EVENT, PER_EVENT))
        facts = units(self.centres[self.topic] + units(self.random.normal(size=(n, DIMENSION))))
        events = units(facts[self.members].sum(axis=1))
        total = n + len(events)
        self.records = RecordView(
            state=DerivedState(revision=1, epoch=0, dimension=DIMENSION),
            number=np.arange(1, total + 1),
            kind=(np.arange(total) >= n).astype(np.int8),
            vectors=np.concatenate([facts, events]).astype(np.float32),
            current=np.ones(total, dtype=np.bool_),
        )

    def _words(self) -> list[list[str]]:
        n_words = max(200, self.n // 5)
        chances = 1 / np.arange(1, n_words + 1)
        chances = np.minimum(chances / chances.sum(), 1 / 30)
        drawn = self.random.choice(n_words, size=(self.n, 3), p=chances / chances.sum())
        return [
            [*(f"w{word}" for word in row), f"t{topic}"]
            for row, topic in zip(drawn.tolist(), self.topic.tolist(), strict=True)
        ]

    def view(self, bank: str, method: str) -> RecordView:
        return self.records

    def record_details(self, bank: str, method: str, *, after: int = 0) -> RecordDetails:
        people = self.random.integers(N_PEOPLE, size=(self.n, 2)).tolist()
        months = self.random.integers(1, 25, size=self.n).tolist()
        facts = [
            json.dumps({"people": [f"Person{p}" for p in who], "keywords": words, "about": when(m)})
            for who, words, m in zip(people, self.words, months, strict=True)
        ]
        rest = self.records.n - self.n
        event = self.records.number[self.n :]
        return RecordDetails(
            number=self.records.number,
            detail=facts + ["{}"] * rest,
            doc=np.concatenate([1 + np.arange(self.n) // PER_TURN, np.zeros(rest, dtype=np.int64)]),
            member=np.stack([np.repeat(event, PER_EVENT), 1 + self.members.ravel()], axis=1),
        )

    def bank(self) -> BankView:
        n = -(-self.n // PER_TURN)
        at = np.arange(n)
        start, day = to_micros(NOW - timedelta(days=730)), 86_400_000_000
        columns = Columns(
            doc=1 + at,
            session=at // PER_SESSION,
            position=at % PER_SESSION,
            speaker=(at % N_PEOPLE).astype(np.int32),
            role=np.zeros(n, dtype=np.int32),
            said_at=start + (at // PER_SESSION) * (730 * day // (1 + n // PER_SESSION)),
            expires_at=np.full(n, np.iinfo(np.int64).max),
            n_terms=np.ones(n, dtype=np.int32),
            question=np.zeros(n, dtype=np.bool_),
            speakers=tuple(f"Person{p}" for p in range(N_PEOPLE)),
            roles=("user",),
            sessions={s: f"s{s}" for s in range(1 + n // PER_SESSION)},
        )
        grower = Grower("b", 0)
        grower.extend(columns, None)
        state = BankState(
            revision=1, erase_epoch=0, embedder=None, dimension=0, n_turns=n, n_terms=n
        )
        return grower.view(state)

    def sources(self, numbers: list[int]) -> Sources:
        record = np.sort(np.asarray(numbers, dtype=np.int64))
        return Sources(record=record, unit=record, doc=1 + (record - 1) % self.n // PER_TURN)

    def query(self, i: int) -> Query:
        topic = i % N_TOPICS
        text = f"What does Person{i % N_PEOPLE} think?"
        vector = units(self.centres[topic] + units(self.random.normal(size=DIMENSION)))
        return Query(
            text=text,
            analysis=analyser("light").analyse_query(text, NOW, ()),
            vector=vector.astype(np.float32),
            k=40,
            budget_tokens=1024,
            now=NOW,
            plan=Intent(
                people=(f"Person{i % N_PEOPLE}",),
                keywords=(f"t{topic}", f"w{i}"),
                times=() if i % 3 else tuple(filter(None, [span_of(when(1 + i % 24))])),
            ),
        )


def when(month: int) -> str:
    return f"{2022 + (month - 1) // 12}-{1 + (month - 1) % 12:02}"


def units(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def no_postings(kind: object, terms: object) -> Postings:
    raise AssertionError("atom reads no postings")


def timed(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return (perf_counter() - start) * 1000


def spread(times: list[float]) -> dict[str, float]:
    return {
        "median_ms": round(float(np.median(times)), 2),
        "p95_ms": round(float(np.quantile(times, 0.95)), 2),
    }


def measured(n: int, n_queries: int = 60) -> dict[str, object]:
    made, method = Synthetic(n), Atom()
    cache = FactCache(made, made, lambda _: (), 1 << 40)  # type: ignore[arg-type]
    build_ms = timed(lambda: cache.view("b", "atom"))
    evidence = Evidence(
        view=made.bank(),
        read=no_postings,
        facts=lambda _: cache.view("b", "atom"),
        sources=made.sources,  # type: ignore[arg-type]
    )
    view = evidence.facts("atom")
    queries = [made.query(i) for i in range(n_queries + 5)]
    stages: dict[str, list[float]] = {"matvec": [], "asked": [], "walk": [], "rank": []}
    nodes: list[int] = []
    for query in queries:
        found = asked(query, evidence, view, method.params)
        nodes.append(int((scored(found, method.params).walked > 0).sum()))
        stages["matvec"].append(timed(lambda q=query: view.records.vectors @ q.vector))
        stages["asked"].append(timed(lambda q=query: asked(q, evidence, view, method.params)))
        stages["walk"].append(timed(lambda f=found: scored(f, method.params)))
        stages["rank"].append(timed(lambda q=query: method.rank(q, evidence)))
    return {
        "facts": n,
        "view_built_ms": round(build_ms, 1),
        "view_mb": round(view.n_bytes / 1e6, 1),
        "nodes_median": float(np.median(nodes)),
        **{name: spread(times[5:]) for name, times in stages.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, action="append")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    result = [measured(size) for size in options.size or (3_000, 30_000, 100_000)]
    print(json.dumps(result, indent=1))
    if options.save:
        (options.save / "atom_speed.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

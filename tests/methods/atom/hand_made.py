"""A bank of a few facts, made by hand: its turns, records and details as arrays, without a store behind them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from combray.index.facts import FactCache
from combray.index.records import KINDS, RecordView
from combray.index.view import Grower
from combray.methods.base import Evidence
from combray.model import Query, RecordKind
from combray.model.time import to_micros
from combray.registry import analyser
from combray.store.base import BankState, Columns
from combray.store.derived import DerivedState, RecordDetails, Sources

NOW = datetime(2023, 9, 1, 12, tzinfo=UTC)
DIMENSION = 4


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record to be, with what the store would know of it."""

    docs: tuple[int, ...] = ()
    vector: tuple[float, ...] = (0, 0, 0, 0)
    kind: RecordKind = RecordKind.FACT
    current: bool = True
    members: tuple[int, ...] = ()
    detail: dict = field(default_factory=dict)


def fact(doc=0, vector=(0, 0, 0, 0), *, people=(), keywords=(), about="", current=True, docs=()):
    detail = {"people": [*people], "keywords": [*keywords], "about": about}
    return Record(
        docs=docs or ((doc,) if doc else ()), vector=vector, detail=detail, current=current
    )


def event(members, vector=(0, 0, 0, 0), *, people=(), docs=(), current=True, **detail):
    return Record(
        docs=docs,
        vector=vector,
        kind=RecordKind.EVENT,
        members=tuple(members),
        current=current,
        detail={"people": [*people], **detail},
    )


def statement(subject, since, vector=(0, 0, 0, 0), *, timeline="t", docs=(), current=True):
    detail = {"subject": subject, "people": [subject], "valid_from": since, "timeline": timeline}
    return Record(docs=docs, vector=vector, kind=RecordKind.PROFILE, current=current, detail=detail)


def unit(*values):
    vector = np.array(values, dtype=np.float32)
    return vector / (np.linalg.norm(vector) or 1)


@dataclass
class HandMade:
    """Records numbered from 1 over turns numbered from 1; both may grow. Stands in for a store of derived records."""

    records: list[Record]
    turns: list[tuple[str, str, str]] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)
    epoch: int = 0
    asked: list[int] = field(default_factory=list)

    def __post_init__(self):
        self.cache = FactCache(self, self, lambda _: self.speakers, 1 << 30)
        self._last = None

    @property
    def speakers(self):
        return tuple(dict.fromkeys(speaker for _, speaker, _ in self.turns))

    def view(self, bank, method):
        """The records as `RecordCache` gives them: the same object until something changes."""
        state = DerivedState(
            revision=len(self.records) + len(self.gone) + sum(not r.current for r in self.records),
            epoch=self.epoch,
            dimension=DIMENSION,
        )
        if self._last is None or self._last.state != state:
            there = [(n, r) for n, r in enumerate(self.records, 1) if n not in self.gone]
            self._last = RecordView(
                state=state,
                number=np.array([n for n, _ in there], dtype=np.int64),
                kind=np.array([KINDS.index(r.kind) for _, r in there], dtype=np.int8),
                vectors=np.array([unit(*r.vector) for _, r in there], np.float32).reshape(
                    -1, DIMENSION
                ),
                current=np.array([r.current for _, r in there], dtype=np.bool_),
            )
        return self._last

    def record_details(self, bank, method, *, after=0):
        self.asked.append(after)
        there = [(n, r) for n, r in enumerate(self.records, 1) if n > after and n not in self.gone]
        pairs = [(n, m) for n, r in there for m in r.members]
        return RecordDetails(
            number=np.array([n for n, _ in there], dtype=np.int64),
            detail=[json.dumps(r.detail) for _, r in there],
            doc=np.array([r.docs[0] if r.docs else 0 for _, r in there], dtype=np.int64),
            member=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        )

    def sources(self, numbers: Sequence[int]) -> Sources:
        pairs = [(n, doc) for n in sorted(numbers) for doc in sorted(self.records[n - 1].docs)]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return Sources(record=table[:, 0], unit=table[:, 0], doc=table[:, 1])

    def facts(self, method="atom"):
        return self.cache.view("b", method)

    def bank(self):
        sessions = list(dict.fromkeys(session for session, _, _ in self.turns))
        n, speakers = len(self.turns), self.speakers
        at = [sessions.index(session) for session, _, _ in self.turns]
        columns = Columns(
            doc=np.arange(1, n + 1),
            session=np.array(at, dtype=np.int64),
            position=np.array([at[:i].count(s) for i, s in enumerate(at)], dtype=np.int64),
            speaker=np.array([speakers.index(who) for _, who, _ in self.turns], dtype=np.int32),
            role=np.zeros(n, dtype=np.int32),
            said_at=np.array(
                [to_micros(datetime.fromisoformat(f"{day}T10:00Z")) for _, _, day in self.turns],
                dtype=np.int64,
            ),
            expires_at=np.full(n, np.iinfo(np.int64).max),
            n_terms=np.ones(n, dtype=np.int32),
            question=np.zeros(n, dtype=np.bool_),
            speakers=speakers,
            roles=("user",) if n else (),
            sessions=dict(enumerate(sessions)),
        )
        grower = Grower("b", 0)
        if n:
            grower.extend(columns, None)
        state = BankState(
            revision=1, erase_epoch=0, embedder=None, dimension=0, n_turns=n, n_terms=n
        )
        return grower.view(state)

    def evidence(self, allowed=None):
        mask = None
        if allowed is not None:
            mask = np.isin(np.arange(1, len(self.turns) + 1), list(allowed))
        return Evidence(
            view=self.bank(),
            read=no_postings,
            allowed=mask,
            facts=self.facts,
            sources=self.sources,
        )


def no_postings(kind, terms):
    raise AssertionError("atom reads no postings")


def turns(n, *, session="s1", speakers=("Ann", "Bo"), day="2023-05-08"):
    """`n` turns of one session, the speakers in turn."""
    return [(session, speakers[i % len(speakers)], day) for i in range(n)]


def query(text="What about it?", vector=(1, 0, 0, 0), *, k=10, plan=None, people=()):
    light = analyser("light")
    return Query(
        text=text,
        analysis=light.analyse_query(text, NOW, people),
        vector=None if vector is None else unit(*vector),
        k=k,
        budget_tokens=1024,
        now=NOW,
        plan=plan,
    )

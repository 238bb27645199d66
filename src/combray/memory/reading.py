"""The read path: query → analysis and vector → ranking → hits → pack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from combray.errors import InvalidInput
from combray.index.view import BankView
from combray.memory.links import Links
from combray.memory.parts import Parts
from combray.memory.planning import planned
from combray.methods.base import Evidence, Method, Ranking
from combray.model import Filters, Hit, Query, Recall, RecordHit, Trace
from combray.model.time import aware, to_micros, zone
from combray.model.turn import storable
from combray.pack import MIN_BUDGET_TOKENS, Packed, pack

MAX_QUERY_CHARS = 20_000
"""Longest query, in characters; far above any question."""

_SHORT_LINE_TOKENS = 25
_LEAST_K = 10

_NOT_SEARCH = ("analyse", "embed", "plan")
"""Stages that make the query; the others search the bank."""

LEXICAL_NOTE = "no vectors: recall is lexical (see `combray doctor`)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A recall as asked for; see `BankMemory.recall`."""

    text: str
    method: Method
    k: int | None = None
    budget_tokens: int | None = None
    now: datetime | None = None
    filters: Filters = field(default_factory=Filters)
    abstain: bool = True
    plan: bool = False


@dataclass(frozen=True, slots=True)
class Stages:
    """Time spent in each stage, in milliseconds."""

    ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the block to the stage."""
        start = perf_counter()
        try:
            yield
        finally:
            self.ms[name] = self.ms.get(name, 0.0) + (perf_counter() - start) * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A ranking with the turns behind it."""

    query: Query
    ranking: Ranking
    hits: tuple[Hit, ...]
    view: BankView
    links: Links
    records: tuple[RecordHit, ...]
    notes: tuple[str, ...]


def prepared(parts: Parts, bank: str, request: Request, stages: Stages) -> tuple[Query, Evidence]:
    """The query, analysed and embedded, and the bank as a method sees it."""
    with stages.stage("view"):
        view = parts.views.view(bank)
    query = _query(parts, bank, request, view, stages)
    return query, _evidence(parts, bank, query, stages)


def _evidence(parts: Parts, bank: str, query: Query, stages: Stages) -> Evidence:
    with stages.stage("view"):
        view = parts.views.view(bank)
    with stages.stage("filter"):
        return Evidence(
            view=view,
            read=lambda kind, terms: parts.store.postings(bank, kind, terms),
            allowed=_allowed(parts, query, view),
            records=lambda method: parts.records.view(bank, method),
            facts=lambda method: parts.facts.view(bank, method),
            sources=lambda records: parts.store.sources(bank, records),
            embed=_embed(parts, bank),
        )


def find(parts: Parts, bank: str, request: Request, stages: Stages) -> Found:
    """Rank the turns of the bank for the request, and read them."""
    query, evidence = prepared(parts, bank, request, stages)
    notes = [] if query.vector is not None else [LEXICAL_NOTE]
    if request.plan:
        with stages.stage("plan"):
            query, said = planned(parts, bank, request.method, query)
        notes += said
        # A model takes its time: what was forgotten or has expired meanwhile must not be ranked.
        evidence = _evidence(parts, bank, query, stages)
    with stages.stage("rank"):
        ranking = request.method.rank(query, evidence)
    with stages.stage("read"):
        links = Links(parts.store, evidence)
        links.read(_wanted(ranking.rows, evidence.view))
        hits = _hits(ranking, links)
        records = _record_hits(parts, bank, ranking)
    return Found(
        query=query,
        ranking=ranking,
        hits=hits,
        view=evidence.view,
        links=links,
        records=records,
        notes=tuple(notes),
    )


def recall(parts: Parts, bank: str, request: Request) -> Recall:
    """The whole read path; see `BankMemory.recall`."""
    stages = Stages()
    start = perf_counter()
    found = find(parts, bank, request, stages)
    query, ranking = found.query, found.ranking
    threshold = float(getattr(request.method.params, "abstain_below", 0.0))
    reason = _reason(found, threshold if request.abstain else 0.0)
    packed = Packed(items=(), text="", n_tokens=0, cut=())
    with stages.stage("pack"):
        if not reason:
            packed = pack(
                found.hits,
                found.links,
                records=found.records,
                budget_tokens=query.budget_tokens,
                counter=parts.counter,
                terms=query.analysis.terms,
            )
    total = (perf_counter() - start) * 1000
    before = sum(stages.ms.get(name, 0.0) for name in _NOT_SEARCH)
    return Recall(
        query=request.text,
        items=packed.items,
        notes=packed.notes,
        hits=found.hits,
        text=packed.text,
        n_tokens=packed.n_tokens,
        counter=parts.counter.name,
        budget_tokens=query.budget_tokens,
        support=ranking.support,
        abstained=bool(reason),
        reason=reason,
        trace=Trace(
            method=request.method.name,
            params=_params(request.method.params),
            channels=ranking.weights,
            notes=(*found.notes, *ranking.notes),
            timings_ms={**stages.ms, "search": total - before, "total": total},
            cut=packed.cut,
            signals=ranking.signals,
            threshold=threshold,
        ),
    )


def _query(parts: Parts, name: str, request: Request, view: BankView, stages: Stages) -> Query:
    text = storable(request.text) if isinstance(request.text, str) else ""
    if not text.strip():
        raise InvalidInput("the query is empty: ask for something.")
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidInput(f"a query of {len(text)} characters is too long ({MAX_QUERY_CHARS}).")
    bank = parts.store.bank(name)
    now = aware(request.now or parts.clock(), zone(bank.zone))
    budget = request.budget_tokens
    if budget is None:
        budget = request.method.default_budget_tokens
    if budget < MIN_BUDGET_TOKENS:
        raise InvalidInput(f"budget_tokens is {budget}; a pack needs at least {MIN_BUDGET_TOKENS}.")
    with stages.stage("analyse"):
        people = view.columns.speakers
        analysis = parts.analyser_for(bank).analyse_query(text, now, people)
    vector = tokens = None
    words: tuple[str, ...] = ()
    with stages.stage("embed"):
        embedder = parts.embedder_for(bank)
        if embedder is not None:
            embedded = embedder.embed([text])
            vector = embedded.vectors[0]
            if embedded.tokens is not None and embedded.words is not None:
                tokens, words = embedded.tokens[0], embedded.words[0]
    return Query(
        text=text,
        analysis=analysis,
        vector=vector,
        tokens=tokens,
        token_words=words,
        k=_k(request, budget),
        budget_tokens=budget,
        now=now,
        filters=request.filters,
    )


def _embed(parts: Parts, bank: str) -> Callable[[Sequence[str]], NDArray[np.float32]] | None:
    embedder = parts.embedder_for(parts.store.bank(bank))
    if embedder is None:
        return None
    return lambda texts: embedder.embed(list(texts)).vectors


def _k(request: Request, budget: int) -> int:
    """As many hits as asked for, as the method says, or as short lines fit the budget."""
    if request.k is not None:
        return request.k
    return request.method.default_k or max(_LEAST_K, budget // _SHORT_LINE_TOKENS)


def _allowed(parts: Parts, query: Query, view: BankView) -> NDArray[np.bool_] | None:
    """Rows that may be ranked: not expired, and satisfying the filters; None where all may."""
    # By the clock too: a `now` in the past must not bring back what has expired since.
    at = max(query.now, parts.clock())
    allowed = view.columns.expires_at > to_micros(at)
    if query.filters:
        rows = view.rows(parts.store.matching(view.bank, query.filters))
        matching = np.zeros(view.n, dtype=np.bool_)
        matching[rows[rows >= 0]] = True
        allowed &= matching
    return None if allowed.all() else allowed


def _wanted(rows: NDArray[np.int64], view: BankView) -> set[int]:
    """The ranked rows, and those that a pack may set beside them: a question before, an answer after."""
    before, after = view.previous[rows], view.next[rows]
    asks = view.columns.question
    beside = [*before[(before >= 0) & asks[before]].tolist(), *after[asks[rows]].tolist()]
    return {*rows.tolist(), *beside}


def _hits(ranking: Ranking, links: Links) -> tuple[Hit, ...]:
    channels = _by_hit(ranking.channels)
    contributions = _by_hit(ranking.contributions)
    hits: list[Hit] = []
    for i, (row, score) in enumerate(
        zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True)
    ):
        turn = links.turn(row)
        if turn is None:
            continue
        hits.append(
            Hit(
                turn=turn,
                rank=len(hits) + 1,
                score=score,
                channels=channels[i] if channels else {},
                contributions=contributions[i] if contributions else {},
            )
        )
    return tuple(hits)


def _record_hits(parts: Parts, bank: str, ranking: Ranking) -> tuple[RecordHit, ...]:
    if not len(ranking.records):
        return ()
    found = parts.store.records(bank, ranking.records.tolist())
    scored = zip(ranking.records.tolist(), ranking.record_scores.tolist(), strict=True)
    there = [(found[number], score) for number, score in scored if number in found]
    return tuple(
        RecordHit(record=record, rank=rank, score=score)
        for rank, (record, score) in enumerate(there, start=1)
    )


def _by_hit(columns: Mapping[str, NDArray[np.float64]]) -> list[dict[str, float]]:
    """Columns as one mapping a hit."""
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _reason(found: Found, threshold: float) -> str:
    if found.view.n == 0:
        return "the bank is empty"
    if not found.hits and not found.records:
        return "nothing in the bank matches the query" + (
            " under these filters" if found.query.filters else ""
        )
    support = found.ranking.support
    if support < threshold:
        return f"support {support:.2f} is below {threshold:.2f}: the bank does not seem to hold an answer"
    return ""


def _params(params: object) -> Mapping[str, object]:
    if not is_dataclass(params):
        return {}
    return {field.name: getattr(params, field.name) for field in fields(params)}

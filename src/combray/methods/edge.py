"""EdgeMem: three deterministic channels over typed hubs, no model anywhere.

Source: EdgeMem (papers, sections on the episode, co-occurrence and time channels and on retrieval fusion). The paper
has no released code and its channel paragraphs are blank in the copy we have; what is inferred is marked *inferred*
in `EdgeParams` and explained in docs/methods/edge.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from combray.index.lexical import bm25_sessions, bm25_turns, matches, peak_normalised
from combray.index.view import BankView
from combray.methods.base import Evidence, Ranking
from combray.model import Granularity, Query, TimeSpan
from combray.model.time import to_micros
from combray.text.questions import asks_what_was_said, subject_terms


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeParams:
    """The numbers of EdgeMem.

    Attributes:
        k1: BM25 saturation (inferred).
        b: BM25 length normalisation (inferred).
        mixing: λ, the turn's share in ρ against its episode's (paper: .5).
        core: turns of the episode channel (paper: k = 14).
        radius: neighbours on each side of an anchor (inferred: 1; 0 and 2 are the alternatives).
        floor: least distinct episodes (paper: K = 3).
        floor_enumerative: the same for questions that ask for a set (paper: 5).
        co_capacity: turns of the co-occurrence channel (paper: n_co = 4).
        band: lowest and highest document frequency of a rare hub (paper: 2 to 10).
        time_capacity: turns of the time channel (paper: b_time = 2).
        cap: κ, most items of the pack (paper: 18).
        episode: whether the episode channel reads episodes; off leaves flat BM25.
        cooccurrence: whether the co-occurrence channel is on.
        time: whether the time channel is on.
    """

    k1: float = 1.5
    b: float = 0.75
    mixing: float = 0.5
    core: int = 14
    radius: int = 1
    floor: int = 3
    floor_enumerative: int = 5
    co_capacity: int = 4
    band: tuple[int, int] = (2, 10)
    time_capacity: int = 2
    cap: int = 18
    episode: bool = True
    cooccurrence: bool = True
    time: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """The method `edge`."""

    params: EdgeParams = field(default_factory=EdgeParams)
    name: str = "edge"
    default_k: int | None = 18
    default_budget_tokens: int = 3072

    def rank(self, query: Query, evidence: Evidence) -> Ranking:
        """The pack of EdgeMem in pack order: episode core, co-occurrence, time in the last places.

        Scores fall evenly from 1: the order is the method's, no single number is behind it.
        """
        rho = self._turn_score(query, evidence)
        order = _by_score(rho, evidence.view)
        enumerative = query.analysis.enumerative
        if self.params.episode:
            core = self._episode(order, evidence, enumerative=enumerative)
        else:
            core = order[: self.params.core].tolist()
        hubs = np.zeros(evidence.view.n)
        extra: list[int] = []
        if self.params.cooccurrence:
            hubs = self._hub_matches(query, evidence)
            extra = self._cooccurrence(hubs, rho, core, evidence)
        pack = core + extra
        dated: list[int] = []
        if self.params.time and _is_about_time(query, pack):
            dated = self._of_time(query, rho, evidence)
            pack = dated + [row for row in pack if row not in dated]
        elif self.params.time:
            dated = self._time(query, rho, pack, evidence)
            pack = pack[: len(pack) - len(dated)] + dated if dated else pack
        rows = np.array(pack[: min(self.params.cap, query.k)], dtype=np.int64)
        return Ranking(
            rows=rows,
            scores=1.0 - np.arange(len(rows)) / max(len(rows), 1),
            channels={
                "episode": np.maximum(rho[rows], 0.0),
                "cooccurrence": hubs[rows],
                "time": np.isin(rows, dated).astype(np.float64),
            },
        )

    def _turn_score(self, query: Query, evidence: Evidence) -> NDArray[np.float64]:
        """ρ = λ · BM25 of the turn + (1 - λ) · BM25 of its episode, each over its largest.

        The maxima and the normalisation are inferred; the paper names ρ and λ only.
        """
        p, view = self.params, evidence.view
        found = matches(evidence.read, "term", query.analysis.terms, view)
        rho = peak_normalised(bm25_turns(found, view, k1=p.k1, b=p.b))
        if p.episode:
            episodes = peak_normalised(bm25_sessions(found, view, k1=p.k1, b=p.b))
            rho = p.mixing * rho + (1 - p.mixing) * episodes[view.session]
        return evidence.masked(np.where(rho > 0, rho, -np.inf))

    def _episode(
        self, order: NDArray[np.int64], evidence: Evidence, *, enumerative: bool
    ) -> list[int]:
        """Anchors with their neighbours, next before previous, then the floor of distinct episodes."""
        core: dict[int, None] = {}
        for anchor in order.tolist():
            for row in _with_neighbours(anchor, evidence, self.params.radius):
                if len(core) == self.params.core:
                    break
                core.setdefault(row)
            if len(core) == self.params.core:
                break
        floor = self.params.floor_enumerative if enumerative else self.params.floor
        return _with_floor(list(core), order.tolist(), evidence.view, floor)

    def _hub_matches(self, query: Query, evidence: Evidence) -> NDArray[np.float64]:
        """Number of the query's rare hubs that each turn touches, shape (n,)."""
        found = matches(evidence.read, "key", query.analysis.keys, evidence.view)
        low, high = self.params.band
        rare = (found.df >= low) & (found.df <= high)
        rows = found.row[rare[found.term]]
        return np.bincount(rows, minlength=evidence.view.n).astype(np.float64)

    def _cooccurrence(
        self,
        hubs: NDArray[np.float64],
        rho: NDArray[np.float64],
        core: list[int],
        evidence: Evidence,
    ) -> list[int]:
        """Turns at the most rare hubs; ties by ρ, then by time. Never displaces the core."""
        free = evidence.masked(hubs)
        free[core] = -np.inf
        rows = np.flatnonzero(free > 0)
        order = np.lexsort((_chronology(evidence.view, rows), -rho[rows], -hubs[rows]))
        best: list[int] = rows[order[: self.params.co_capacity]].tolist()
        return best

    def _time(
        self, query: Query, rho: NDArray[np.float64], pack: list[int], evidence: Evidence
    ) -> list[int]:
        """Openers, then best turns, of the episodes in an explicit span and of the first after it."""
        spans = [span for span in query.analysis.spans if span.explicit]
        if not spans:
            return []
        pool = _episodes_in(spans, evidence.view)
        kept = set(pack[: max(len(pack) - self.params.time_capacity, 0)])
        candidates = [*_openers(pool, evidence.view), *_turns_of(pool, rho, evidence.view)]
        allowed = evidence.allowed
        free = [row for row in candidates if row not in kept and (allowed is None or allowed[row])]
        return list(dict.fromkeys(free))[: self.params.time_capacity]

    def _of_time(self, query: Query, rho: NDArray[np.float64], evidence: Evidence) -> list[int]:
        """Turns of the episodes in any span, openers first, as many as a core holds.

        The first episode after the spans is read too, unless the question is about what was said in them.
        """
        later = not asks_what_was_said(query.text)
        pool = _episodes_in(list(query.analysis.spans), evidence.view, later=later)
        rows = [*_openers(pool, evidence.view), *_turns_of(pool, rho, evidence.view)]
        allowed = evidence.allowed
        free = [row for row in rows if allowed is None or allowed[row]]
        return list(dict.fromkeys(free))[: self.params.core]


def _is_about_time(query: Query, pack: list[int]) -> bool:
    """Whether a time is all that there is to go by: no turn matches, or the question has no subject."""
    analysis = query.analysis
    return bool(analysis.spans) and (not pack or not subject_terms(analysis))


def _chronology(view: BankView, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """A key that sorts rows by time said, then by document number."""
    order = np.lexsort((view.columns.doc[rows], view.columns.said_at[rows]))
    ranks = np.empty(len(rows), dtype=np.int64)
    ranks[order] = np.arange(len(rows))
    return ranks


def _by_score(scores: NDArray[np.float64], view: BankView) -> NDArray[np.int64]:
    """Rows with a finite score, best first; ties by time."""
    rows = np.flatnonzero(np.isfinite(scores))
    return rows[np.lexsort((_chronology(view, rows), -scores[rows]))]


def _with_neighbours(anchor: int, evidence: Evidence, radius: int) -> Iterable[int]:
    yield anchor
    after = before = anchor
    for _ in range(radius):
        after = int(evidence.view.next[after]) if after >= 0 else -1
        before = int(evidence.view.previous[before]) if before >= 0 else -1
        for row in (after, before):
            if row >= 0 and (evidence.allowed is None or evidence.allowed[row]):
                yield row


def _with_floor(core: list[int], order: list[int], view: BankView, floor: int) -> list[int]:
    """The core with its last places given to the best turns of further episodes, until `floor` are covered.

    What the floor means (distinct episodes, replaced from the tail) is inferred.
    """
    session = view.session
    best = dict.fromkeys(session[core].tolist())
    spare = []
    for row in order:
        if session[row] not in best:
            best[session[row]] = None
            spare.append(row)
    fillers: list[int] = []
    size = len(core)
    while len(set(session[core].tolist())) < floor and spare and len(fillers) < size:
        fillers.append(spare.pop(0))
        core = core[: size - len(fillers)] + fillers
    return core


def _episodes_in(spans: list[TimeSpan], view: BankView, *, later: bool = True) -> list[int]:
    """Sessions that start inside the whole of the spans, and the first one later than it, by time."""
    starts = np.full(view.n_sessions, np.iinfo(np.int64).max)
    np.minimum.at(starts, view.session, view.columns.said_at)
    begin = min(span.start for span in spans)
    end = max(span.end for span in spans)
    if any(span.granularity is Granularity.MINUTE for span in spans):
        begin = begin.replace(hour=0, minute=0, second=0, microsecond=0)
        end = max(end, begin + timedelta(days=1))
    inside = np.flatnonzero((starts >= to_micros(begin)) & (starts < to_micros(end)))
    after = np.flatnonzero(starts >= to_micros(end))
    pool: list[int] = inside[np.argsort(starts[inside], kind="stable")].tolist()
    if later and len(after):
        pool.append(int(after[np.argmin(starts[after])]))
    return pool


def _openers(pool: list[int], view: BankView) -> list[int]:
    first = np.flatnonzero((view.previous == -1) & np.isin(view.session, pool))
    by_session: dict[int, int] = dict(
        zip(view.session[first].tolist(), first.tolist(), strict=True)
    )
    return [by_session[session] for session in pool]


def _turns_of(pool: list[int], rho: NDArray[np.float64], view: BankView) -> list[int]:
    rows = np.flatnonzero(np.isin(view.session, pool))
    best: list[int] = rows[np.lexsort((_chronology(view, rows), -rho[rows]))].tolist()
    return best

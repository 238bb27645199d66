"""Facts that lead to each other: by keywords, by events, and by standing near each other in a session.

Nothing is linked in advance. From a few facts the links that lead out are worked out for just those rows, so that the cost
follows the facts that share a keyword with them and not the square of the bank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from combray.index.facts import FactView, row_of
from combray.index.records import KINDS
from combray.index.view import BankView
from combray.methods.atom.params import AtomParams
from combray.model import RecordKind

_CHUNK = 16
"""Facts that are expanded at once: the graph is often full before all of a hop have been."""

_MANY = 2048
"""Links of which the strongest are first looked for source by source, without sorting all."""

_NO_TOTAL = 1e-8


@dataclass(frozen=True, slots=True)
class Links:
    """Weighted links out of the rows that were asked about.

    Attributes:
        source: place of the row in what was asked, shape (m,).
        target: row of the view, shape (m,).
        weight: above 0, shape (m,).
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]

    def where(self, kept: NDArray[np.bool_] | NDArray[np.int64]) -> Links:
        """Those links, by a mask or by place."""
        return Links(self.source[kept], self.target[kept], self.weight[kept])

    def strongest(self, n: int) -> Links:
        """The `n` strongest of each source, the strongest first, ties by row of the target."""
        some = self.where(self._near_the_top(n)) if len(self.source) > _MANY else self
        order = np.lexsort((some.target, -some.weight, some.source))
        source = some.source[order]
        place = np.arange(len(source)) - np.searchsorted(source, source)
        best: NDArray[np.int64] = order[place < n]
        return some.where(best)

    def _near_the_top(self, n: int) -> NDArray[np.bool_]:
        """Links no weaker than the `n`-th of their source, which need not be sorted; sources ascend."""
        kept = np.ones(len(self.source), dtype=np.bool_)
        ends = np.flatnonzero(np.diff(self.source, prepend=-1, append=-1))
        for start, end in pairwise(ends.tolist()):
            if end - start > n > 0:
                weights = self.weight[start:end]
                kept[start:end] = weights >= np.partition(weights, end - start - n)[-n]
        return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Terrain:
    """The facts of a bank as a query sees them.

    Attributes:
        view: what is noted of them.
        bank: the turns that they come from.
        usable: rows that may be reached, shape (n,); facts that hold.
        counted: rows that statistics are made of: all facts that hold, shape (n,).
        weights: ω of each keyword, shape (V,).
        totals: Σ ω of each row's keywords, shape (n,).
        params: numbers.
    """

    view: FactView
    bank: BankView
    usable: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    weights: NDArray[np.float64]
    totals: NDArray[np.float64]
    params: AtomParams

    @classmethod
    def of(
        cls,
        view: FactView,
        bank: BankView,
        *,
        usable: NDArray[np.bool_],
        counted: NDArray[np.bool_],
        keywords: Sequence[str],
        params: AtomParams,
    ) -> Terrain:
        """The facts as a query with these keywords sees them."""
        weights = keyword_weights(view, counted, view.columns_of(keywords), params)
        return cls(
            view=view,
            bank=bank,
            usable=usable,
            counted=counted,
            weights=weights,
            totals=view.keywords @ weights,
            params=params,
        )

    def by_keyword(self, rows: NDArray[np.int64]) -> Links:
        """Links to facts that share a keyword, unless both are about people and share none.

        Source:
            AtomMem, section 3.4: Σ ω(shared) / √(Σ ω(own) · Σ ω(other)).  The gate by people is the released code's.
        """
        own = self.view.keywords[rows].astype(np.float64)
        own.data = self.weights[own.indices]
        own.eliminate_zeros()
        found = _links(own @ self.view.by_keyword)
        found = found.where(self._may_link(rows, found) & (found.weight > 0))
        found = found.where(self._are_fellows(rows, found))
        totals = self.totals
        norms = np.sqrt(totals[rows][found.source] * totals[found.target] + _NO_TOTAL)
        return Links(found.source, found.target, found.weight / norms)

    def by_event(self, rows: NDArray[np.int64]) -> Links:
        """Links to facts of the same events; the more facts an event has, the less it ties two of them.

        Source:
            AtomMem, section 3.4.  Bounds on the size of an event and on neighbours are the released code's.
        """
        own = self.view.member_of[rows].astype(np.float64)
        events = np.unique(own.indices)
        weights = np.zeros(self.view.n)
        weights[events] = self._ties(events)
        own.data = weights[own.indices]
        own.eliminate_zeros()
        found = _links(own @ self.view.members)
        return found.where(self._may_link(rows, found)).strongest(self.params.n_event_neighbours)

    def by_turn(self, rows: NDArray[np.int64]) -> Links:
        """Links to facts of turns near by in the same session, if the two have people, a keyword or an event in common.

        Source:
            AtomMem, section 3.4: exp(−Δ/τ).  The gate and the bound on neighbours are the released code's.
        """
        sources, targets, weights = [], [], []
        for distance, turns in self._turns_near(rows):
            place, target = self._facts_of(turns)
            sources.append(place)
            targets.append(target)
            weights.append(np.full(len(place), np.exp(-distance / self.params.turn_decay)))
        found = Links(np.concatenate(sources), np.concatenate(targets), np.concatenate(weights))
        found = found.where(self._may_link(rows, found))
        found = found.where(self._has_reason(rows[found.source], found.target))
        return found.strongest(self.params.n_turn_neighbours)

    def neighbours(self, rows: NDArray[np.int64], hop: int) -> Links:
        """The strongest links over all channels; turns lead one hop far, events two, keywords any."""
        n, (keyword, event, turn) = self.params.n_neighbours, self.params.mixture
        channels = [(event, self.by_event(rows))] if hop < 2 else []
        channels += [(turn, self.by_turn(rows))] if hop < 1 else []
        # What is not among the strongest by keyword alone is so in the mixture only by another channel.
        channels.append((keyword, self.by_keyword(rows).strongest(n)))
        source = np.concatenate([links.source for _, links in channels])
        target = np.concatenate([links.target for _, links in channels])
        pairs, at = np.unique(source * self.view.n + target, return_inverse=True)
        source, target = np.divmod(pairs, self.view.n)
        weight = keyword * self._by_keyword_between(rows[source], target)
        # The keyword channel, which is the last, is worked out anew for every pair.
        other = np.concatenate([np.zeros(0), *(w * links.weight for w, links in channels[:-1])])
        weight += np.bincount(at[: len(other)], other, minlength=len(pairs))
        mixed = Links(source, target, weight)
        return mixed.where(weight > 0).strongest(n)

    def _by_keyword_between(
        self, some: NDArray[np.int64], others: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The weight of `by_keyword` pair by pair, 0 where there is no such link."""
        pair, keyword = _common(self.view.keywords, some, others)
        shared = np.bincount(pair, self.weights[keyword], minlength=len(some))
        people = self.view.people
        nobody: NDArray[np.bool_] = np.diff(people.indptr) == 0
        fellows = nobody[some] | nobody[others] | _share(people, some, others)
        norms = np.sqrt(self.totals[some] * self.totals[others] + _NO_TOTAL)
        between: NDArray[np.float64] = fellows * shared / norms
        return between

    def _may_link(self, rows: NDArray[np.int64], found: Links) -> NDArray[np.bool_]:
        usable: NDArray[np.bool_] = self.usable[found.target] & (rows[found.source] != found.target)
        return usable

    def _are_fellows(self, rows: NDArray[np.int64], found: Links) -> NDArray[np.bool_]:
        """Whether the two may be about the same people: they share one, or one of them names nobody."""
        nobody = np.diff(self.view.people.indptr) == 0
        kept = np.ones(len(found.source), dtype=np.bool_)
        ends = np.searchsorted(found.source, np.arange(len(rows) + 1))
        for place, row in enumerate(rows.tolist()):
            theirs = row_of(self.view.people, row)
            if len(theirs):
                fellows = self.view.with_people(theirs) | nobody
                mine = slice(ends[place], ends[place + 1])
                kept[mine] = fellows[found.target[mine]]
        return kept

    def _ties(self, events: NDArray[np.int64]) -> NDArray[np.float64]:
        """How much each event ties two of its facts, 0 for what is no event that holds."""
        records = self.view.records
        holds = records.current[events] & (records.kind[events] == KINDS.index(RecordKind.EVENT))
        sizes = self.view.members[events] @ self.counted.astype(np.float64)
        ties = holds & (sizes > 1) & (sizes <= self.params.max_event_facts)
        weights = np.zeros(len(events))
        weights[ties] = (sizes[ties] - 1.0) ** -self.params.event_size_exponent
        return weights

    def _turns_near(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """For each distance the row of the turn that stands so far off, before and after, -1 for none."""
        here = self.bank.rows(self.view.doc[rows])
        yield 0, here
        for follow in (self.bank.previous, self.bank.next):
            at = here
            for distance in range(1, self.params.turn_distance + 1):
                at = np.where(at >= 0, follow[at], -1) if len(follow) else at
                yield distance, at

    def _facts_of(self, turns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Place of each turn with the rows of the records that come from it."""
        there = np.flatnonzero(turns >= 0)
        docs = self.bank.columns.doc[turns[there]]
        order = self.view.doc_order
        first = np.searchsorted(self.view.doc, docs, side="left", sorter=order)
        n = np.searchsorted(self.view.doc, docs, side="right", sorter=order) - first
        within = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        return np.repeat(there, n), order[np.repeat(first, n) + within]

    def _has_reason(self, some: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
        view = self.view
        nobody: NDArray[np.bool_] = np.diff(view.people.indptr) == 0
        events = view.records.current & (view.records.kind == KINDS.index(RecordKind.EVENT))
        reason = nobody[some] | nobody[others]
        for matrix, counted in (
            (view.people, None),
            (view.keywords, None),
            (view.member_of, events),
        ):
            open_ = np.flatnonzero(~reason)
            reason[open_] = _share(matrix, some[open_], others[open_], counted)
        return reason


def keyword_weights(
    view: FactView,
    counted: NDArray[np.bool_],
    asked: NDArray[np.int64],
    params: AtomParams,
) -> NDArray[np.float64]:
    """ω of each keyword: rare ones count most, and those that the query has.

    Args:
        view: the bank's facts.
        counted: rows of the facts that hold, shape (n,).
        asked: columns of the query's keywords.
        params: numbers.

    Returns:
        shape (V,), at least 0.

    Source:
        AtomMem, equation 6: ω = IDF · β_q · π; IDF = ln((n + 1) / (df + 1)) and π are the released code's.
    """
    n = max(int(counted.sum()), 1)
    df = view.by_keyword @ counted.astype(np.float64)
    share = df / n
    reference, exponent = params.other_rarity
    weights = np.log((n + 1) / (df + 1)) * (reference / np.maximum(share, reference)) ** exponent
    floor, reference, exponent = params.query_rarity
    rarity = (reference / np.maximum(share[asked], reference)) ** exponent
    weights[asked] = (
        np.log((n + 1) / (df[asked] + 1)) * params.query_keyword * np.maximum(floor, rarity)
    )
    positive: NDArray[np.float64] = np.maximum(weights, 0.0)
    return positive


def reached(terrain: Terrain, seeds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of the local graph: the seeds, and what is reached from them hop by hop until it is full; ascending.

    Source:
        AtomMem, section 3.4: limited hops, the strongest neighbours of each node.
    """
    params = terrain.params
    found = dict.fromkeys(seeds.tolist()[: params.max_nodes])
    edge = list(found)
    for hop in range(params.hops):
        before = len(found)
        for start in range(0, len(edge), _CHUNK):
            if len(found) >= params.max_nodes:
                break
            rows = np.array(edge[start : start + _CHUNK], dtype=np.int64)
            found.update(dict.fromkeys(terrain.neighbours(rows, hop).target.tolist()))
        edge = list(found)[before:]
    return np.sort(np.array(list(found)[: params.max_nodes], dtype=np.int64))


def transitions(terrain: Terrain, nodes: NDArray[np.int64]) -> csr_array:
    """Chances of going from one node to another, shape (m, m); a row adds up to 1, or is empty.

    Args:
        terrain: the facts.
        nodes: rows, ascending.

    Source:
        AtomMem, equations 7 and 8: each channel is normalised by itself, and the mixture over the channels that a node has.
    """
    m = len(nodes)
    channels = np.zeros((3, m, m))
    channels[0] = _local_keywords(terrain, nodes)
    for channel, links in zip(
        channels[1:], (terrain.by_event(nodes), terrain.by_turn(nodes)), strict=True
    ):
        inside = _among(links, nodes)
        channel[inside.source, inside.target] = inside.weight
    totals = channels.sum(axis=2)
    shares = np.array(terrain.params.mixture)[:, None] * (totals > 0)
    whole = shares.sum(axis=0) * totals
    scales = np.divide(shares, whole, out=np.zeros((3, m)), where=whole > 0)
    return csr_array((channels * scales[:, :, None]).sum(axis=0))


def _local_keywords(terrain: Terrain, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The weights of `Terrain.by_keyword` between the nodes, shape (m, m)."""
    own = terrain.view.keywords[nodes].astype(np.float64)
    weighted = own.copy()
    weighted.data = terrain.weights[weighted.indices]
    people = terrain.view.people[nodes]
    nobody = np.diff(people.indptr) == 0
    fellows = (people @ people.T).toarray() > 0
    fellows |= nobody[:, None] | nobody
    np.fill_diagonal(fellows, val=False)
    totals = terrain.totals[nodes]
    shared = (weighted @ own.T).toarray()
    weights: NDArray[np.float64] = fellows * shared / np.sqrt(np.outer(totals, totals) + _NO_TOTAL)
    return weights


def _among(links: Links, nodes: NDArray[np.int64]) -> Links:
    """The links to nodes, with their places for targets."""
    place = np.minimum(np.searchsorted(nodes, links.target), len(nodes) - 1)
    kept = nodes[place] == links.target
    return Links(links.source[kept], place[kept], links.weight[kept])


def _links(matrix: csr_array) -> Links:
    source = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return Links(source, matrix.indices.astype(np.int64), matrix.data.astype(np.float64))


def _common(
    matrix: csr_array, some: NDArray[np.int64], others: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What the sets in two rows have in common: pair and member, pair by pair."""
    ours, theirs = _spread(matrix, some), _spread(matrix, others)
    if not len(theirs):
        return ours[:0], ours[:0]
    at = np.minimum(np.searchsorted(theirs, ours), len(theirs) - 1)
    pair, member = np.divmod(ours[theirs[at] == ours], max(matrix.shape[1], 1))
    return pair, member


def _spread(matrix: csr_array, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Place of the row times the number of columns, plus the column, of all that the rows have; ascending as their columns do."""
    starts = matrix.indptr[rows].astype(np.int64)
    lengths = matrix.indptr[rows + 1] - starts
    place = np.repeat(np.arange(len(rows)), lengths)
    within = np.arange(len(place)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    columns = matrix.indices[starts[place] + within]
    spread: NDArray[np.int64] = place * matrix.shape[1] + columns
    return spread


def _share(
    matrix: csr_array,
    some: NDArray[np.int64],
    others: NDArray[np.int64],
    counted: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Whether the sets in two rows have a member in common, one that is counted, pair by pair."""
    pair, member = _common(matrix, some, others)
    found = np.zeros(len(some), dtype=np.bool_)
    found[pair if counted is None else pair[counted[member]]] = True
    return found

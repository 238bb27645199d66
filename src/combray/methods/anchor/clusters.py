"""Associative events: facts of different contexts that say similar things, pruned to those that add something.

A *cluster* is a fact with its nearest neighbours, one a context. Whether a cluster is kept depends on the kept clusters before it
that share a fact with it, and on nothing else. So a change is followed through the neighbourhood alone (`replan`), and what comes out
does not depend on the order in which facts arrived: it is what pruning all of them at once gives.

Source:
    Shen et al., AnchorMem, section 4.2, equations 7 to 10, and the released code.  Deviation: a fact that several contexts gave is one
    fact here; the released code has a row for each and so pairs it with itself. Whoever gives a row for each gets what it gets.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from combray.methods.anchor.params import AnchorParams

Neighbours = Mapping[int, Mapping[int, float]]
"""For each fact its neighbours with their cosine."""

Contexts = Mapping[int, Sequence[int]]
"""For each fact the contexts that it comes from, in order."""

_BLOCK = 4096
_DIGITS = 6
_SLACK = 1e-4
"""More than a float32 product of unit vectors can be wrong by."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A fact with those that go with it.

    Attributes:
        members: the main fact first, then by similarity.
        contexts: one for each member, all different.
        score: sum of the similarities to the main fact.
    """

    members: tuple[int, ...]
    contexts: tuple[int, ...]
    score: float

    @property
    def main(self) -> int:
        """The fact that it is made around."""
        return self.members[0]

    @property
    def priority(self) -> tuple[int, float, tuple[int, ...]]:
        """Orders clusters, the first to be kept first: more members, then more similar ones, then by number."""
        return (-len(self.members), -round(self.score, _DIGITS), self.members)


def similar_pairs(
    vectors: NDArray[np.float32], rows: NDArray[np.int64], similarity: float
) -> Iterator[tuple[int, int, float]]:
    """Pairs (one of `rows`, another row, cosine) above the similarity; in blocks, never as a square matrix.

    The cosine of two rows is the same to the bit from either end and in any company, so that a bank which grew
    in steps has the pairs of one that came at once.

    Args:
        vectors: unit norm, shape (n, d); zero rows have no neighbours.
        rows: those whose neighbours are wanted.
        similarity: τ.

    Source:
        AnchorMem, equation 7.
    """
    for start in range(0, len(rows), _BLOCK):
        asked = rows[start : start + _BLOCK]
        queries = vectors[asked].T
        for first in range(0, len(vectors), _BLOCK):
            # The product of a block depends in its last digits on the block's shape: it only proposes.
            near = vectors[first : first + _BLOCK] @ queries > similarity - _SLACK
            other, one = np.nonzero(near)
            yield from _exact(vectors, asked[one], other + first, similarity)


def _exact(
    vectors: NDArray[np.float32],
    ones: NDArray[np.int64],
    others: NDArray[np.int64],
    similarity: float,
) -> Iterator[tuple[int, int, float]]:
    for start in range(0, len(ones), _BLOCK):
        one, other = ones[start : start + _BLOCK], others[start : start + _BLOCK]
        cosines = np.vecdot(vectors[one].astype(np.float64), vectors[other].astype(np.float64))
        for i, j, cosine in zip(one.tolist(), other.tolist(), cosines.tolist(), strict=True):
            rounded = round(cosine, _DIGITS)
            if i != j and rounded > similarity:
                yield i, j, rounded


def candidate(
    fact: int, neighbours: Mapping[int, float], contexts: Contexts, params: AnchorParams
) -> Cluster | None:
    """The cluster around a fact, or None where nothing goes with it.

    Neighbours are taken nearest first. Each context is used once, the fact's own being taken; a fact of several contexts
    uses its first that is free.

    Source:
        AnchorMem, released code: neighbours of a used context are passed over until N are found. With ``equation_9`` as the
        paper has it: the N nearest (equation 8), nothing where they crowd in one context (9), then each context once (10).
    """
    own = contexts.get(fact, ())
    if not own:
        return None
    near = sorted(neighbours.items(), key=lambda pair: (-pair[1], pair[0]))
    if params.pruning == "equation_9":
        near = near[: params.n_neighbours]
        if _most_of_one_context([fact, *(other for other, _ in near)], contexts) >= params.half:
            return None
    members, used, score = [fact], [own[0]], 0.0
    for other, cosine in near:
        if len(members) > params.n_neighbours:
            break
        free = next((one for one in contexts.get(other, ()) if one not in used), None)
        if free is not None and other != fact:
            members.append(other)
            used.append(free)
            score += cosine
    return Cluster(tuple(members), tuple(used), score) if len(members) > 1 else None


def _most_of_one_context(facts: Sequence[int], contexts: Contexts) -> int:
    counts = Counter(context for fact in facts for context in set(contexts.get(fact, ())))
    return max(counts.values(), default=0)


def candidates(
    vectors: NDArray[np.float32], contexts: Contexts, params: AnchorParams
) -> list[Cluster]:
    """The clusters around all facts at once, in order of the main fact.

    Args:
        vectors: unit norm, shape (n, d), a row for each fact; for what the released code does, one for each time that a
            chunk gave it.
        contexts: by row.
        params: τ, N and the rule.
    """
    near: dict[int, dict[int, float]] = defaultdict(dict)
    for one, other, cosine in similar_pairs(vectors, np.arange(len(vectors)), params.similarity):
        near[one][other] = cosine
    found = (candidate(fact, near[fact], contexts, params) for fact in sorted(near))
    return [cluster for cluster in found if cluster is not None]


def adds_enough(cluster: Iterable[int], kept: Iterable[int], params: AnchorParams) -> bool:
    """Whether the cluster has enough facts that the kept one lacks."""
    return len(set(cluster) - set(kept)) >= params.least_new


def prune(clusters: Iterable[Cluster], params: AnchorParams) -> list[Cluster]:
    """The clusters that are kept, in order of priority; all of them unless the rule is ``greedy``.

    Only kept clusters that share a fact are compared: one that shares none takes nothing away.

    Source:
        AnchorMem, released code; Table 6 agrees with it if the constant is ⌈N/2⌉.  Deviation: a cluster smaller than that is
        never kept; taken literally, the rule would keep one in the whole bank, if no larger one is there.
    """
    ordered = sorted(clusters, key=lambda cluster: cluster.priority)
    if params.pruning != "greedy":
        return ordered
    kept: list[Cluster] = []
    holding: dict[int, list[int]] = defaultdict(list)
    for cluster in ordered:
        others = {index for fact in cluster.members for index in holding[fact]}
        if len(cluster.members) >= params.least_new and all(
            adds_enough(cluster.members, kept[index].members, params) for index in others
        ):
            for fact in cluster.members:
                holding[fact].append(len(kept))
            kept.append(cluster)
    return kept


class Bank(Protocol):
    """What `replan` reads, a neighbourhood at a time."""

    def neighbours(self, facts: Sequence[int]) -> Neighbours:
        """Neighbours of the facts."""

    def contexts(self, facts: Sequence[int]) -> Contexts:
        """Contexts of the facts."""

    def kept(self, facts: Sequence[int]) -> Iterable[tuple[int, ...]]:
        """Members of the kept clusters that hold one of the facts, main fact first."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What changes.

    Attributes:
        keep: clusters that are to be kept from now on.
        drop: members of those that no longer are.
    """

    keep: tuple[Cluster, ...]
    drop: tuple[tuple[int, ...], ...]


def replan(touched: Iterable[int], bank: Bank, params: AnchorParams) -> Plan:
    """Follow a change through the neighbourhood.

    Args:
        touched: facts that are new, have lost or gained neighbours or contexts, or were in a kept cluster that has gone
            meanwhile; ones that are no longer there do no harm.
        bank: the bank as it is now, with the clusters kept so far.
        params: the rule.

    Returns:
        the changes that lead to what `prune` gives over the whole bank.
    """
    return _Planner(bank, params).run(set(touched))


class _Planner:
    """Decides clusters anew in order of priority; a changed decision puts those after it in question."""

    def __init__(self, bank: Bank, params: AnchorParams) -> None:
        self._bank = bank
        self._params = params
        self._neighbours: dict[int, Mapping[int, float]] = {}
        self._contexts: dict[int, Sequence[int]] = {}
        self._candidates: dict[int, Cluster | None] = {}
        self._kept_by: dict[int, tuple[int, ...]] = {}
        self._was: dict[int, tuple[int, ...]] = {}
        self._holding: dict[int, set[int]] = defaultdict(set)
        self._seen: set[int] = set()
        self._heap: list[tuple[tuple[int, float, tuple[int, ...]], int]] = []
        self._queued: set[int] = set()

    def run(self, touched: set[int]) -> Plan:
        self._load(touched)
        changed = touched | {other for fact in touched for other in self._neighbours[fact]}
        self._load(changed)
        self._know(changed)
        for main in changed:
            old, new = self._kept_by.get(main), self._candidate(main)
            if old is not None and (new is None or new.members != old):
                self._let_go(main)
                self._question_around(old)
            self._question(main)
        while self._heap:
            self._decide(heapq.heappop(self._heap)[1])
        return self._plan()

    def _decide(self, main: int) -> None:
        cluster = self._candidate(main)
        assert cluster is not None
        self._queued.discard(main)
        self._know(cluster.members)
        keep = self._is_kept(cluster)
        if keep == (self._kept_by.get(main) == cluster.members):
            return
        if keep:
            self._hold(main, cluster.members)
        else:
            self._let_go(main)
        self._question_around(cluster.members, after=cluster)

    def _is_kept(self, cluster: Cluster) -> bool:
        if self._params.pruning != "greedy":
            return True
        if len(cluster.members) < self._params.least_new:
            return False
        others = {main for fact in cluster.members for main in self._holding[fact]}
        return all(
            adds_enough(cluster.members, self._kept_by[main], self._params)
            for main in others
            if main != cluster.main and self._before(main, cluster)
        )

    def _before(self, main: int, cluster: Cluster) -> bool:
        other = self._candidate(main)
        return other is not None and other.priority < cluster.priority

    def _let_go(self, main: int) -> None:
        for fact in self._kept_by.pop(main):
            self._holding[fact].discard(main)

    def _hold(self, main: int, members: tuple[int, ...]) -> None:
        self._kept_by[main] = members
        for fact in members:
            self._holding[fact].add(main)

    def _question_around(self, members: Sequence[int], after: Cluster | None = None) -> None:
        """Put the clusters in question that may hold one of the facts: all of them, or those after that one."""
        self._load(members)
        for fact in members:
            for other in (fact, *self._neighbours[fact]):
                self._question(other, after)

    def _question(self, main: int, after: Cluster | None = None) -> None:
        cluster = self._candidate(main)
        if cluster is None or main in self._queued:
            return
        if after is None or cluster.priority > after.priority:
            self._queued.add(main)
            heapq.heappush(self._heap, (cluster.priority, main))

    def _candidate(self, main: int) -> Cluster | None:
        if main not in self._candidates:
            self._load([main])
            around = self._neighbours[main]
            self._read_contexts([main, *around])
            self._candidates[main] = candidate(main, around, self._contexts, self._params)
        return self._candidates[main]

    def _load(self, facts: Iterable[int]) -> None:
        missing = sorted({fact for fact in facts if fact not in self._neighbours})
        if missing:
            found = self._bank.neighbours(missing)
            self._neighbours |= {fact: found.get(fact, {}) for fact in missing}

    def _read_contexts(self, facts: Iterable[int]) -> None:
        missing = sorted({fact for fact in facts if fact not in self._contexts})
        if missing:
            found = self._bank.contexts(missing)
            self._contexts |= {fact: found.get(fact, ()) for fact in missing}

    def _know(self, facts: Iterable[int]) -> None:
        """Read which kept clusters hold the facts."""
        missing = sorted({fact for fact in facts if fact not in self._seen})
        if not missing:
            return
        self._seen.update(missing)
        for members in self._bank.kept(missing):
            if members[0] not in self._was:
                self._was[members[0]] = members
                self._hold(members[0], members)

    def _plan(self) -> Plan:
        keep = [
            self._candidates[main]
            for main, members in self._kept_by.items()
            if self._was.get(main) != members
        ]
        drop = [
            members for main, members in self._was.items() if self._kept_by.get(main) != members
        ]
        kept = sorted((one for one in keep if one is not None), key=lambda one: one.priority)
        return Plan(tuple(kept), tuple(sorted(drop)))

"""The method `simple`: units of dense text are looked up in three views, as deep as the question needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from combray.index.facts import FactView
from combray.index.records import RecordView
from combray.index.topk import top_k
from combray.llm.base import LLM, Occasion
from combray.methods.base import Evidence, Ranking
from combray.methods.simple.params import SimpleParams
from combray.methods.simple.plan import SimplePlan, local_plan
from combray.methods.simple.rows import METHOD
from combray.methods.simple.symbolic import symbolic
from combray.methods.simple.views import RecordPostings, dense, lexical, shares
from combray.methods.workbench import Workbench
from combray.model import Query

NO_UNITS = "simple has no units of this bank yet: `combray enrich` and `combray work` make them"
NO_VECTORS = "simple has no dense view: the bank has no vectors (see `combray doctor`)"

_SLICE = 256
"""Units whose turns are looked at together."""

_BELOW = 0.999
"""What goes on after the union scores at most so much of the union's lowest."""

_TIE = 1e-3
"""What the other views count among units that meet as many conditions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simple:
    """Ranks units of three views, and the turns that they come from.

    Attributes:
        params: its numbers.

    Source:
        SimpleMem (Liu et al.), section 2.
    """

    params: SimpleParams = field(default_factory=SimpleParams)
    default_k: int | None = None
    default_budget_tokens: int = 600

    @property
    def name(self) -> str:
        """``simple``."""
        return METHOD

    def derive(self, bench: Workbench) -> None:
        """See `Deriving.derive`."""
        from combray.methods.simple.derive import derive

        derive(bench, self.params)

    def plan(self, query: Query, llm: LLM, occasion: Occasion) -> SimplePlan:
        """See `Planning.plan`: one call, and `SimpleParams.reflection` further ones at most."""
        if not self.params.planning:
            return local_plan(query)
        from combray.methods.simple.planner import model_plan

        return model_plan(query, llm, occasion, self.params)

    def rank(self, query: Query, evidence: Evidence) -> Ranking:
        """The union of the best units of each view, and their turns in the same order.

        Source:
            SimpleMem, section 2.3: the best n of each view, n by the depth of the plan, one set.  Deviation: units lead to their turns; the
            set has an order.
        """
        facts = evidence.facts(self.name)
        view = facts.records
        if not (facts.is_fact & view.current).any():
            return _nothing(NO_UNITS)
        plan = query.plan if isinstance(query.plan, SimplePlan) else local_plan(query)
        n = self.params.n(plan.depth)
        scores = self._scores(query, plan, facts, evidence)
        added = self._added([_best(view, one, n, evidence) for one in scores.values()], view.n)
        union = _ordered(added.sum(axis=0))
        if self.params.fill:
            wide = max(n, 2 * query.k)
            further = [_best(view, one, wide, evidence) for one in scores.values()]
            added = _continued(added, self._added(further, view.n))
        fused = added.sum(axis=0)
        units = _ordered(fused)
        rows, place = evidence.turns_behind(view.number[units])
        rows, unit = rows[: query.k], units[place[: query.k]]
        return Ranking(
            rows=rows,
            scores=fused[unit],
            channels={
                name: np.where(np.isfinite(one), one, 0.0)[unit] for name, one in scores.items()
            },
            contributions={name: share[unit] for name, share in zip(scores, added, strict=True)},
            weights=dict.fromkeys(scores, 1.0),
            signals={"depth": plan.depth, "n": float(n)},
            support=_support(scores, union),
            notes=() if "dense" in scores else (NO_VECTORS,),
            records=view.number[union],
            record_scores=fused[union],
        )

    def _added(self, rankings: Sequence[NDArray[np.int64]], n: int) -> NDArray[np.float64]:
        return shares(rankings, n, self.params.rrf)

    def _scores(
        self, query: Query, plan: SimplePlan, facts: FactView, evidence: Evidence
    ) -> dict[str, NDArray[np.float64]]:
        """The score of each unit in each view, shape (n,) each; minus infinity where it is not to be ranked."""
        params, view = self.params, facts.records

        def read(terms: Sequence[str]) -> RecordPostings:
            found: RecordPostings = evidence.record_postings(self.name, terms)
            return found

        ranked = facts.is_fact & view.current
        found: dict[str, NDArray[np.float64]] = {}
        vectors = _vectors(query, plan, evidence)
        if vectors is not None:
            found["dense"] = dense(view, vectors)
        found["lexical"] = lexical(view, read, plan.lexical, k1=params.k1, b=params.b)
        close = [np.where(np.isfinite(one), one, 0.0) for one in found.values()]
        ties = sum(one / max(float(np.abs(one).max()), 1e-9) for one in close) / len(close)
        found["symbolic"] = symbolic(plan, facts, read, evidence.view) + _TIE * ties
        return {name: np.where(ranked, one, -np.inf) for name, one in found.items()}


def _vectors(query: Query, plan: SimplePlan, evidence: Evidence) -> NDArray[np.float32] | None:
    """Vectors of the plan's semantic queries, shape (q, d); None where the bank has none."""
    if query.vector is None:
        return None
    if not plan.texts or evidence.embed is None:
        return query.vector[None]
    return np.vstack([query.vector[None], evidence.embed(plan.texts)])


def _ordered(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows with a score, best first, ties by row."""
    return top_k(np.where(scores > 0, scores, -np.inf), len(scores))


def _continued(added: NDArray[np.float64], further: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first scores, and below all of them the others, in their order; both of shape (views, n)."""
    first = added.sum(axis=0)
    further = np.where(first > 0, 0.0, further)
    highest = further.sum(axis=0).max(initial=0.0)
    if not highest or not first.any():
        return added + further
    lowest = float(first[first > 0].min())
    return added + further * min(1.0, _BELOW * lowest / float(highest))


def _best(
    view: RecordView, scores: NDArray[np.float64], n: int, evidence: Evidence
) -> NDArray[np.int64]:
    """Rows of the n best units, best first; one that rests on a turn that may not be seen is left out."""
    if evidence.allowed is None:
        return top_k(scores, n)
    order = top_k(scores, view.n)
    found: list[int] = []
    for start in range(0, len(order), _SLICE):
        rows = order[start : start + _SLICE]
        found += rows[evidence.seen_wholly(view.number[rows])].tolist()
        if len(found) >= n:
            break
    return np.array(found[:n], dtype=np.int64)


def _support(scores: Mapping[str, NDArray[np.float64]], union: NDArray[np.int64]) -> float:
    """The cosine of the nearest unit; no probability."""
    if "dense" not in scores or not len(union):
        return 0.0
    return float(np.clip(scores["dense"][union].max(), 0, 1))


def _nothing(note: str) -> Ranking:
    return Ranking(rows=np.zeros(0, dtype=np.int64), scores=np.zeros(0), notes=(note,))

"""The method `anchor`: facts and events are looked up, and lead back to the turns that they come from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from combray.index.records import RecordView
from combray.index.topk import top_k
from combray.methods.anchor.params import AnchorParams
from combray.methods.base import Evidence, Ranking
from combray.methods.workbench import Workbench
from combray.model import Query, RecordKind
from combray.store.derived import TURNS

NO_VECTORS = "anchor needs vectors, and the bank has none (see `combray doctor`)"
NO_FACTS = "anchor has no facts of this bank yet: `combray enrich` and `combray work` make them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """Ranks turns by the best fact that was drawn from them.

    Attributes:
        params: its numbers.

    Source:
        AnchorMem (Shen et al.), sections 4.1 to 4.3.
    """

    params: AnchorParams = field(default_factory=AnchorParams)
    default_k: int | None = None
    default_budget_tokens: int = 1024

    @property
    def name(self) -> str:
        """``anchor``."""
        return "anchor"

    def derive(self, bench: Workbench) -> None:
        """See `Deriving.derive`."""
        from combray.methods.anchor.derive import draw_facts, link_facts

        if bench.job.kind == TURNS:
            draw_facts(bench, self.params)
        else:
            link_facts(bench, self.params)

    def rank(self, query: Query, evidence: Evidence) -> Ranking:
        """Turns in order of their best fact, and the nearest events.

        Source:
            AnchorMem, equations 12 to 15: top facts lead to their contexts, top events are added.  Deviation: the order of the
            contexts is that of the facts, where the released code has that of a set; with `fill` the facts go on.
        """
        if query.vector is None:
            return _nothing(NO_VECTORS)
        view = evidence.records(self.name)
        facts = view.of_kind(RecordKind.FACT)
        if not len(facts):
            return _nothing(NO_FACTS)
        cosines = np.vecdot(view.vectors, query.vector).astype(np.float64)
        rows, scores = self._turns(view.number[facts], cosines[facts], query.k, evidence)
        events, event_scores = self._events(view, cosines, evidence)
        return Ranking(
            rows=rows,
            scores=scores,
            channels={"fact": scores},
            contributions={"fact": scores},
            weights={"fact": 1.0},
            support=float(np.clip(scores[0], 0, 1)) if len(scores) else 0.0,
            records=events,
            record_scores=event_scores,
        )

    def _turns(
        self,
        numbers: NDArray[np.int64],
        cosines: NDArray[np.float64],
        k: int,
        evidence: Evidence,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows of the turns behind the best facts, with the cosine of the fact, shape (m,), m ≤ k."""
        best = top_k(cosines, max(self.params.n_facts, k if self.params.fill else 0))
        rows, place = evidence.turns_behind(numbers[best])
        return rows[:k], cosines[best][place[:k]]

    def _events(
        self, view: RecordView, cosines: NDArray[np.float64], evidence: Evidence
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Numbers and cosines of the best events; one that read a turn that may not be seen is left out."""
        events = view.of_kind(RecordKind.EVENT)
        if not len(events) or not self.params.n_events:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        events = events[evidence.seen_wholly(view.number[events])]
        best = events[top_k(cosines[events], self.params.n_events)]
        return view.number[best], cosines[best]


def _nothing(note: str) -> Ranking:
    return Ranking(rows=np.zeros(0, dtype=np.int64), scores=np.zeros(0), notes=(note,))

"""The method `atom`: facts that the query finds lead to others by association, and all lead back to the turns they come from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from combray.llm.base import LLM, Occasion
from combray.methods.atom.asked import asked
from combray.methods.atom.intent import Intent, ask_intent
from combray.methods.atom.params import AtomParams
from combray.methods.atom.scored import Scored, scored
from combray.methods.atom.shown import shown
from combray.methods.base import Evidence, Ranking
from combray.methods.workbench import Workbench
from combray.model import Query

NO_VECTORS = "atom goes by keywords alone: there are no vectors (see `combray doctor`)"
NO_FACTS = "atom has no facts of this bank yet: `combray enrich` and `combray work` make them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Atom:
    """Ranks turns by the facts that were drawn from them, and facts by a walk over what they have in common.

    Attributes:
        params: its numbers.

    Source:
        AtomMem, section 3.4 and appendix A.3.
    """

    params: AtomParams = field(default_factory=AtomParams)
    default_k: int | None = None
    default_budget_tokens: int = 1024

    @property
    def name(self) -> str:
        """``atom``."""
        return "atom"

    def derive(self, bench: Workbench) -> None:
        """See `Deriving.derive`."""
        from combray.methods.atom.derive import derive

        derive(bench, self.params)

    def plan(self, query: Query, llm: LLM, occasion: Occasion) -> Intent:
        """See `Planning.plan`."""
        return ask_intent(query, llm, occasion, self.params.max_keywords)

    def rank(self, query: Query, evidence: Evidence) -> Ranking:
        """Turns in order of their best fact, and profile statements, facts and events beside them.

        Source:
            AtomMem, section 3.4.  Deviation: `AtomParams.relax` and `fill`; the paper's recall ends with the facts.
        """
        view = evidence.facts(self.name)
        if not (view.is_fact & view.records.current).any():
            return Ranking(rows=np.zeros(0, np.int64), scores=np.zeros(0), notes=(NO_FACTS,))
        found = scored(asked(query, evidence, view, self.params), self.params)
        facts, rows = self._turns(found, query.k)
        contributions = found.contributions(facts, self.params)
        records, record_scores = shown(found, self.params)
        cosines = found.asked.like.cosine[found.asked.open]
        return Ranking(
            rows=rows,
            scores=sum(contributions.values(), start=np.zeros(len(rows))),
            channels=found.channels(facts),
            contributions=contributions,
            weights={
                "walk": 1.0,
                "cosine": self.params.cosine_weight,
                "keyword": self.params.keyword_weight,
                "event": self.params.event_weight,
            },
            support=float(np.clip(cosines.max(initial=0.0), 0.0, 1.0)),
            notes=(*(() if query.vector is not None else (NO_VECTORS,)), *found.asked.notes),
            records=records,
            record_scores=record_scores,
        )

    def _turns(self, found: Scored, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The best fact of each turn, and the turn, as rows; the best first, shape (m,), m ≤ k."""
        fill, numbers = self.params.fill, found.asked.view.records.number
        n = max(self.params.n_facts, 2 * k) if fill else self.params.n_facts
        while True:
            facts = found.best(n, beyond=fill and self.params.relax)
            rows, place = found.asked.evidence.turns_behind(numbers[facts])
            # Several facts may come from one turn: go on down where they lead to too few.
            if len(rows) >= k or len(facts) < n or not fill:
                return facts[place[:k]], rows[:k]
            n *= 2

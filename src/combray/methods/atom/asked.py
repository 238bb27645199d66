"""What a query asks of the facts of a bank: which of them it may lead to, which it is about, and how like it they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from combray.index.facts import FactView
from combray.index.records import KINDS
from combray.index.topk import top_k
from combray.methods.atom.intent import Intent, local_intent
from combray.methods.atom.params import AtomParams
from combray.methods.atom.seeds import Limits, Similarity, similarity
from combray.methods.base import Evidence
from combray.model import Query, RecordKind

ANY_TIME = "no fact of these people is of the time asked for: facts of any time are ranked"
ANYBODY = "no fact is about the people asked for: facts about anybody are ranked"

_N_LOOKED_UP = 256
"""Facts whose first turn may not be ranked, and of which it is looked up whether another one may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A query over the facts of a bank.

    Attributes:
        view: the facts.
        evidence: the bank.
        intent: what the query is after.
        like: how like it each record is.
        holds: facts that hold, shape (n,).
        open: those of them that may lead to a turn, shape (n,).
        limits: what the query restricts facts to.
        fits: open facts within the limits, shape (n,).
        said_at: when the first turn behind each record was said, long ago where there is none, shape (n,).
        notes: limits that were given up so that something fits.
    """

    view: FactView
    evidence: Evidence
    intent: Intent
    like: Similarity
    holds: NDArray[np.bool_]
    open: NDArray[np.bool_]
    limits: Limits
    fits: NDArray[np.bool_]
    said_at: NDArray[np.int64]
    notes: tuple[str, ...]

    @property
    def reachable(self) -> NDArray[np.bool_]:
        """Facts that the association may lead to, shape (n,): those that fit, and those about nobody.

        Source:
            AtomMem, released code: facts without people pass in the graph, not among the seeds.
        """
        nobody: NDArray[np.bool_] = np.diff(self.view.people.indptr) == 0
        about = self.limits.people_fit(self.view) | nobody
        in_time = self.limits.facts_fit(self.view, self.said_at)
        found: NDArray[np.bool_] = self.open & about & in_time
        return found

    @property
    def events(self) -> NDArray[np.bool_]:
        """Events that may lead to facts, shape (n,)."""
        records = self.view.records
        within = self.limits.events_fit(self.view) & self.limits.people_fit(self.view)
        found: NDArray[np.bool_] = records.kind == KINDS.index(RecordKind.EVENT)
        found &= records.current & within
        return found


def asked(query: Query, evidence: Evidence, view: FactView, params: AtomParams) -> Asked:
    """The query over the facts of the view, with its own plan or one made from its words."""
    plan = query.plan
    intent = plan if isinstance(plan, Intent) else local_intent(query, view, params.max_keywords)
    like = similarity(view, query.vector, intent.keywords, params)
    holds: NDArray[np.bool_] = view.is_fact & view.records.current
    open_ = _visible(view, evidence, like, holds)
    if query.vector is None:
        # Without vectors a score of 0 says nothing of a fact.
        open_ &= like.score > 0
    said_at = _said_at(view, evidence) if intent.times else np.zeros(view.n, dtype=np.int64)
    limits, fits, notes = _limited(view, intent, open_, said_at, relax=params.relax)
    return Asked(
        view=view,
        evidence=evidence,
        intent=intent,
        like=like,
        holds=holds,
        open=open_,
        limits=limits,
        fits=fits,
        said_at=said_at,
        notes=notes,
    )


def _limited(
    view: FactView,
    intent: Intent,
    open_: NDArray[np.bool_],
    said_at: NDArray[np.int64],
    *,
    relax: bool,
) -> tuple[Limits, NDArray[np.bool_], tuple[str, ...]]:
    """The query's limits, the facts within them, and what was given up so that there are some.

    Source:
        AtomMem, section 3.4 (filters).  Deviation: a limit that would leave nothing is given up, first the time, then the people.
    """
    named = Limits(
        people=view.people_of(intent.people), times=intent.times, named=bool(intent.people)
    )
    in_time, about = named.facts_fit(view, said_at), named.people_fit(view)
    fits = open_ & in_time & about
    if fits.any() or not relax or not open_.any():
        return named, fits, ()
    if (open_ & about).any():
        return replace(named, times=()), open_ & about, (ANY_TIME,)
    anybody = replace(named, named=False)
    if (open_ & in_time).any():
        return anybody, open_ & in_time, (ANYBODY,)
    return replace(anybody, times=()), open_, (ANYBODY, ANY_TIME)


def _visible(
    view: FactView, evidence: Evidence, like: Similarity, facts: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Facts that come from a turn that may be ranked, shape (n,)."""
    if evidence.allowed is None:
        return facts.copy()
    turns = evidence.view.rows(view.doc)
    seen = turns >= 0
    seen[seen] = evidence.allowed[turns[seen]]
    hidden = top_k(np.where(facts & ~seen, like.score, -np.inf), _N_LOOKED_UP)
    _, place = evidence.turns_behind(view.records.number[hidden])
    visible: NDArray[np.bool_] = facts & seen
    visible[hidden[place]] = True
    return visible


def _said_at(view: FactView, evidence: Evidence) -> NDArray[np.int64]:
    turns = evidence.view.rows(view.doc)
    said_at = np.full(view.n, np.iinfo(np.int64).min)
    said_at[turns >= 0] = evidence.view.columns.said_at[turns[turns >= 0]]
    return said_at

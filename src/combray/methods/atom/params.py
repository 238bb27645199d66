"""Every number of AtomMem, and every choice where paper and released code differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from combray.errors import InvalidInput

Metadata = Literal["joint", "batched"]
Summaries = Literal["all", "incremental"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomParams:
    """How facts are drawn, verified, grouped, kept as profiles, and recalled by association.

    Attributes:
        metadata: ``joint`` asks for facts and their people, keywords and times in one call a turn; ``batched`` asks for the
            facts first, then for the metadata of all facts of the turn in a second call (what a trained extractor, which
            gives bare facts, needs). Released code: one call for the facts and one more a fact.
        max_keywords: of a fact, an event or a profile. Released code: 5.
        max_fact_chars: a longer "fact" is not one, and is left out.
        cosine_weight: α of the hybrid similarity S_h (equation 2): .7.
        keyword_weight: β, of the Jaccard similarity of keywords: .3.
        verify: whether a new fact is held against those that are there. Off keeps all.
        duplicate: cosine above which a fact says what is there already. Released code: .95.
        conflict: S_h above which an earlier fact is put before the model. Released code: .6.
        n_conflicts: most of those. Released code: 5.
        residual: keep of a fact what is new in it (paper); the released code keeps the whole fact.
        n_related: facts whose events are put before the model (Algorithm 1). Released code: 10.
        summaries: ``all`` tells an event from all its facts (paper), ``incremental`` from its old summary and the new fact
            (released code), which drifts and is cheaper.
        n_profiles_compared: profile statements that a new one is held against. Released code: 8.
        profile_similarity: S_h below which a statement is a new one. Released code: .55.
        profile_same: S_h above which, without a usable reply, a statement is taken for a new version. Released code: .88.
        n_primary: facts that the query itself finds (half of k_s = 10).
        n_compensatory: facts that the events it finds add (the other half); also the number of events.
        event_weight: w_e of an event's score in its facts' scores: .7; the fact's own counts 1 − w_e.
        relax: drop the time filter, then the filter by people, where they would leave nothing. Released code: no, and one
            mistake about the query empties the recall.
        hops: from the seeds outwards: 2.
        max_nodes: of the local graph: 180.
        n_neighbours: of a node, by mixed weight: 30.
        mixture: ρ of the keyword, event and turn channels: .45, .40, .15.
        query_keyword: β_q, weight of a keyword that the query has: 2.5.
        query_rarity: floor, reference share and exponent of π for keywords of the query: .45, .05, .7.
        other_rarity: reference share and exponent of π for the others: .10, 1.
        event_size_exponent: an event of m facts ties each two by (m − 1)^−1.25.
        max_event_facts: larger events tie nothing. Released code: 60.
        n_event_neighbours: of a node in the event channel. Released code: 10.
        turn_distance: turns of a session that are this near are neighbours: 2.
        turn_decay: τ of exp(−Δ/τ), in turns: 2.
        n_turn_neighbours: of a node in the turn channel. Released code: 6.
        restart: η: .34.
        seed_exponent: γ_s: 5.
        seed_rank_bonus: added to a seed's score over rank + 1. Released code: .05; the paper has none.
        iterations: at most: 20.
        tolerance: of the change in L1: 1e-6.
        n_facts: k_f, facts of the result: 10.
        n_profiles: profile statements beside them: 5.
        fill: go on down the facts until there are as many turns as were asked for, instead of stopping at `n_facts`.
        graph: the association; off ranks the seeds (the paper's "w/o graph").
        profiles: off is "w/o profile"; with `graph` off too, and all seeds from the query, it is "flat".
    """

    metadata: Metadata = "joint"
    max_keywords: int = 5
    max_fact_chars: int = 2000
    cosine_weight: float = 0.7
    keyword_weight: float = 0.3
    verify: bool = True
    duplicate: float = 0.95
    conflict: float = 0.6
    n_conflicts: int = 5
    residual: bool = True
    n_related: int = 10
    summaries: Summaries = "all"
    n_profiles_compared: int = 8
    profile_similarity: float = 0.55
    profile_same: float = 0.88
    n_primary: int = 5
    n_compensatory: int = 5
    event_weight: float = 0.7
    relax: bool = True
    hops: int = 2
    max_nodes: int = 180
    n_neighbours: int = 30
    mixture: tuple[float, float, float] = (0.45, 0.40, 0.15)
    query_keyword: float = 2.5
    query_rarity: tuple[float, float, float] = (0.45, 0.05, 0.7)
    other_rarity: tuple[float, float] = (0.10, 1.0)
    event_size_exponent: float = 1.25
    max_event_facts: int = 60
    n_event_neighbours: int = 10
    turn_distance: int = 2
    turn_decay: float = 2.0
    n_turn_neighbours: int = 6
    restart: float = 0.34
    seed_exponent: float = 5.0
    seed_rank_bonus: float = 0.05
    iterations: int = 20
    tolerance: float = 1e-6
    n_facts: int = 10
    n_profiles: int = 5
    fill: bool = True
    graph: bool = True
    profiles: bool = True

    def __post_init__(self) -> None:
        for name in ("duplicate", "conflict", "event_weight", "restart"):
            if not 0 < getattr(self, name) < 1:
                raise InvalidInput(
                    f"{name} must lie between 0 and 1, not be {getattr(self, name)}."
                )
        for name in (
            "max_fact_chars",
            "n_primary",
            "max_nodes",
            "n_neighbours",
            "n_facts",
            "iterations",
        ):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} must be at least 1, not {getattr(self, name)}.")
        if min(self.mixture) < 0 or sum(self.mixture) <= 0:
            raise InvalidInput(f"mixture {self.mixture} must be three weights, not all of them 0.")
        if self.metadata not in ("joint", "batched"):
            raise InvalidInput(
                f"{self.metadata!r} is no way to ask for metadata; use joint or batched."
            )
        if self.summaries not in ("all", "incremental"):
            raise InvalidInput(
                f"{self.summaries!r} is no way to summarise; use all or incremental."
            )

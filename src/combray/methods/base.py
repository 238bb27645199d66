"""What a method must do: rank the turns of a bank for a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from combray.errors import ConfigError
from combray.index.facts import FactView
from combray.index.lexical import ReadPostings
from combray.index.records import RecordView
from combray.index.view import BankView
from combray.model import Query
from combray.store.derived import Sources

if TYPE_CHECKING:
    from combray.llm.base import LLM, Occasion


def _no_records(_: object) -> Any:  # noqa: ANN401 (stands in for three readers)
    raise ConfigError("this evidence comes without derived records.")


def _no_postings(_: str, __: Sequence[str]) -> Any:  # noqa: ANN401 (as above)
    raise ConfigError("this evidence comes without the postings of derived records.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a method may look at.

    Attributes:
        view: the bank as arrays.
        read: its postings.
        allowed: rows that may be ranked, shape (n,), or None for all. Statistics (document frequencies,
            lengths) are always those of the whole bank.
        records: a method's derived records as arrays.
        facts: the same with what is noted of them.
        sources: which documents derived records come from.
        record_postings: where terms occur among a method's records (`combray.methods.simple.views.RecordPostings`).
        embed: unit-norm vectors of further queries, shape (q, d); None while the bank has none.
    """

    view: BankView
    read: ReadPostings
    allowed: NDArray[np.bool_] | None = None
    records: Callable[[str], RecordView] = _no_records
    facts: Callable[[str], FactView] = _no_records
    sources: Callable[[Sequence[int]], Sources] = _no_records
    record_postings: Callable[[str, Sequence[str]], Any] = _no_postings
    embed: Callable[[Sequence[str]], NDArray[np.float32]] | None = None

    def seen_wholly(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether every turn behind the record may be ranked, shape (n,); what tells of a hidden turn must not be shown."""
        if self.allowed is None or not len(numbers):
            return np.ones(len(numbers), dtype=np.bool_)
        found = self.sources(numbers.tolist())
        rows = self.view.rows(found.doc)
        hidden = (rows < 0) | ~self.allowed[rows]
        return ~np.isin(numbers, found.record[hidden])

    def turns_behind(
        self, numbers: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of the turns that the records come from and that may be ranked, in order of their first record.

        Args:
            numbers: of records without repeats, the best first, shape (n,).

        Returns:
            The rows, without repeats, and the place in `numbers` of the first record of each; both of shape (m,).
        """
        found = self.sources(numbers.tolist())
        order = np.argsort(numbers)
        place = order[np.searchsorted(numbers, found.record, sorter=order)]
        rows = self.view.rows(found.doc)
        usable = rows >= 0
        if self.allowed is not None:
            usable &= self.allowed[np.where(usable, rows, 0)]
        # Stable: by place of the record, then by unit and document, as the sources come.
        by_place = np.argsort(place[usable], kind="stable")
        rows, place = rows[usable][by_place], place[usable][by_place]
        _, first = np.unique(rows, return_index=True)
        first = np.sort(first)
        return rows[first], place[first]

    def masked(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores with minus infinity on rows that may not be ranked."""
        return scores if self.allowed is None else np.where(self.allowed, scores, -np.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Turns in order, best first.

    Attributes:
        rows: rows of the view, shape (m,), without repeats.
        scores: descending, shape (m,).
        channels: raw score of each channel, each of shape (m,).
        contributions: what each channel adds to the score, each of shape (m,).
        weights: weight of each channel.
        signals: raw signals behind `support`.
        support: 0…1, how likely the bank holds an answer.
        notes: channels that were missing, and why.
        records: numbers of derived records to show beside the turns, best first, shape (r,).
        record_scores: theirs, descending, shape (r,).
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    channels: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    contributions: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    signals: Mapping[str, float] = field(default_factory=dict)
    support: float = 0.0
    notes: tuple[str, ...] = ()
    records: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    record_scores: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


class Method(Protocol):
    """Ranks turns; deterministic, and changes nothing."""

    @property
    def name(self) -> str:
        """What it is called on every surface."""

    @property
    def params(self) -> object:
        """Its settings, a frozen dataclass."""

    @property
    def default_k(self) -> int | None:
        """How many hits it ranks where the caller does not say; None for as many as the budget may hold."""

    @property
    def default_budget_tokens(self) -> int:
        """The budget of a pack where the caller does not say, in tokens."""

    def rank(self, query: Query, evidence: Evidence) -> Ranking:
        """The turns for the query, at most `query.k`."""


class Planning(Protocol):
    """A method that can ask a model what a query is after before it ranks."""

    def plan(self, query: Query, llm: LLM, occasion: Occasion) -> object:
        """What `rank` finds in `Query.plan`; without it, or with another method's, `rank` works that out itself.

        Raises:
            CombrayError: the call failed.
        """

"""What a method proposes, what fits, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from combray.model.record import DerivedRecord
from combray.model.turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One ranked turn.

    Attributes:
        turn: the evidence.
        rank: from 1.
        score: the method's, higher is better.
        channels: raw score of each channel that had something to say.
        contributions: each channel's share of `score`; they add up to it.
    """

    turn: Turn
    rank: int
    score: float
    channels: Mapping[str, float] = field(default_factory=dict)
    contributions: Mapping[str, float] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The turn's."""
        return self.turn.id

    @property
    def why(self) -> str:
        """The channels that spoke most for it, such as ``late +3.10, lexical +1.20``."""
        spoke = [item for item in self.contributions.items() if item[1] > 0]
        best = sorted(spoke, key=lambda item: -item[1])[:3]
        return ", ".join(f"{name} {share:+.2f}" for name, share in best)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHit:
    """One derived record that a method shows beside the turns.

    Attributes:
        record: what a model made of turns.
        rank: from 1.
        score: the method's, higher is better.
        channels: raw score of each channel that had something to say.
    """

    record: DerivedRecord
    rank: int
    score: float
    channels: Mapping[str, float] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The record's."""
        return self.record.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One note of a pack: derived text beside the turns.

    Attributes:
        cite: what the rendered line carries in brackets: ``n1``, ``n2``, …
        record: what a model made of turns.
        text: what is rendered of it: all of it unless it was clipped to the budget.
        clipped: whether `text` is only a part.
        cites: numbers of the pack's lines that are among its turns, ascending.
    """

    cite: str
    record: DerivedRecord
    text: str
    clipped: bool = False
    cites: tuple[int, ...] = ()


class Part(StrEnum):
    """Why a turn stands in a pack."""

    HIT = "hit"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackItem:
    """One line of a pack.

    Attributes:
        cite: the number that the rendered line carries in brackets, from 1.
        turn: the evidence.
        part: a hit, or context beside one (the question before a short answer, a neighbour).
        hit: the hit it is, or the one it stands beside.
        text: what is rendered of the turn: its whole text unless it was clipped to the budget.
        clipped: whether `text` is only a part of the turn.
        repeats: ids of other turns that say the same and were left out for it.
    """

    cite: int
    turn: Turn
    part: Part
    hit: Hit
    text: str
    clipped: bool = False
    repeats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A hit that did not get into the pack.

    Attributes:
        hit: a turn, or a derived record.
        reason: ``budget``, ``repeat``, ``below_threshold`` or ``empty`` (nothing of it can be shown).
    """

    hit: Hit | RecordHit
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How a recall came about; what `explain` shows.

    Attributes:
        method: name of the method.
        params: its settings.
        channels: the channels that took part, with their weights.
        notes: what was switched off or missing ("no vectors: lexical only").
        timings_ms: by stage.
        cut: hits that were left out, and why: turns, then records, each best first.
        signals: raw signals behind `support`, by name.
        threshold: support below which the recall abstains.
    """

    method: str
    params: Mapping[str, object] = field(default_factory=dict)
    channels: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    cut: tuple[Cut, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    threshold: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The answer of a bank to a query: evidence within a budget, or a reason for none.

    Attributes:
        query: as asked.
        items: the pack, in rendered order.
        hits: the ranking the pack was made from, best first.
        text: the pack as a model should see it; empty when abstained.
        n_tokens: of `text`, by the counter named in `counter`.
        counter: name of the token counter.
        budget_tokens: the bound that `n_tokens` never exceeds.
        support: 0…1, how likely the bank holds an answer.
        abstained: whether the pack is empty on purpose.
        reason: why it abstained, or empty.
        trace: how it came about.
        notes: derived texts of the pack, after the turns.
    """

    query: str
    items: tuple[PackItem, ...]
    hits: tuple[Hit, ...]
    text: str
    n_tokens: int
    counter: str
    budget_tokens: int
    support: float
    abstained: bool
    reason: str
    trace: Trace
    notes: tuple[Note, ...] = ()

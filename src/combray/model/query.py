"""A question to a bank, analysed and embedded, with its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from combray.errors import InvalidInput
from combray.model.analysis import Analysis
from combray.model.turn import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a turn must satisfy to be ranked at all; applied before ranking.

    Attributes:
        sessions: names; empty means any.
        speakers: names, compared without regard to case; empty means any.
        roles: empty means any.
        tags: a turn must carry all of them.
        since: aware; said at or after.
        until: aware; said before.
    """

    sessions: Sequence[str] = ()
    speakers: Sequence[str] = ()
    roles: Sequence[Role] = ()
    tags: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None

    def __bool__(self) -> bool:
        return bool(
            self.sessions or self.speakers or self.roles or self.tags or self.since or self.until
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question, ready for the channels.

    Attributes:
        text: as asked.
        analysis: its terms, keys, mentions and spans (resolved against `now`).
        vector: unit norm, shape (d,), or None without an embedder.
        tokens: unit-norm token vectors, shape (t, d), or None.
        token_words: the word that each token belongs to, lower case, t of them.
        k: most hits to return.
        budget_tokens: most tokens of the rendered pack.
        now: aware; what "last week" in the query is measured from.
        filters: what may be ranked.
    """

    text: str
    analysis: Analysis
    vector: NDArray[np.float32] | None = None
    tokens: NDArray[np.float32] | None = None
    token_words: tuple[str, ...] = ()
    k: int
    budget_tokens: int
    now: datetime
    filters: Filters = field(default_factory=Filters)

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InvalidInput(f"k must be at least 1, not {self.k}.")
        if self.budget_tokens < 1:
            raise InvalidInput(f"budget_tokens must be at least 1, not {self.budget_tokens}.")

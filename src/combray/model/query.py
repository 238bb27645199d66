"""A question to a bank, analysed and embedded, with its limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from typing import Any

import numpy as np
from numpy.typing import NDArray

from combray.errors import InvalidInput
from combray.model.analysis import Analysis
from combray.model.time import aware, read_time
from combray.model.turn import Role, as_role, checked_name

_PERIOD = re.compile(r"(\d{4})(-\d{2})?")
"""A year, or a month of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a turn must satisfy to be ranked at all; applied before ranking.

    Attributes:
        sessions: names; empty means any.
        speakers: names, compared without regard to case; empty means any.
        roles: empty means any.
        tags: a turn must carry all of them.
        since: said at or after; a naive time is read in the bank's zone.
        until: said before; likewise.
    """

    sessions: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    def __init__(
        self,
        *,
        sessions: Iterable[str] | str = (),
        speakers: Iterable[str] | str = (),
        roles: Iterable[Role | str] | Role | str = (),
        tags: Iterable[str] | str = (),
        since: datetime | date | str | None = None,
        until: datetime | date | str | None = None,
    ) -> None:
        """The filters; one name may stand without a list, and times may be ISO 8601.

        ``2024`` and ``2024-06`` mean where the year or the month begins.

        Raises:
            InvalidInput: a name, a role or a time is none, or `since` is after `until`.
        """
        put = object.__setattr__
        put(self, "sessions", _names(sessions, "a session to filter by"))
        put(self, "speakers", _names(speakers, "a speaker to filter by"))
        put(self, "roles", tuple(as_role(role) for role in as_list(roles, "roles")))
        put(self, "tags", _names(tags, "a tag to filter by"))
        put(self, "since", _moment(since))
        put(self, "until", _moment(until))
        self._check_order()

    def __bool__(self) -> bool:
        return bool(
            self.sessions or self.speakers or self.roles or self.tags or self.since or self.until
        )

    def in_zone(self, where: tzinfo) -> Filters:
        """The same with aware times: naive ones are read in that zone.

        Raises:
            InvalidInput: `since` is after `until`.
        """
        since = None if self.since is None else aware(self.since, where)
        until = None if self.until is None else aware(self.until, where)
        return replace(self, since=since, until=until)

    def _check_order(self) -> None:
        since, until = self.since, self.until
        if since is None or until is None or (since.tzinfo is None) != (until.tzinfo is None):
            return
        if since > until:
            raise InvalidInput(
                f"since ({since.isoformat()}) is after until ({until.isoformat()}): "
                "no turn can lie between them."
            )


def as_list(value: object, what: str) -> list[Any]:
    """The values; one text stands for itself and not for its letters.

    Raises:
        InvalidInput: it is neither text nor a collection.
    """
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise InvalidInput(f"{what} must be a list of texts, not {value!r}.")
    return list(value)


def _names(value: object, what: str) -> tuple[str, ...]:
    return tuple(checked_name(name, what) for name in as_list(value, what))


def _moment(value: datetime | date | str | None) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, str) and (period := _PERIOD.fullmatch(value.strip())):
        value = f"{period[1]}{period[2] or '-01'}-01"
    return read_time(value)


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
        plan: what a model has said the query is after, the method's own; None where none was asked.
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
    plan: object | None = None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InvalidInput(f"k must be at least 1, not {self.k}.")
        if self.budget_tokens < 1:
            raise InvalidInput(f"budget_tokens must be at least 1, not {self.budget_tokens}.")

"""A match of a date rule in its text, and what the rule makes of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from combray.text.calendar import Days

STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "next": 1, "coming": 1, "upcoming": 1}
"""How many units away from now each of these words is."""

_FUTURE = re.compile(
    r"\b(?:will|won't|shall|going to|gonna|plan|plans|planning|upcoming|coming up|looking forward|can't wait"
    r"|scheduled|booked for|hope to|hoping to|due|see you)\b|'ll\b"
)
_SENTENCE_END = re.compile(r"[.!?\n]\s")
_BEFORE_CHARS = 80
_AFTER_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One match in its text.

    Attributes:
        match: over the lower-cased text.
        text: as written; the same length.
        today: the local day it was said.
    """

    match: re.Match[str]
    text: str
    today: date

    def __getitem__(self, group: str) -> str:
        """What the group matched, without a final full stop; empty where it did not."""
        found = self.match.groupdict().get(group)
        return found.rstrip(".") if found else ""

    @property
    def before(self) -> str:
        """The lower-cased text right before the match."""
        return self.match.string[max(0, self.match.start() - 16) : self.match.start()]

    @property
    def future(self) -> bool:
        """Whether the sentence speaks of the future."""
        lowered, start, end = self.match.string, self.match.start(), self.match.end()
        left = _SENTENCE_END.split(lowered[max(0, start - _BEFORE_CHARS) : start])[-1]
        right = _SENTENCE_END.split(lowered[end : end + _AFTER_CHARS])[0]
        return bool(_FUTURE.search(left) or _FUTURE.search(right))

    def titled(self, group: str) -> bool:
        """Whether the group is written with one capital first."""
        start, end = self.match.span(group)
        written = self.text[start:end]
        return written[:1].isupper() and not written[1:2].isupper()


Resolve = Callable[[Reading], Days | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A pattern, filled in and compiled, and what its match means.

    Attributes:
        pattern: over lower-cased text.
        resolve: the days, or None where it is no date after all; None itself where dateparser knows.
    """

    pattern: re.Pattern[str]
    resolve: Resolve | None

"""Date expressions, resolved against the time they were said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from combray.model import Mention, TimeSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDate:
    """A date expression and the span it means.

    Attributes:
        mention: where it stands, labelled ``DATE``.
        span: what it means.
    """

    mention: Mention
    span: TimeSpan


def find_dates(text: str, anchor: datetime) -> list[FoundDate]:
    """None yet."""
    return []

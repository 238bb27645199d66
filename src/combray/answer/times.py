"""What the relative times of the evidence resolve to, as lines for the reader.

A model that reads "yesterday" under the date 2023-05-08 has to compute; our rules have done so when the turn was stored,
against the day on which it was said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from combray.model import PackItem, Turn
from combray.model.time import TimeSpan

Spans = Callable[[Sequence[Turn]], Sequence[Sequence[TimeSpan]]]
"""Gives the spans of time that each turn speaks of."""

_INSTANT = timedelta(microseconds=1)

MAX_LINES = 24
"""More than so many hints would drown the evidence; the best hits come first."""


def resolved_times(items: Sequence[PackItem], spans: Spans) -> str:
    """One line for each turn that speaks of a relative time: ``[2] "last week": 2023-05-01 to 2023-05-07``.

    Empty where there is none. A phrase that names its day in full is left out, since it needs no help.
    """
    ranked = sorted(items, key=lambda item: (item.hit.rank, item.cite))
    lines: list[tuple[int, str]] = []
    for item, found in zip(ranked, spans([item.turn for item in ranked]), strict=True):
        told = [_told(span) for span in found if not span.explicit and span.text in item.text]
        if told and len(lines) < MAX_LINES:
            lines.append((item.cite, f"[{item.cite}] " + "; ".join(dict.fromkeys(told))))
    return "\n".join(line for _, line in sorted(lines))


def _told(span: TimeSpan) -> str:
    first, last = span.start.date(), (span.end - _INSTANT).date()
    phrase = " ".join(span.text.split())
    return f'"{phrase}": {first}' if first == last else f'"{phrase}": {first} to {last}'

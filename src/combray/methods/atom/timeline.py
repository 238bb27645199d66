"""The versions of one profile statement in order of time, each with the days on which it holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from combray.model import span_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What one record says of a statement.

    Attributes:
        id: of the record, made from what it says.
        since: partial date from which it holds; empty where that is not known.
        until: day on which it is known to hold no more, or None.
        first_said: day of its earliest evidence, None without any.
        last_said: day of its latest evidence, likewise.
        evidence: ids of the records whose evidence is its own.
    """

    id: str
    since: str = ""
    until: date | None = None
    first_said: date | None = None
    last_said: date | None = None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A version with the days on which it holds.

    Attributes:
        version: with the evidence of those that were merged into it.
        start: the first day; None where the only version is undated.
        end: the first day on which it holds no more; None of one that holds still.
    """

    version: Version
    start: date | None
    end: date | None

    def contains(self, day: date) -> bool:
        """Whether it holds on that day; an undated one holds from when it was first said."""
        start = self.start or self.version.first_said
        return (start is None or start <= day) and (self.end is None or day < self.end)


def normalised(versions: Iterable[Version]) -> tuple[Interval, ...]:
    """The versions of one statement as intervals that follow each other; whatever the order they come in.

    A version holds until the next one does. Of those that begin on one day the one that was said last stays, with the evidence of all.
    An undated one counts from its earliest evidence where there are others.

    Returns:
        Half-open intervals in order of time; the last is current, unless its own end is known.

    Source:
        AtomMem, section 3.3 (temporal profiles) and released code.  Deviation: "later" is what was said later, not what was read later; an undated version
        counts from its evidence instead of being dropped, and only where it has none does its evidence go to the current one.
    """
    given = list(versions)
    dated: dict[date, list[Version]] = {}
    lost: list[Version] = []
    for version in given:
        start = _start(version, among=len(given))
        if start is None:
            lost.append(version)
        else:
            dated.setdefault(start, []).append(version)
    if not dated:
        return (
            (Interval(version=(one := _merged(lost)), start=None, end=one.until),) if lost else ()
        )
    starts = sorted(dated)
    dated[starts[-1]] = [_merged(dated[starts[-1]], also=lost)]
    return tuple(
        _interval(_merged(dated[start]), start, later)
        for start, later in zip(starts, [*starts[1:], None], strict=True)
    )


def _start(version: Version, among: int) -> date | None:
    """The first day of the partial date, else of the evidence; a version that stands alone needs none."""
    span = span_of(version.since)
    if span is not None:
        return span.start.date()
    return version.first_said if among > 1 else None


def _interval(version: Version, start: date, later: date | None) -> Interval:
    ends = [end for end in (version.until, later) if end is not None and end > start]
    return Interval(version=version, start=start, end=min(ends, default=None))


def _merged(versions: Sequence[Version], also: Sequence[Version] = ()) -> Version:
    """The version that was said last with the evidence of all.

    Args:
        versions: of one day.
        also: those that only add their evidence.
    """
    last = max(versions, key=lambda one: (one.last_said or date.min, one.id))
    if len(versions) + len(also) == 1:
        return last
    every = sorted([*versions, *also], key=lambda one: (one.first_said or date.max, one.id))
    first = [one.first_said for one in every if one.first_said]
    return replace(
        last,
        first_said=min(first, default=None),
        evidence=tuple(dict.fromkeys(id_ for one in every for id_ in one.evidence)),
    )

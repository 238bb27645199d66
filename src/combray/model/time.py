"""Aware times, spans of time, and the clock that is passed in.

Inside Combray every time is an aware `datetime`. A naive time from a caller is read in the bank's declared
zone (`aware`), never in the machine's. Stored times are UTC text of fixed width, so that they sort as text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from combray.errors import ConfigError, InvalidInput

Clock = Callable[[], datetime]
"""Gives the current aware time; passed in so that tests decide what now is."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MINUTE = timedelta(minutes=1)


def utc_now() -> datetime:
    """The machine's clock, in UTC."""
    return datetime.now(UTC)


EXAMPLES = "2024-06-01, 2024-06-01T18:30 or 2024-06-01T18:30+02:00"
"""Times as they may be written, for messages."""


def zone(name: str) -> tzinfo:
    """The time zone of that IANA name.

    Raises:
        ConfigError: no zone has that name.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{name!r} is not a time zone; use an IANA name such as 'UTC' or 'Europe/Paris'."
        ) from error


def read_time(value: object) -> datetime:
    """The time that a caller means; naive where the caller named no zone.

    Args:
        value: a datetime, a date (its midnight), or ISO 8601 text (a date alone is its midnight).

    Raises:
        InvalidInput: it is something else, such as a number: seconds since when, in which unit?
    """
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time.min)
    if not isinstance(value, str):
        raise InvalidInput(
            f"{value!r} is not a time: give a datetime, a date, or text such as {EXAMPLES}; "
            "seconds since 1970 become one by datetime.fromtimestamp(seconds, UTC)."
        )
    try:
        return datetime.fromisoformat(value.strip())
    except ValueError as error:
        raise InvalidInput(
            f"{value!r} is not an ISO 8601 time; write it like {EXAMPLES}."
        ) from error


def aware(value: datetime | date | str, default: tzinfo) -> datetime:
    """The time as an aware one: a naive time is read in `default`.

    An offset with seconds, as places had before time zones, is rounded to minutes, so that day and clock stay as given; a
    stored time knows its offset in whole minutes.

    Args:
        value: see `read_time`.
        default: the zone of naive values: the bank's.

    Raises:
        InvalidInput: it is not a time.
    """
    read = read_time(value)
    if read.tzinfo is None or read.utcoffset() is None:
        read = read.replace(tzinfo=default)
    try:
        offset = read.utcoffset() or timedelta()
        if offset % _MINUTE:
            read = read.replace(tzinfo=timezone(round(offset / _MINUTE) * _MINUTE))
        read.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise InvalidInput(f"{read!r} is outside the years 1 to 9999 in UTC.") from error
    return read


def to_stored(value: datetime) -> str:
    """UTC text of fixed width (microseconds), which sorts as the times do.

    >>> to_stored(datetime(2023, 5, 8, 13, 56, tzinfo=UTC))
    '2023-05-08T13:56:00.000000Z'
    """
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def from_stored(text: str, offset: int = 0) -> datetime:
    """The time behind `to_stored`, in the offset (minutes east of UTC) it was given with."""
    utc = datetime.fromisoformat(text)
    return utc.astimezone(timezone(timedelta(minutes=offset))) if offset else utc


def offset_of(value: datetime) -> int:
    """Minutes east of UTC, rounded down to whole minutes."""
    offset = value.utcoffset()
    return int(offset.total_seconds() // 60) if offset else 0


def to_micros(value: datetime) -> int:
    """Whole microseconds since 1970 in UTC; exact, negative before 1970."""
    return (value - _EPOCH) // _MICROSECOND


class Granularity(StrEnum):
    """How precise a span is, from the finest to the coarsest."""

    MINUTE = "minute"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    SEASON = "season"
    YEAR = "year"
    RANGE = "range"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSpan:
    """A half-open stretch of time ``[start, end)`` that an expression speaks of.

    Attributes:
        start: aware, included.
        end: aware, excluded.
        granularity: how precise the expression was.
        text: the expression as written.
        explicit: whether it names month and year itself (EdgeMem's guarded gate), rather than
            being relative to the time it was said.
        year_assumed: whether it names a month, a day of one or a holiday without a year, which was taken to be the
            last one before it was said.
    """

    start: datetime
    end: datetime
    granularity: Granularity
    text: str = ""
    explicit: bool = False
    year_assumed: bool = False

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise InvalidInput("a span's times must be aware.")
        if self.end <= self.start:
            raise InvalidInput("a span must end after it starts.")

    def overlaps(self, other: TimeSpan) -> bool:
        """Whether the two share at least one instant."""
        return self.start < other.end and other.start < self.end

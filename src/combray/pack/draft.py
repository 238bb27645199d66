"""A pack in the making: its lines, and what they cost."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from combray.model import Hit, Note, PackItem, Part, Turn
from combray.pack.budget import TokenCounter
from combray.pack.render import (
    CLOSE,
    OPEN,
    Place,
    arranged,
    date_line,
    latest_days,
    place,
    rendered,
    turn_line,
)


@dataclass(slots=True, kw_only=True)
class Line:
    """One line in the making.

    Attributes:
        turn: the evidence.
        part: a hit, or context.
        hit: the hit it is, or the one it stands beside.
        text: what is shown.
        clipped: whether that is only a part of the turn.
        repeats: other turns that say the same.
        days: the latest other days on which the same was said.
        also: those that are shown.
        n_tokens: of the line with its newline.
    """

    turn: Turn
    part: Part
    hit: Hit
    text: str
    clipped: bool = False
    repeats: list[Turn] = field(default_factory=list)
    days: tuple[date, ...] = ()
    also: tuple[date, ...] = ()
    n_tokens: int = 0


class Draft:
    """Lines by turn, with a running count of the tokens of the rendered whole.

    The count is the sum over the lines, each counted once with its newline and the widest number it may carry, plus
    date lines and fence. The whole is counted once more at the end, so the budget does not rest on the sum.
    """

    def __init__(self, budget_tokens: int, counter: TokenCounter, n_hits: int) -> None:
        """Start with an empty fence.

        Args:
            budget_tokens: most tokens of the rendered whole.
            counter: counts them.
            n_hits: as many hits, each with a neighbour on either side, may become lines.
        """
        self.budget_tokens = budget_tokens
        self.counter = counter
        self.lines: dict[str, Line] = {}
        self.n_tokens = counter.count(OPEN + "\n") + counter.count(CLOSE)
        self.widest_cite = 10 ** len(str(3 * n_hits)) - 1
        self._sessions: dict[str, list[tuple[Place, str]]] = {}
        self._heading_tokens: dict[str, int] = {}

    @property
    def room(self) -> int:
        """Tokens that are left."""
        return self.budget_tokens - self.n_tokens

    def reserve(self, n_tokens: int) -> None:
        """Keep so many tokens for what is not a line."""
        self.n_tokens += n_tokens

    def line_tokens(self, turn: Turn, text: str, also: Sequence[date] = ()) -> int:
        """What a line costs, without a date line."""
        return self.counter.count(turn_line(self.widest_cite, turn, text, also) + "\n")

    def heading_tokens(self, turn: Turn) -> int:
        """What the date lines cost that the turn would add."""
        here = date_line(turn)
        group = self._sessions.get(turn.session, [])
        index = bisect_left(group, (place(turn), here))
        before = group[index - 1][1] if index else None
        after = group[index][1] if index < len(group) else None
        cost = self._heading(here) if here != before else 0
        if after is not None:
            cost += self._heading(after) * ((after != here) - (after != before))
        return cost

    def add(self, line: Line) -> bool:
        """Add the line if it fits; its `n_tokens` must be set."""
        cost = line.n_tokens + self.heading_tokens(line.turn)
        if cost > self.room:
            return False
        self.n_tokens += cost
        self.lines[line.turn.id] = line
        here = (place(line.turn), date_line(line.turn))
        insort(self._sessions.setdefault(line.turn.session, []), here)
        return True

    def add_repeat(self, line: Line, turn: Turn) -> None:
        """Record that the turn says the same; its day is shown too while there is room."""
        line.repeats.append(turn)
        days = latest_days(line.turn, line.days, turn)
        if days == line.days:
            return
        line.days = days
        cost = self.line_tokens(line.turn, line.text, days)
        if cost - line.n_tokens <= self.room:
            self.n_tokens += cost - line.n_tokens
            line.n_tokens = cost
            line.also = days

    def drop_last(self) -> Line:
        """Take out the line that was added last."""
        line = self.lines.pop(next(reversed(self.lines)))
        self._sessions[line.turn.session].remove((place(line.turn), date_line(line.turn)))
        return line

    def ordered(self) -> list[Line]:
        """The lines in rendered order."""
        return [self.lines[turn.id] for turn in arranged(line.turn for line in self.lines.values())]

    def cites(self) -> Mapping[str, int]:
        """The number that each line carries, by the id of its turn."""
        return {line.turn.id: cite for cite, line in enumerate(self.ordered(), start=1)}

    def text(self, notes: Sequence[Note] = ()) -> str:
        """The rendered whole; empty without lines and notes."""
        lines = self.ordered()
        return rendered(lines, [line.also for line in lines], notes)

    def items(self) -> tuple[PackItem, ...]:
        """The lines as values, numbered as rendered."""
        return tuple(
            PackItem(
                cite=cite,
                turn=line.turn,
                part=line.part,
                hit=line.hit,
                text=line.text,
                clipped=line.clipped,
                repeats=tuple(turn.id for turn in line.repeats),
            )
            for cite, line in enumerate(self.ordered(), start=1)
        )

    def _heading(self, day: str) -> int:
        if day not in self._heading_tokens:
            self._heading_tokens[day] = self.counter.count(day + "\n")
        return self._heading_tokens[day]

"""Windows of a session: what one call reads."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from combray.methods.simple.params import SimpleParams
from combray.model import Turn
from combray.model.ids import content_hash

WINDOW = "window"
"""Kind of the units that compress a window; their subject is the session."""


@dataclass(frozen=True, slots=True)
class Window:
    """Turns that are read together.

    Attributes:
        before: the turns before them, with their document numbers.
        turns: with theirs, in order.
        texts: what is read of each: all of it, or a piece of a long one.
        part: counts the calls of a window that is too long for one, from 0.
    """

    before: tuple[tuple[int, Turn], ...]
    turns: tuple[tuple[int, Turn], ...]
    texts: tuple[str, ...]
    part: int

    @property
    def key(self) -> str:
        """What its unit is found by."""
        return content_hash("u1", WINDOW, *(turn.id for _, turn in self.turns), str(self.part))

    @property
    def docs(self) -> tuple[int, ...]:
        """All that is read, ascending."""
        return tuple(sorted({doc for doc, _ in (*self.before, *self.turns)}))


def windows(turns: Sequence[tuple[int, Turn]], params: SimpleParams) -> list[Window]:
    """The windows of a session, in order.

    They are cut by the turns' positions, which never change: a turn that is forgotten moves none of them.

    Args:
        turns: of one session with their document numbers, in order of position.
        params: see there.

    Source:
        SimpleMem, section 2.1: overlapping windows of fixed length.  Deviation: never across sessions; a last window that lies wholly in
        the one before is left out; one with very long turns is read in parts.
    """
    positions = [turn.position for _, turn in turns]
    found: list[Window] = []
    for start in range(0, positions[-1] + 1 if positions else 0, params.stride):
        if start and positions[-1] < start + params.overlap:
            break
        first, last = bisect_left(positions, start), bisect_left(positions, start + params.window)
        before = tuple(turns[max(0, first - params.history) : first])
        telling = [pair for pair in turns[first:last] if pair[1].text.strip() or pair[1].caption]
        found += _parts(before, telling, params.max_window_chars)
    return found


def _parts(
    before: tuple[tuple[int, Turn], ...], members: Sequence[tuple[int, Turn]], most: int
) -> Iterator[Window]:
    """The turns as windows of at most so many characters."""
    taken: list[tuple[tuple[int, Turn], str]] = []
    n_chars = part = 0
    for pair in members:
        for piece in pieces(pair[1].text, most):
            if taken and n_chars + len(piece) > most:
                yield _window(before, taken, part)
                taken, n_chars, part = [], 0, part + 1
            taken.append((pair, piece))
            n_chars += len(piece)
    if taken:
        yield _window(before, taken, part)


def _window(
    before: tuple[tuple[int, Turn], ...],
    taken: Sequence[tuple[tuple[int, Turn], str]],
    part: int,
) -> Window:
    return Window(before, tuple(pair for pair, _ in taken), tuple(text for _, text in taken), part)


def pieces(text: str, most: int) -> Iterator[str]:
    """The text in pieces of at most so many characters, cut after a line or a word where there is one.

    >>> list(pieces("one two three", 8)), list(pieces("", 8))
    (['one two ', 'three'], [''])
    """
    while len(text) > most:
        ends = (text.rfind(end, most // 2, most) + 1 for end in ("\n", " "))
        cut = next((end for end in ends if end), most)
        yield text[:cut]
        text = text[cut:]
    yield text

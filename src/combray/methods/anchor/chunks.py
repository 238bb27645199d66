"""Chunks: overlapping windows of turns inside a session, from which facts are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def windows(
    turns: Sequence[T], *, size: int, stride: int, contained: bool = False
) -> list[tuple[T, ...]]:
    """The windows of a session, in order.

    Args:
        turns: of one session, in order.
        size: turns in a window; the last may be shorter.
        stride: turns from the start of one to the start of the next, at most `size`.
        contained: whether a last window that lies wholly in the one before it counts too.

    >>> windows("abcde", size=3, stride=2)
    [('a', 'b', 'c'), ('c', 'd', 'e')]

    Source:
        AnchorMem, released code: three turns, one shared with the next window; never across sessions.
        Deviation: without `contained`, what would be paid for twice is left out.
    """
    return [
        tuple(turns[start : start + size])
        for start in range(0, len(turns), stride)
        if contained or not start or start - stride + size < len(turns)
    ]

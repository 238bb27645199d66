"""Chunks: overlapping windows of turns inside a session, from which facts are drawn."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TypeVar

from combray.model import Turn

T = TypeVar("T")

_BREAKS = re.compile("[\\x7f-\\x9f\\u2028\\u2029]")


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


def rendered(turns: Sequence[Turn]) -> str:
    """The turns as a model reads them: the time, then a line a turn, each text as a JSON string.

    A JSON string has no line breaks and no way out of its quotes, so no text can pass for another turn.

    Source:
        AnchorMem, released code: a date line, then ``<speaker> said, "<text>"`` with the caption of a shared image.
    """
    if not turns:
        return ""
    lines = [f"{turns[0].said_at:%Y-%m-%d %H:%M (%A)}"]
    for turn in turns:
        shared = f" and shared an image of {_quoted(turn.caption)}" if turn.caption else ""
        lines.append(f"{_quoted(turn.speaker)} said {_quoted(turn.text)}{shared}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False).replace("</", "<\\/")
    # JSON leaves these as they are, and a reader may take them for line breaks.
    return _BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)

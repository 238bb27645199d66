"""Turns and texts as a prompt quotes them: what was said stays inside its quotes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from combray.model import Turn

_BREAKS = re.compile("[\\x7f-\\x9f\\u2028\\u2029]")


def rendered(turns: Sequence[Turn]) -> str:
    """The turns as a model reads them: the time, then a line a turn, each text as a JSON string.

    A JSON string has no line breaks and no way out of its quotes, so no text can pass for another turn.
    """
    if not turns:
        return ""
    lines = [f"{turns[0].said_at:%Y-%m-%d %H:%M (%A)}"]
    for turn in turns:
        shared = f" and shared an image of {quoted(turn.caption)}" if turn.caption else ""
        lines.append(f"{quoted(turn.speaker)} said {quoted(turn.text)}{shared}")
    return "\n".join(lines)


def quoted(text: str) -> str:
    """The text as a JSON string on one line, without an end of a tag."""
    bare = json.dumps(text, ensure_ascii=False).replace("</", "<\\/")
    # JSON leaves these as they are, and a reader may take them for line breaks.
    return _BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", bare)


def numbered(turns: Sequence[Turn], *, first: int = 1) -> str:
    """As `rendered`, each turn with its number, and the time again where the day changes.

    Args:
        turns: in order.
        first: number of the first one.
    """
    lines: list[str] = []
    day = None
    for number, turn in enumerate(turns, start=first):
        if turn.said_at.date() != day:
            day = turn.said_at.date()
            lines.append(f"{turn.said_at:%Y-%m-%d %H:%M (%A)}")
        shared = f" and shared an image of {quoted(turn.caption)}" if turn.caption else ""
        lines.append(f"{number}. {quoted(turn.speaker)} said {quoted(turn.text)}{shared}")
    return "\n".join(lines)

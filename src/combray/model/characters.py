"""Characters that nobody sees: one list for names, for packs and for whoever compares text by eye."""

from __future__ import annotations

import re

UNSEEN = (
    "\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u200c-\u200f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0100-\U000e01ef"
)
"""What is blank to the eye, or nothing at all, and yet belongs to words of some script; between brackets of a pattern."""

HIDING = "\u00ad\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
"""What hides, breaks or turns text without being part of it.

Source: with `UNSEEN`, Unicode's Default_Ignorable_Code_Point, the braille blank and the interlinear marks.
"""

CONTROL = "\x00-\x1f\x7f-\x9f\u2028\u2029"
"""Controls, and the characters that end a line or a paragraph."""

_VISIBLE = re.compile(f"[^\\s{CONTROL}{UNSEEN}{HIDING}]")


def is_visible(text: str) -> bool:
    r"""Whether there is anything in the text to be seen.

    >>> is_visible("\u202e\u200b"), is_visible("Zoë")
    (False, True)
    """
    return _VISIBLE.search(text) is not None

"""Leaving out what a reasoning model thinks aloud before it replies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_OPENERS = ("<think>", "<thinking>")
_CLOSER = re.compile(r"</think(?:ing)?>")
_LONGEST_CLOSER = len("</thinking>")
# Some chat templates open the thoughts themselves, so that a reply only closes them. A reply that begins as JSON does not think:
# a closer in it is something that was said.
_UNOPENED = re.compile(r"\A(?!\s*(?:[\[{]|```)).*?</think(?:ing)?>", re.DOTALL)


def without_thinking(text: str) -> str:
    r"""The reply alone, stripped; nothing where the thoughts never end.

    >>> without_thinking("<think>What about [1]?</think>\n\n[2]")
    '[2]'
    >>> without_thinking("<think>What about [1]?")
    ''
    """
    return "".join(spoken([_UNOPENED.sub("", text, count=1)])).strip()


def spoken(pieces: Iterable[str]) -> Iterator[str]:
    r"""The pieces of a reply as they come, without thoughts before it and the white space around those.

    >>> list(spoken(["<thi", "nk>Hm", "m</think", ">\n", "Ye", "s."]))
    ['Ye', 's.']
    """
    held, thinking, speaking = "", False, False
    for piece in pieces:
        held += piece
        while not speaking:
            if thinking:
                if (end := _CLOSER.search(held)) is None:
                    held = held[-_LONGEST_CLOSER:]
                    break
                held, thinking = held[end.end() :], False
            held = held.lstrip()
            thinking = held.startswith(_OPENERS)
            if not thinking and any(opener.startswith(held) for opener in _OPENERS):
                break
            speaking = not thinking
        if speaking and held:
            yield held
            held = ""
    if held and not thinking:
        yield held

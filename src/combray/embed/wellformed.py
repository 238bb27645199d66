"""Text that every encoder accepts."""

from __future__ import annotations


def well_formed(text: str) -> str:
    r"""The text with halves of characters (lone surrogates) replaced by U+FFFD; paired halves are joined.

    >>> well_formed("caf\u00e9 \ud83d\ude00 \ud83d") == "caf\u00e9 \U0001f600 \ufffd"
    True
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

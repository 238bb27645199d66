"""Stems of words, and the words that name nothing."""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

import Stemmer

from combray.text.tokens import tokens

_SNOWBALL: Final = Stemmer.Stemmer("english", 0)
_LOCK: Final = threading.Lock()


@cache
def stop_words() -> frozenset[str]:
    """Function words, as the tokeniser writes them."""
    listed = files("combray.text").joinpath("data/stop_words.txt").read_text("utf-8")
    lines = (line for line in listed.splitlines() if not line.startswith("#"))
    return frozenset(word for line in lines for word in tokens(line))


@lru_cache(maxsize=1 << 16)
def stem(token: str) -> str:
    """The Snowball English stem of a token in Latin letters; any other token unchanged.

    >>> stem("paintings"), stem("qx4471"), stem("東京")
    ('paint', 'qx4471', '東京')
    """
    if not (token.isascii() and token.isalpha()):
        return token
    with _LOCK:  # PyStemmer's objects keep state between calls
        return str(_SNOWBALL.stemWord(token)) or token


@lru_cache(maxsize=1 << 16)
def keyword(token: str) -> str:
    """The hub key of a content word: its stem; empty for function words, numbers, signs and single letters."""
    if len(token) < 2 or not token[0].isalpha() or token in stop_words():
        return ""
    return stem(token) if not any(char.isdigit() for char in token) else ""

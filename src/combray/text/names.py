"""Which names mean the same person: "Mel" and "Melanie", "Ann" and "Ann Smith"; never two people of whom both are full names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from combray.text.tokens import tokens

SHORTEST = 3
"""Letters of a short form: two are the beginning of too many names."""


@lru_cache(maxsize=65_536)
def name_words(name: str) -> tuple[str, ...]:
    """The name's words as they are matched: lower case, accents folded.

    >>> name_words("Zoë  O'Hara")
    ('zoe', 'ohara')
    """
    return tuple(tokens(name))


def may_be_same(a: str, b: str) -> bool:
    """Whether one name may be a short form of the other.

    >>> may_be_same("Mel", "Melanie"), may_be_same("Ann", "Ann Smith"), may_be_same("Jo", "Joanna")
    (True, True, False)
    >>> may_be_same("Ann Smith", "Ann Miller"), may_be_same("Melanie", "Melissa")
    (False, False)
    """
    short, long = sorted((name_words(a), name_words(b)), key=lambda words: (len(words), words))
    if not short:
        return False
    if len(short) == len(long) == 1:
        return _begins(short[0], long[0]) or _begins(long[0], short[0])
    if short[1:] != long[1 : len(short)]:
        return False
    return _begins(short[0], long[0]) or (len(short) == len(long) and _begins(long[0], short[0]))


def _begins(short: str, long: str) -> bool:
    return short == long or (len(short) >= SHORTEST and long.startswith(short))


def people(names: Iterable[str]) -> dict[str, int]:
    """A number for each name, the same for all names of a person; numbers count from 0 in order of the names.

    A short form that fits several people who are not one is a person of its own: it does not tell which of them is meant.

    >>> people(["Melanie", "Mel", "Ann", "Ann Smith", "Ann Miller"])
    {'Melanie': 0, 'Mel': 0, 'Ann': 1, 'Ann Smith': 2, 'Ann Miller': 3}
    """
    given = list(dict.fromkeys(names))
    by_first: dict[str, list[str]] = {}
    for name in given:
        for word in name_words(name)[:1]:
            by_first.setdefault(word[:SHORTEST], []).append(name)
    meant = {name: _meant(name, by_first) for name in given}
    numbers: dict[str, int] = {}
    found: dict[str, int] = {}
    for name in given:
        found[name] = numbers.setdefault(_root(name, meant), len(numbers))
    return found


def _meant(name: str, by_first: Mapping[str, list[str]]) -> str:
    """The one longer name that this one is short for, or itself."""
    words = name_words(name)
    if not words:
        return name
    longer = [
        other
        for other in by_first[words[0][:SHORTEST]]
        if fullness(other) > fullness(name) and may_be_same(name, other)
    ]
    fullest = max(longer, key=fullness, default=name)
    # Those that it may be must be one person themselves.
    return fullest if all(may_be_same(other, fullest) for other in longer) else name


def fullness(name: str) -> tuple[int, int]:
    """Orders the names of a person, the fullest last: words, then letters."""
    words = name_words(name)
    return len(words), len("".join(words))


def _root(name: str, meant: Mapping[str, str]) -> str:
    while meant[name] != name:
        name = meant[name]
    return " ".join(name_words(name)) or name


def compatible(a: Collection[str], b: Collection[str]) -> bool:
    """Whether two groups may speak of the same people: one is empty, or a name of one may be a name of the other.

    >>> compatible(["Mel"], ["Melanie", "Ann"]), compatible([], ["Ann"]), compatible(["Bo"], ["Ann"])
    (True, True, False)
    """
    return not a or not b or any(may_be_same(one, other) for one in a for other in b)

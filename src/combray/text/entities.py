"""Named things by light rules: capitals, titles in quotes, acronyms, suffixes. No model.

Built for hubs (turns that share a rare name), so a missed name costs little (its words are keywords anyway) and a
sentence's first word taken for a name costs less. Texts without capitals (or in scripts without case) have no
mentions but those of known people.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files

from combray.model import Mention
from combray.text.lemmas import stop_words
from combray.text.tokens import bounded, fold_accents

_MAX_TITLE_WORDS = 8
_MAX_NAME_WORDS = 8
_MAX_SHOUTED_WORDS = 3

_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞĢĪİĶĹĻĽŁŃŅŇŐŒŔŘŚŞŠŤŪŮŰŹŻŽȘȚΑ-ΩЀ-Я"
_CAPITAL = re.compile(f"[{_UPPER}]")
_WORD = rf"[{_UPPER}](?:[^\W_]|[-'’.&](?=[^\W_]))*"
_JOIN = r"(?:[ \t]+(?:of|de|da|del|di|la|le|van|von|bin|al|the|&)){1,2}"
_ABBREVIATION = (
    r"(?:(?<=[ \t.][A-Z])|(?<=\bDr)|(?<=\bMr)|(?<=\bMs)|(?<=\bMrs)|(?<=\bSt)|(?<=\bMt)|(?<=\bJr))\."
)
_NAME = re.compile(
    rf"(?<![^\W_])(?<![-'’.@/]){_WORD}(?:(?:{_ABBREVIATION})?(?:[ \t]+|{_JOIN}[ \t]+){_WORD})*"
)
_QUOTED = re.compile(r"[\"“«]([^\"“”«»\n]{2,80})[\"”»]")
_WORDS = re.compile(r"[^\s]+")
_STARTS_SENTENCE = re.compile(
    r"(?:^|[.!?…:;\n\"“”«(\[*•>]|[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]|\s-)\s*$"
)
_POSSESSIVE = re.compile(r"['’]s?$")
_LEADING = re.compile(
    r"^(?:(?:the|a|an|this|that|these|those|my|your|his|her|its|our|their|some|any|\w+['’]s)\s+)+"
)
_SPACE = re.compile(r"\s+")


def find_mentions(text: str, people: Sequence[str] = ()) -> list[Mention]:
    """The named things of a text, in order, without overlaps.

    Args:
        text: any text.
        people: names known to be people; found in any case, labelled ``PERSON``.

    Returns:
        Mentions labelled ``PERSON``, ``ORG``, ``PLACE``, ``GROUP``, ``EVENT``, ``DATE`` (a bare month or weekday), or
        ``NAME`` where the rules do not know the kind.
    """
    found = _titles(text) if '"' in text or "“" in text or "«" in text else []
    known = people_key(people)
    if _CAPITAL.search(text):
        found += _names(text, known)
    if known:
        found += people_in(text, known)
    return _without_overlaps(found)


def entity_key(surface: str) -> str:
    """The hub key of a surface form: lower case, single spaces, no leading determiner or possessive.

    >>> entity_key("The  Golden Gate"), entity_key("Mel's Kitchen")
    ('golden gate', 'kitchen')
    """
    folded = fold_accents(_SPACE.sub(" ", surface.casefold()).strip(" .,;:!?"))
    bare = _LEADING.sub("", folded) or folded
    return bounded(_POSSESSIVE.sub("", bare))


@cache
def _words(kind: str) -> frozenset[str]:
    listed = json.loads(files("combray.text").joinpath("data/entities.json").read_text("utf-8"))
    return frozenset(listed[kind].split())


@cache
def _not_alone() -> frozenset[str]:
    """Words that are not a name when they stand alone at the beginning of a sentence, or anywhere."""
    return stop_words() | _words("openers") | _words("contractions")


@cache
def _never_last() -> frozenset[str]:
    return stop_words() | _words("contractions") | _words("connectors")


def people_key(people: Iterable[str]) -> frozenset[str]:
    """The known names, folded, so that they can be looked up and cached."""
    return frozenset(name.casefold() for name in people if name.strip())


@lru_cache(maxsize=256)
def _people_pattern(known: frozenset[str]) -> re.Pattern[str]:
    names = sorted(known, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", re.IGNORECASE)


def people_in(text: str, known: frozenset[str]) -> list[Mention]:
    """Mentions of the known people, in any case, in order."""
    return [
        Mention(text=match.group(), label="PERSON", start=match.start(), end=match.end())
        for match in _people_pattern(known).finditer(text)
    ]


def _titles(text: str) -> list[Mention]:
    return [
        Mention(text=match.group(1), label="NAME", start=match.start(1), end=match.end(1))
        for match in _QUOTED.finditer(text)
        if _CAPITAL.match(match.group(1)) and match.group(1).count(" ") < _MAX_TITLE_WORDS
    ]


def _names(text: str, known: frozenset[str]) -> list[Mention]:
    found = []
    for match in _NAME.finditer(text):
        start, words = _trimmed(text, match, known)
        if not words:
            continue
        end = words[-1].end()
        surface = text[start:end]
        bare = _POSSESSIVE.sub("", surface)
        label = _label([word.group() for word in words], known)
        found.append(Mention(text=bare, label=label, start=start, end=start + len(bare)))
    return found


def _trimmed(
    text: str, match: re.Match[str], known: frozenset[str]
) -> tuple[int, list[re.Match[str]]]:
    """The words of a capitalised stretch without what is capital for another reason."""
    words = list(_WORDS.finditer(text, match.start(), match.end()))
    if _shouted(words):
        return 0, []
    opens = bool(_STARTS_SENTENCE.search(text, max(0, match.start() - 8), match.start()))
    while words and _plain(words[0].group()) in _not_alone() and (opens or len(words) == 1):
        words = words[1:]
        opens = False
    while words and _plain(words[0].group()) in stop_words():
        words = words[1:]
    while words and _plain(words[-1].group()) in _never_last():
        words = words[:-1]
    if len(words) > _MAX_NAME_WORDS:
        return 0, []
    if len(words) == 1 and words[0].start() == match.start() and opens:
        words = words if _names_itself(text, words[0], known) else []
    return (words[0].start() if words else 0), words


def _plain(word: str) -> str:
    return _POSSESSIVE.sub("", word.casefold().replace("’", "'").rstrip("."))


def _shouted(words: Sequence[re.Match[str]]) -> bool:
    return len(words) > _MAX_SHOUTED_WORDS and all(word.group().isupper() for word in words)


def _names_itself(text: str, word: re.Match[str], known: frozenset[str]) -> bool:
    """Whether the one capitalised word that opens a sentence is a name all the same."""
    surface = word.group()
    plain = _plain(surface)
    if plain in known or plain in _words("DATE") or surface[1:].lower() != surface[1:]:
        return True
    if _POSSESSIVE.search(surface):
        return True
    following = _WORDS.match(text, word.end() + 1) if word.end() + 1 < len(text) else None
    return (
        bool(following)
        and text[word.end()] == " "
        and not plain.endswith("ing")
        and _plain(following.group()) in _words("verbs")  # type: ignore[union-attr]
    )


def _label(words: Sequence[str], known: frozenset[str]) -> str:
    plain = [_plain(word) for word in words]
    if plain[0] in known or plain[0] in _words("PERSON") or " ".join(plain) in known:
        return "PERSON"
    if len(plain) == 1:
        return next((kind for kind in ("DATE", "GROUP") if plain[0] in _words(kind)), "NAME")
    kinds = ("ORG", "PLACE", "EVENT")
    return next(
        (kind for kind in kinds if plain[-1] in _words(kind) or plain[0] in _words(kind)), "NAME"
    )


def _without_overlaps(found: list[Mention]) -> list[Mention]:
    """The longest of those that overlap, then the leftmost; in order."""
    kept: list[Mention] = []
    for mention in sorted(found, key=lambda m: (m.start, -(m.end - m.start), m.label != "PERSON")):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept

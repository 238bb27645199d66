"""Whether a text asks, and whether it asks for a set: by its wording, without a tagger."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from combray.model import Analysis
from combray.text.lemmas import stem
from combray.text.tokens import tokens

_MARK = re.compile(r"[?？؟][\s\"'”’»)\]\W]*$")
_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|have|has|had|can|could|will|would|should|shall|may|might)"
)
_SUBJECT = r"(?:i|you|we|they|he|she|it|there|this|that|these|those|anyone|any|the|my|your|his|her|our|their)"
_OPENS = re.compile(
    rf"\s*(?:(?:and|but|so|or|hey|hi|ok|okay|well|oh)[\s,]+)?(?:"
    rf"(?:who|whom|whose|what|which|where|when|why|how)(?:['’]s|['’]re|\s+(?:\w+\s+){{0,3}}?{_AUXILIARY}(?:n['’]t)?)\b"
    rf"|who\s+\w+(?:s|ed)\b|how\s+(?:many|much|long|often|old|far|come|about)\b|what\s+about\b"
    rf"|(?:{_AUXILIARY}(?:n['’]t)?)\s+{_SUBJECT}\b"
    rf"|(?:tell|remind)\s+me\s+(?:who|what|which|where|when|why|how|about)\b)",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"[.!…](?:\s+\S|$)|^\s*(?:when|where)\s+(?:i|we|you|he|she|they)\b", re.IGNORECASE
)

_ASKS_FOR_A_SET = re.compile(
    r"\b(?:list|name|enumerate|tell me)\s+(?:me\s+)?(?:all|every|the|some)\b"
    r"|\ball\s+(?:of\s+)?(?:the|of|his|her|their|my|your|our)\b"
    r"|\bhow\s+many\b|\b(?:what|which)\s+(?:are|were)\b"
    r"|\b(?:what|which)\s+(?:all|other\s+)?(?:kinds?|types?|sorts?)\s+of\b",
    re.IGNORECASE,
)
_WH_NOUN = re.compile(r"\b(?:what|which)\s+((?:[\w'’-]+\s+){0,4}[\w'’-]+)", re.IGNORECASE)
_ENDS_NOUN_PHRASE = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|might|may|of|in|on|at|for|to|from"
    r"|with|that|and|or|by|during|about|after|before)$|n['’]t$|['’]s$"
)
_PLURALS = frozenset(
    ["people", "children", "men", "women", "kids", "mice", "feet", "teeth", "series", "media"]
)
_SINGULAR_IN_S = re.compile(
    r"(?:ss|us|is|['’]s)$|^(?:news|always|james|thomas|christmas|this|tennis|as|yes|lens|plus)$"
)

_TELL_ME = re.compile(
    r"^\W*(?:(?:please|and|so|but|hey|hi|ok|okay|can|could|would|will|you)\W+){0,3}(?:tell|remind)\s+me\b",
    re.IGNORECASE,
)
_SAYING = re.compile(
    r"\b(?:say|says|said|saying|tell|tells|told|telling|talk(?:s|ed|ing)?|discuss(?:es|ed|ing|ion)?"
    r"|mention(?:s|ed|ing)?|chat(?:s|ted|ting)?|ask(?:s|ed|ing)?|speak(?:s|ing)?|spoken?|conversations?)\b",
    re.IGNORECASE,
)
_THIN = (
    "happen occur say said tell told talk discuss discussion mention chat ask speak spoke spoken conversation"
    " thing stuff event anything new news going topic subject remember recall remind"
)


def asks(text: str) -> bool:
    """Whether the text is a question: it ends with a question mark, or is one sentence that opens like one.

    >>> asks("Nice! What did you paint?"), asks("what did mel paint last week"), asks("What a day!")
    (True, True, False)
    """
    tail = text[-64:]
    if ("?" in tail or "？" in tail or "؟" in tail) and _MARK.search(tail):
        return True
    return bool(_OPENS.match(text)) and not _STATES.search(text)


def asks_for_a_set(text: str) -> bool:
    """Whether a question asks for several things ("which books", "how many", "list all").

    >>> asks_for_a_set("Which sports does Mira do?"), asks_for_a_set("When did she go?")
    (True, False)

    Source:
        EdgeMem, diversity floor of enumerative questions; the rule itself is not given there.
        Deviation: plural nouns by their ending where no tagger is at hand.
    """
    return has_set_cue(text) or any(
        _is_plural_phrase(match.group(1)) for match in _WH_NOUN.finditer(text)
    )


def has_set_cue(text: str) -> bool:
    """Whether the wording alone asks for a set ("how many", "what kinds of", "list all")."""
    return bool(_ASKS_FOR_A_SET.search(text))


def asks_what_was_said(text: str) -> bool:
    """Whether a question is about the saying itself rather than about what happened.

    >>> asks_what_was_said("What did I tell you on 14 June?"), asks_what_was_said("Tell me what Mel did in May")
    (True, False)
    """
    return bool(_SAYING.search(_TELL_ME.sub("", text)))


def time_terms(analysis: Analysis) -> frozenset[str]:
    """The terms of a question's resolved date expressions."""
    return frozenset(stem(word) for span in analysis.spans for word in tokens(span.text))


@cache
def thin_terms() -> frozenset[str]:
    """Terms that only say that something happened or was said."""
    return frozenset(map(stem, tokens(_THIN)))


def subject_terms(analysis: Analysis, names: Iterable[str] = ()) -> list[str]:
    """The distinct terms that say what a question asks about, besides who, when, and that something happened or was said.

    "What did we talk about last Friday?" has none.

    Args:
        analysis: of the question.
        names: terms of the names of those who speak.
    """
    left_out = time_terms(analysis) | thin_terms() | frozenset(names)
    return [term for term in dict.fromkeys(analysis.terms) if term not in left_out]


def _is_plural_phrase(phrase: str) -> bool:
    head = ""
    for word in phrase.lower().split():
        if _ENDS_NOUN_PHRASE.search(word):
            break
        head = word
    if head in _PLURALS:
        return True
    return len(head) > 2 and head.endswith("s") and not _SINGULAR_IN_S.search(head)

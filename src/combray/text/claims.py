"""What a statement commits itself to: names, numbers, negation and content words. Two that differ there do not say the same.

Nothing here understands a sentence. It is a veto: it can tell that one text claims what another does not, never that it is right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from combray.text.lemmas import stem, stop_words
from combray.text.tokens import tokens

_BELOW_TWENTY = (
    *(
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
    ),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(_BELOW_TWENTY)} | {
    word: str(number) for number, word in zip(range(20, 100, 10), _TENS, strict=True)
}
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|stopped|quit|refus(?:es?|ed)|declin(?:es?|ed)"
    r"|\w+n['’]t)\b",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"(?<![\w'’])[^\W\d_a-z][\w'’-]*")


@dataclass(frozen=True, slots=True)
class Claims:
    """What a text commits itself to.

    Attributes:
        words: stems of its content words.
        numbers: as digits.
        names: tokens of its capitalised words but stop words; the first word of a sentence may be none.
        negations: how often it says no.
    """

    words: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    negations: int

    def same_as(self, other: Claims) -> bool:
        """Whether both commit themselves to the same."""
        return self == other

    def within(self, other: Claims) -> bool:
        """Whether the other commits itself to all of it; negation must be the same."""
        return (
            self.numbers <= other.numbers
            and {stem(name) for name in self.names} <= other.words
            and self.words <= other.words
            and self.negations == other.negations
        )


def claims(text: str) -> Claims:
    """The claims of the text.

    >>> claims("Ann has two dogs.").same_as(claims("Ann has 2 dogs")), claims("Ann has 3 dogs").same_as(claims("Ann has 2 dogs"))
    (True, False)
    >>> claims("Ann doesn't like tea").same_as(claims("Ann likes tea"))
    False
    >>> claims("Ann likes tea").within(claims("Ann likes tea and cake"))
    True
    """
    found = [_NUMBER_WORDS.get(token, token) for token in tokens(text)]
    numbers = frozenset(
        _ORDINAL.sub(r"\1", token) for token in found if any(map(str.isdigit, token))
    )
    words = frozenset(
        stem(token) for token in found if token not in stop_words() or token in numbers
    )
    return Claims(words, numbers, _names(text), len(_NEGATION.findall(text)))


def _names(text: str) -> frozenset[str]:
    return frozenset(
        token
        for found in _CAPITALISED.findall(text)
        for token in tokens(found)
        if token not in stop_words()
    )


_WORD_OF_NUMBER_OR_PRONOUN = "one"
_OPENS = re.compile(r"(?:^|[.!?…:;\n\"“”«(\[*•>])\s*$")
_FORMED = re.compile(r"\w{2,}(?:ing|ed|ly)")
_NO_NO = re.compile(
    r"\b(?:(?:can|could)n['’]?t (?:wait|help|agree more|be (?:happier|more))|why not|not only|don['’]t forget|never know|no (?:doubt|problem|worries)"
    r"|not to mention|if not)\b",
    re.IGNORECASE,
)
"""Written with a no, and says none."""

_CLAUSE_END = re.compile(
    r"[.!?;:\n…。！？；]+|,\s|\s[-–—]\s|\b(?:but|while|although|though|because|whereas|however)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence.

    Attributes:
        words: stems of its content words.
        negated: whether it says no.
    """

    words: frozenset[str]
    negated: bool


def clauses(text: str) -> list[Clause]:
    """The clauses of the text that have content words or say no, in order.

    >>> [(sorted(c.words), c.negated) for c in clauses("Ann likes tea, but she doesn't like coffee.")]
    [(['ann', 'like', 'tea'], False), (['coffe', 'like'], True)]
    """
    found = []
    for part in _CLAUSE_END.split(_NO_NO.sub(" ", text)):
        negated = bool(_NEGATION.search(part))
        # A word that says no is no content.
        words = frozenset(
            stem(token) for token in tokens(_NEGATION.sub(" ", part)) if token not in stop_words()
        )
        if words or negated:
            found.append(Clause(words, negated))
    return found


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of the text as digits without leading zeros, and codes that hold digits; "one" may be a pronoun and is none.

    >>> sorted(numbers_in("one of 03 dogs, twenty cats, the 2nd, QX-4471"))
    ['2', '20', '3', '4471', 'qx4471']
    """
    found = (
        _NUMBER_WORDS.get(token, token)
        for token in tokens(text)
        if token != _WORD_OF_NUMBER_OR_PRONOUN
    )
    return frozenset(
        _ORDINAL.sub(r"\1", token).lstrip("0") or "0"
        for token in found
        if any(map(str.isdigit, token))
    )


def names_in(text: str) -> list[str]:
    """The words of the text that are written like names, in order; stop words are none.

    In a script without capitals nothing is. A word that opens a sentence and ends like a form of a word (-ing, -ed, -ly) is taken for that.

    >>> names_in("Painting relaxes Ann. Bob likes Rio, and so does東京.")
    ['Ann', 'Bob', 'Rio']
    """
    found = []
    for match in _CAPITALISED.finditer(text):
        word = match.group()
        if not word[0].isupper() or not any(token not in stop_words() for token in tokens(word)):
            continue
        opens = _OPENS.search(text, max(0, match.start() - 8), match.start())
        if not (opens and _FORMED.fullmatch(word) and word[1:].islower()):
            found.append(word)
    return list(dict.fromkeys(found))

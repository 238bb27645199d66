"""What a question is after: something lasting or something that happened, of whom, about what, and when."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from pydantic import BaseModel, Field

from combray import prompts
from combray.index.facts import FactView
from combray.index.vocabulary import Persons, stems
from combray.llm.base import LLM, Occasion, messages_of
from combray.methods.atom.keywords import normalised
from combray.model import Query, TimeSpan, span_of
from combray.model.turn import ROLE_NAMES
from combray.prompts.quoting import quoted
from combray.text.lemmas import stem, stop_words
from combray.text.names import may_be_same, name_words
from combray.text.tokens import tokens

PROMPT = "atom_intent"

_WORD = re.compile(r"[^\W\d_](?:[^\W_]|['’-](?=[^\W_]))*")
_LONGEST_KEYWORD = 4
_LONGEST_NAME = 4
_OWN = re.compile(r"I(?:['’]\w+)?")

_LASTING = (
    "job work occupation profession career employer live living home hometown house age old birthday born from"
    " origin nationality native married marriage single partner husband wife spouse relationship family parent mother"
    " father sibling brother sister child children kid son daughter pet dog cat health allergy allergic diet illness"
    " condition favourite favorite like love enjoy prefer preference hate dislike taste hobby hobbies interest interested"
    " passion passionate habit routine believe belief religion religious faith political politics value identity gender"
    " personality trait character describe considered would skill talent language speak play degree school study studies"
    " education dream goal ambition fear afraid own collect name"
)
_EVENTFUL = re.compile(
    r"^\W*(?:when|how\s+long\s+ago|on\s+what|what\s+(?:date|day|time|happened)|which\s+(?:date|day))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a question is after.

    Attributes:
        attribute: whether it asks for something lasting of a person, which a profile tells.
        people: names of those it is about.
        keywords: what it is about, as facts have keywords.
        times: it is about.
    """

    attribute: bool = False
    people: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    times: tuple[TimeSpan, ...] = ()


class IntentReply(BaseModel):
    """What a model replies about a question."""

    attribute: bool = False
    people: list[str] = Field(default_factory=list)
    keywords: list[str] = Field(default_factory=list)
    times: list[str] | str | None = None


def ask_intent(query: Query, llm: LLM, occasion: Occasion, max_keywords: int) -> Intent:
    """What the question is after, by a model; what it names must have a hold in the question.

    Raises:
        CombrayError: the call failed.

    Source:
        AtomMem, section 3.4 (query intent).  Deviation: names that are not in the question, and times where it names none, are left out.
    """
    messages = prompts.load(PROMPT).messages(
        date=f"{query.now:%Y-%m-%d (%A)}", question=quoted(query.text)
    )
    reply: IntentReply = llm.complete(messages_of(messages), IntentReply, occasion=occasion).parsed
    words = tokens(query.text)
    people = dict.fromkeys(name.strip() for name in reply.people)
    named = tuple(name for name in people if _is_in(name, words))
    given = [reply.times] if isinstance(reply.times, str) else reply.times or []
    return Intent(
        attribute=reply.attribute,
        people=named,
        keywords=normalised(reply.keywords, max_keywords, leave_out=named),
        times=tuple(_times(given, query)),
    )


def _is_in(name: str, words: Iterable[str]) -> bool:
    own = set(name_words(name))
    return any(word in own or may_be_same(word, name) for word in words if word not in stop_words())


def _times(given: Iterable[str], query: Query) -> Iterator[TimeSpan]:
    """The partial dates, in the zone of the query; none where the question speaks of no time at all."""
    if not query.analysis.spans and not re.search(r"\d", query.text):
        return
    zone = query.now.tzinfo
    for text in dict.fromkeys(given):
        span = span_of(text.strip())
        if span is not None:
            yield replace(
                span, start=span.start.replace(tzinfo=zone), end=span.end.replace(tzinfo=zone)
            )


def local_intent(query: Query, view: FactView, max_keywords: int) -> Intent:
    """What the question is after, by its wording and by what the bank knows.

    Source:
        Deviation from AtomMem, which takes the first five words for keywords where no model replies.
    """
    timed = {word for span in query.analysis.spans for word in tokens(span.text)}
    people = tuple(people_in(query.text, view.persons, timed))
    names = {word for name in people for word in name_words(name)}
    names |= {word for word in tokens(query.text) if any(may_be_same(word, n) for n in people)}
    return Intent(
        attribute=asks_for_an_attribute(query.text),
        people=people,
        keywords=tuple(_keywords_in(query.text, view, names | timed))[:max_keywords],
        times=query.analysis.spans,
    )


def asks_for_an_attribute(text: str) -> bool:
    """Whether a question asks for something lasting of a person, by its words.

    >>> asks_for_an_attribute("Where does Mel live?"), asks_for_an_attribute("When did Mel move house?")
    (True, False)
    """
    return not _EVENTFUL.search(text) and any(stem(word) in _lasting() for word in tokens(text))


@cache
def _lasting() -> frozenset[str]:
    return frozenset(map(stem, _LASTING.split()))


def people_in(text: str, persons: Persons, left_out: Collection[str] = ()) -> Iterator[str]:
    """A name of each person that the text names, in order: by a whole name, else by the beginning of one.

    Where the text has capitals beyond its first word, only words that begin with one are names.

    Args:
        text: a question.
        persons: of the bank.
        left_out: words that are none, such as "may" in a date.
    """
    words = [match[0] for match in _WORD.finditer(text)]
    capital = [word[0].isupper() and not _OWN.fullmatch(word) for word in words]
    read = [tokens(word) for word in words]
    seen: set[int] = set()
    for i in range(len(words)):
        here = [token for word in read[i : i + _LONGEST_NAME] for token in word]
        no_name = here[:1] == [] or here[0] in left_out
        function_word = not no_name and here[0] in stop_words() and not (capital[i] and i)
        if no_name or function_word or (any(capital[1:]) and not capital[i]):
            continue
        for name in _named_by(here, persons):
            if persons.numbers[name] not in seen:
                seen.add(persons.numbers[name])
                yield name


def _named_by(words: list[str], persons: Persons) -> list[str]:
    """Names of the people that may be meant by the words, from the first on."""
    alike = [n for n in persons.beginning_like(words[0]) if n.lower() not in ROLE_NAMES]
    whole = [name for name in alike if list(name_words(name)) == words[: len(name_words(name))]]
    if whole:
        longest = max(len(name_words(name)) for name in whole)
        return [name for name in whole if len(name_words(name)) == longest]
    return [name for name in alike if may_be_same(words[0], name)]


def _keywords_in(text: str, view: FactView, left_out: set[str]) -> Iterator[str]:
    """The bank's keywords that the question has, in order, the longest at each word."""
    words = tokens(text)
    skipped = stop_words() | left_out
    i, given = 0, set[str]()
    while i < len(words):
        found, n = _keyword_at(words, i, view, skipped)
        yield from (keyword for keyword in found if keyword not in given)
        given.update(found)
        i += n


def _keyword_at(
    words: list[str], i: int, view: FactView, skipped: Collection[str]
) -> tuple[tuple[str, ...], int]:
    """Keywords at that word, and how many words they take."""
    for n in range(min(_LONGEST_KEYWORD, len(words) - i), 0, -1):
        run = words[i : i + n]
        found = view.words.by_stems.get(stems(run), ())
        if found and not (n == 1 and run[0] in skipped):
            return found, n
    return (), 1

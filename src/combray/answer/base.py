"""What an answer is, and when it is a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from combray.errors import InvalidInput
from combray.model import PackItem, Recall
from combray.model.hit import Note

REFUSAL = "Not mentioned in the conversation."
"""What a refusal says, word for word.

Source:
    EdgeMem, the exact refusal of its reader.
"""


class Refusals(StrEnum):
    """When the reader may decline.

    ALLOWED: it says `REFUSAL` where the evidence does not answer the question (EdgeMem).
    NEVER: it always gives its best guess (AnchorMem, which has no such rule).
    """

    ALLOWED = "allowed"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerParams:
    """How a question is answered.

    Attributes:
        refusals: see `Refusals`.
        max_tokens: most tokens that the model may write.
        dates: tell the model what the relative times in the evidence resolve to.
    """

    refusals: Refusals = Refusals.ALLOWED
    max_tokens: int = 256
    dates: bool = True

    def __post_init__(self) -> None:
        if self.max_tokens < 8:
            raise InvalidInput(f"max_tokens is {self.max_tokens}; an answer needs at least 8.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A line of the pack that the answer rests on.

    Attributes:
        cite: its number in the pack, ``3``, or of a note, ``n1``.
        source: the line.
    """

    cite: str
    source: PackItem | Note

    @property
    def id(self) -> str:
        """Of the turn or the record."""
        return self.source.turn.id if isinstance(self.source, PackItem) else self.source.record.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A short answer with its evidence.

    Attributes:
        question: as asked.
        text: the answer without citation marks, or `REFUSAL`.
        citations: in the order in which the answer names them, without repeats.
        refused: whether the answer is that there is none.
        reason: why it refused: the recall's reason, or that the evidence does not say; empty otherwise.
        unknown_cites: numbers that the model made up; no line of the pack has them.
        recall: the evidence it was made from.
        model: name of the model, empty where none was asked.
        prompt: hash of the prompt.
        prompt_tokens: read by the model.
        completion_tokens: written by it.
        latency_ms: of the call.
    """

    question: str
    text: str
    citations: tuple[Citation, ...]
    refused: bool
    reason: str
    unknown_cites: tuple[str, ...]
    recall: Recall
    model: str = ""
    prompt: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_ms: float = 0.0

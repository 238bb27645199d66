"""A question over a context: a short answer that cites its evidence, or a refusal."""

from combray.answer.base import REFUSAL, Answer, AnswerParams, Citation, Refusals
from combray.answer.reader import Reader

__all__ = ["REFUSAL", "Answer", "AnswerParams", "Citation", "Reader", "Refusals"]

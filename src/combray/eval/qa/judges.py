"""Two judges of answers, strict and lenient, asked through any language model.

A judge says correct or wrong. Where it says neither, or the model fails, it is asked again, and then the verdict is
*failed*: a label of its own, never a wrong answer and never a question less.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, field_validator

from combray.errors import ConfigError, ExtractionError, InvalidInput, ProviderError, Unauthorised
from combray.llm.base import LLM, Message, Occasion, messages_of
from combray.prompts import Prompt, load

JUDGES = ("strict", "lenient")
"""Names of the judges; each has its prompt."""

PHASE = "judge"
"""How the ledger names the judges' calls."""


class Label(StrEnum):
    """What a judge found."""

    CORRECT = "correct"
    WRONG = "wrong"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judge's word on one answer.

    Attributes:
        label: what it found.
        reason: why, in the model's words.
        tries: how often it was asked.
        error: code and message of the last failure; empty unless the label is *failed*.
        raw: what the model said that could not be read; empty unless it did.
    """

    label: Label
    reason: str = ""
    tries: int = 1
    error: str = ""
    raw: str = ""


class Judgement(BaseModel):
    """What the model is asked to reply with; the reason first, so that the label follows from it."""

    model_config = ConfigDict(extra="ignore")

    reason: str = ""
    label: Literal["CORRECT", "WRONG"]

    @field_validator("label", mode="before")
    @classmethod
    def _known_word(cls, value: object) -> object:
        found = _label_of_word(value) if isinstance(value, str | bool) else None
        return value if found is None else found.name


@dataclass(frozen=True, kw_only=True)
class Judge:
    """Asks a model whether an answer is right.

    Attributes:
        name: ``strict`` or ``lenient``, which is also its prompt.
        llm: the model.
        tries: how often it is asked before the verdict is *failed*, at least 1.
        max_tokens: most tokens that the model may write.

    Source:
        Strict: EdgeMem's SJ, which credits a reply that holds the whole reference or an equivalent. Lenient: the rubric
        of the Mem0 lineage that AnchorMem, AtomMem and EdgeMem's LJ use.  Deviation: our own words; failures are kept
        apart, where AnchorMem counts them as wrong and AtomMem leaves them out.
    """

    name: str
    llm: LLM
    tries: int = 3
    max_tokens: int = 256

    def __post_init__(self) -> None:
        if self.name not in JUDGES:
            raise ConfigError(f"no judge {self.name!r} (there are: {', '.join(JUDGES)}).")
        if self.tries < 1:
            raise InvalidInput(f"tries must be at least 1, not {self.tries}.")

    @cached_property
    def prompt(self) -> Prompt:
        """The judge's rules."""
        return load(f"judge_{self.name}")

    @property
    def identity(self) -> dict[str, Any]:
        """What its verdicts depend on: model and hash of the prompt."""
        return {"model": self.llm.name, "prompt": self.prompt.hash}

    def __call__(
        self, question: str, gold: str, answer: str, occasion: Occasion | None = None
    ) -> Verdict:
        """The verdict on an answer.

        Args:
            question: as asked.
            gold: the reference answer.
            answer: what is judged.
            occasion: told of every call.

        Raises:
            Unauthorised: the provider refuses the key, which no retry mends.
        """
        messages = messages_of(self.prompt.messages(question=question, gold=gold, answer=answer))
        occasion = replace(occasion or Occasion(), phase=PHASE, method=self.name)
        verdict = self._once(messages, occasion, 1)
        for number in range(2, self.tries + 1):
            if verdict.label is not Label.FAILED:
                break
            # Without the cache: it would give the same unreadable reply again.
            verdict = self._once(messages, replace(occasion, replies=None), number)
        return verdict

    def _once(self, messages: list[Message], occasion: Occasion, number: int) -> Verdict:
        try:
            completion = self.llm.complete(
                messages, Judgement, max_tokens=self.max_tokens, occasion=occasion
            )
        except Unauthorised:
            raise
        except ExtractionError as error:
            return _read(error.raw, number, f"{error.code}: {error}")
        except ProviderError as error:
            return Verdict(label=Label.FAILED, tries=number, error=f"{error.code}: {error}")
        found = completion.parsed
        if found is None:
            return _read(completion.text, number, "extraction: the reply holds no label")
        return Verdict(label=Label[found.label], reason=found.reason, tries=number)


def judge(name: str, llm: LLM) -> Judge:
    """The judge of that name.

    Raises:
        ConfigError: there is none; lists them.
    """
    return Judge(name=name, llm=llm)


def read_label(text: str) -> Label | None:
    """The label in a model's reply, however it is wrapped; None where it holds none, or both.

    A JSON object counts first, in a fence or in prose; then ``[[yes]]`` and ``[[no]]``; then the words themselves, when
    all that are there agree.

    >>> read_label('Sure! {"label": "correct"}'), read_label("That is incorrect."), read_label("CORRECT or WRONG?")
    (<Label.CORRECT: 'correct'>, <Label.WRONG: 'wrong'>, None)
    """
    text = _THINKING.sub("", text)
    for pattern in (_JSON_LABEL, _BRACKETS):
        found = {_label_of_word(word) for word in pattern.findall(text)}
        if found:
            return found.pop() if len(found) == 1 else None
    negated = _WRONG_WORDS.findall(text)
    affirmed = _CORRECT_WORD.findall(_WRONG_WORDS.sub("", text))
    if bool(negated) == bool(affirmed):
        return None
    return Label.WRONG if negated else Label.CORRECT


_THINKING = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL | re.IGNORECASE)
_JSON_LABEL = re.compile(r"""["']label["']\s*:\s*["']?\s*([A-Za-z]+)""", re.IGNORECASE)
_BRACKETS = re.compile(r"\[\[\s*(yes|no)\s*\]\]", re.IGNORECASE)
_WRONG_WORDS = re.compile(r"\b(?:not\s+correct|incorrect|wrong)\b", re.IGNORECASE)
_CORRECT_WORD = re.compile(r"\bcorrect\b", re.IGNORECASE)
_WORDS = {
    "correct": Label.CORRECT,
    "yes": Label.CORRECT,
    "true": Label.CORRECT,
    "wrong": Label.WRONG,
    "incorrect": Label.WRONG,
    "no": Label.WRONG,
    "false": Label.WRONG,
}


def _label_of_word(word: str | bool) -> Label | None:
    return _WORDS.get(str(word).strip().casefold())


def _read(text: str, number: int, error: str) -> Verdict:
    label = read_label(text)
    if label is None:
        return Verdict(label=Label.FAILED, tries=number, error=error, raw=text)
    return Verdict(label=label, reason=_reason(text), tries=number, raw=text)


def _reason(text: str) -> str:
    found = _JSON_REASON.search(text)
    return json.loads(f'"{found[1]}"', strict=False) if found else ""


_JSON_REASON = re.compile(r'"reason"\s*:\s*"((?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*)"')

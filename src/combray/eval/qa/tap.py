"""Hearing of the calls that a bank makes to its model, while one question is answered.

A bank keeps its own ledger. A run needs the calls of each question, failed ones too, so it gives the memory a model that
tells both: `Tapped(llm)`, and around each question ``with tapped(occasion.record)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from combray.llm.base import LLM, Completion, Message, Occasion, unrecorded
from combray.model import Call

if TYPE_CHECKING:
    from pydantic import BaseModel

Record = Callable[[Call], None]

# Of the context, so that questions under way in several threads do not hear each other's calls.
_listener: ContextVar[Record] = ContextVar("listener", default=unrecorded)


@contextmanager
def tapped(record: Record) -> Iterator[None]:
    """Tell `record` of every call that a `Tapped` model gets from this thread meanwhile."""
    token = _listener.set(record)
    try:
        yield
    finally:
        _listener.reset(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tapped:
    """A model that tells of its calls once more.

    Attributes:
        llm: the model itself.
    """

    llm: LLM

    @property
    def name(self) -> str:
        """Of the model itself."""
        return self.llm.name

    def complete(
        self,
        messages: Sequence[Message],
        schema: type[BaseModel] | None = None,
        *,
        max_tokens: int | None = None,
        occasion: Occasion | None = None,
    ) -> Completion:
        """The model's reply; see `LLM.complete`."""
        return self.llm.complete(
            messages, schema, max_tokens=max_tokens, occasion=_overheard(occasion)
        )

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        occasion: Occasion | None = None,
    ) -> Iterator[str]:
        """The model's reply piece by piece; see `LLM.stream`."""
        return self.llm.stream(messages, max_tokens=max_tokens, occasion=_overheard(occasion))


def _overheard(occasion: Occasion | None) -> Occasion:
    own, listener = occasion or Occasion(), _listener.get()

    def both(call: Call) -> None:
        own.record(call)
        listener(call)

    return replace(own, record=both)

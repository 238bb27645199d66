"""What all language models share: reading structured replies, one repair round, the cache and the ledger."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any

from combray.errors import CombrayError, ExtractionError
from combray.llm.base import Call, Completion, Message, Occasion, Outcome, Usage

if TYPE_CHECKING:
    from pydantic import BaseModel

DEFAULT_MAX_TOKENS = 2048
"""What a structured reply may take; a reply that breaks off may take twice as much in its second round."""

_SHOWN = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one request brought.

    Attributes:
        text: the reply, thinking left out.
        usage: of it.
        model: as the provider names it.
        finish: why it ended.
        attempts: requests that the client made.
        latency_ms: of the last of them and the waits between.
    """

    text: str
    usage: Usage
    model: str = ""
    finish: str = "stop"
    attempts: int = 1
    latency_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request.

    Attributes:
        messages: the chat.
        schema: JSON schema of the reply, or None for plain text.
        schema_name: what the schema is called.
        max_tokens: most tokens to write, or None.
    """

    messages: Sequence[Message]
    schema: Mapping[str, Any] | None = None
    schema_name: str = ""
    max_tokens: int | None = None


class Chat(ABC):
    """An `LLM` over single requests, which is all that a subclass adds."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """Of the model."""
        return self._name

    @property
    def settings(self) -> Mapping[str, object]:
        """What else the replies depend on; part of the key under which they are cached."""
        return {}

    @abstractmethod
    def request(self, ask: Ask) -> Reply:
        """Make one request; retries of transport are its own business."""

    def pieces(self, ask: Ask) -> Iterator[str]:
        """The reply piece by piece; all at once where a model cannot stream."""
        yield self.request(ask).text

    def complete(
        self,
        messages: Sequence[Message],
        schema: type[BaseModel] | None = None,
        *,
        max_tokens: int | None = None,
        occasion: Occasion | None = None,
    ) -> Completion:
        """See `LLM.complete`."""
        occasion = occasion or Occasion()
        ask = _ask(messages, schema, max_tokens)
        key = self._key(ask) if occasion.replies is not None else ""
        cached = self._cached(key, schema, occasion)
        if cached is not None:
            return cached
        found = self._complete(ask, schema, occasion)
        if occasion.replies is not None:
            occasion.replies.put(key, _to_value(found))
        return found

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        occasion: Occasion | None = None,
    ) -> Iterator[str]:
        """See `LLM.stream`."""
        occasion = occasion or Occasion()
        ask = _ask(messages, None, max_tokens)
        written: list[str] = []
        at, start, outcome = occasion.clock(), perf_counter(), str(Outcome.OK)
        try:
            for piece in self.pieces(ask):
                written.append(piece)
                yield piece
        except CombrayError as error:
            outcome = error.code
            raise
        finally:
            usage = estimated(ask, "".join(written))
            took = (perf_counter() - start) * 1000
            occasion.record(self._call(occasion, at, usage, outcome, latency_ms=took))

    def _complete(self, ask: Ask, schema: type[BaseModel] | None, occasion: Occasion) -> Completion:
        if schema is None:
            reply = self._asked(ask, occasion, retry=0, read=None)[0]
            return _completion([reply], None, truncated=reply.finish == "length")
        from combray.llm.structured import Parsed, Unreadable, parse

        def read(text: str) -> Parsed | Unreadable:
            try:
                return parse(text, schema)
            except Unreadable as error:
                return error

        first, found = self._asked(ask, occasion, retry=0, read=read)
        if isinstance(found, Parsed) and not found.truncated:
            return _completion([first], found.value, truncated=False)
        second, again = self._asked(_again(ask, first, found), occasion, retry=1, read=read)
        kept = again if isinstance(again, Parsed) else found
        if not isinstance(kept, Parsed):
            raise ExtractionError(
                f"{self.name} did not reply with what was asked for, not even when told what was wrong: {again}. "
                "Try again, or use a model that follows a schema.",
                raw=second.text or first.text,
            )
        replies = [first, second] if kept is again else [second, first]
        return _completion(replies, kept.value, truncated=kept.truncated)

    def _asked(self, ask: Ask, occasion: Occasion, *, retry: int, read: Any) -> tuple[Reply, Any]:  # noqa: ANN401
        """One request with its row in the ledger, and the reply as read."""
        at = occasion.clock()
        start = perf_counter()
        try:
            reply = self.request(ask)
        except CombrayError as error:
            took = (perf_counter() - start) * 1000
            occasion.record(
                self._call(occasion, at, Usage(), error.code, latency_ms=took, retry=retry)
            )
            raise
        found = read(reply.text) if read is not None else None
        occasion.record(
            self._call(
                occasion,
                at,
                reply.usage,
                _outcome(reply, found),
                latency_ms=reply.latency_ms,
                retry=retry,
                attempts=reply.attempts,
            )
        )
        return reply, found

    def _call(
        self,
        occasion: Occasion,
        at: datetime,
        usage: Usage,
        outcome: str,
        **more: Any,  # noqa: ANN401
    ) -> Call:
        return Call(
            at=at,
            run=occasion.run,
            phase=occasion.phase,
            method=occasion.method,
            model=self.name,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            outcome=outcome,
            **more,
        )

    def _key(self, ask: Ask) -> str:
        """A hash of everything that the reply depends on."""
        canonical = json.dumps(
            {"model": self.name, "settings": dict(self.settings), "ask": asdict(ask)},
            sort_keys=True,
            ensure_ascii=True,
        )
        return hashlib.sha256(canonical.encode()).hexdigest()

    def _cached(
        self, key: str, schema: type[BaseModel] | None, occasion: Occasion
    ) -> Completion | None:
        value = occasion.replies.get(key) if occasion.replies is not None else None
        if value is None:
            return None
        found = _from_value(value)
        if schema is not None:
            from combray.llm.structured import parse

            found = replace(found, parsed=parse(found.text, schema).value)
        call = self._call(occasion, occasion.clock(), Usage(), Outcome.OK, cached=True, attempts=0)
        occasion.record(call)
        return found


def estimated(ask: Ask, written: str) -> Usage:
    """Four characters a token, where a provider does not count."""
    read = sum(len(message.content) for message in ask.messages)
    return Usage(
        prompt_tokens=-(-read // 4), completion_tokens=-(-len(written) // 4), counted_by="estimate"
    )


def _ask(
    messages: Sequence[Message], schema: type[BaseModel] | None, max_tokens: int | None
) -> Ask:
    if schema is None:
        return Ask(messages=tuple(messages), max_tokens=max_tokens)
    return Ask(
        messages=tuple(messages),
        schema=schema.model_json_schema(),
        schema_name=schema.__name__,
        max_tokens=max_tokens or DEFAULT_MAX_TOKENS,
    )


def _again(ask: Ask, reply: Reply, found: object) -> Ask:
    """The second round: more room for a reply that broke off, else the reply with what is wrong with it."""
    if reply.finish == "length" or not isinstance(found, Exception):
        return replace(ask, max_tokens=2 * (ask.max_tokens or DEFAULT_MAX_TOKENS))
    wrong = (
        f"That is not what was asked for: {found}. "
        "Reply again with the JSON alone, in the form that was asked for."
    )
    return replace(
        ask,
        messages=(
            *ask.messages,
            Message(role="assistant", content=reply.text[:_SHOWN] or "(nothing)"),
            Message(role="user", content=wrong),
        ),
    )


def _outcome(reply: Reply, found: object) -> str:
    if isinstance(found, Exception):
        return Outcome.UNPARSABLE
    if reply.finish == "length" or getattr(found, "truncated", False):
        return Outcome.TRUNCATED
    return Outcome.OK


def _completion(
    replies: Sequence[Reply], value: BaseModel | None, *, truncated: bool
) -> Completion:
    """The last reply as a completion that counts all of them."""
    last = replies[-1]
    return Completion(
        text=last.text,
        parsed=value,
        usage=Usage(
            prompt_tokens=sum(reply.usage.prompt_tokens for reply in replies),
            completion_tokens=sum(reply.usage.completion_tokens for reply in replies),
            counted_by=last.usage.counted_by,
        ),
        model=last.model,
        finish=last.finish,
        latency_ms=sum(reply.latency_ms for reply in replies),
        truncated=truncated,
    )


def _to_value(found: Completion) -> str:
    kept = {
        "text": found.text,
        "usage": asdict(found.usage),
        "model": found.model,
        "finish": found.finish,
        "truncated": found.truncated,
    }
    return json.dumps(kept, ensure_ascii=False)


def _from_value(value: str) -> Completion:
    kept = json.loads(value)
    return Completion(**{**kept, "usage": Usage(**kept["usage"])}, cached=True)

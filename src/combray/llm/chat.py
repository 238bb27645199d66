"""What all language models share: reading structured replies, one repair round, the cache and the ledger."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeGuard

from combray.errors import (
    CombrayError,
    ExtractionError,
    ProviderError,
    RateLimited,
    TimedOut,
    Unauthorised,
)
from combray.llm.base import Call, Completion, Message, Occasion, Outcome, Usage
from combray.llm.thinking import spoken, without_thinking

if TYPE_CHECKING:
    from pydantic import BaseModel

    from combray.llm.structured import Parsed, Unreadable

DEFAULT_MAX_TOKENS = 2048
"""What a structured reply may take; a reply that breaks off may take twice as much in its second round."""

_SHOWN = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one request brought.

    Attributes:
        text: the reply; thinking that it begins with is left out for the caller.
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

    def pieces(self, ask: Ask) -> Generator[str | Reply]:
        """The reply piece by piece, and last the whole; all at once where a model cannot stream."""
        reply = self.request(ask)
        yield reply.text
        yield reply

    def attempts(self, error: CombrayError) -> int:
        """How many requests the client made before it gave up with the error."""
        return 1

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
        row = _Row(self, occasion)
        heard = _Heard()
        try:
            with closing(self.pieces(ask)) as pieces:
                yield from spoken(heard.told(pieces))
        except CombrayError as error:
            row.failed(error, estimated(ask, heard.text))
            raise
        except GeneratorExit:
            row.write(estimated(ask, heard.text), Outcome.TRUNCATED)
            raise
        whole = heard.whole or Reply(text=heard.text, usage=estimated(ask, heard.text))
        row.write(whole.usage, _outcome(whole, None), attempts=whole.attempts)

    def _complete(self, ask: Ask, schema: type[BaseModel] | None, occasion: Occasion) -> Completion:
        first, found = self._asked(ask, schema, occasion, retry=0)
        if found is None:
            return _completion([first], None, truncated=first.finish == "length")
        if _kept(found) and not found.truncated:
            return _completion([first], found.value, truncated=False)
        try:
            second, again = self._asked(_again(ask, first, found), schema, occasion, retry=1)
        except (Unauthorised, TimedOut, RateLimited):
            raise
        except ProviderError:
            # More room than the model has is refused: what was whole in the first reply is all there is.
            if not _kept(found):
                raise
            return _completion([first], found.value, truncated=True)
        if _kept(again):
            return _completion([first, second], again.value, truncated=again.truncated)
        if _kept(found):
            return _completion([second, first], found.value, truncated=True)
        raise ExtractionError(
            f"model {self.name!r} did not reply with what was asked for, not even the second time: {_wrong(again)}. "
            "Try again, or use a model that follows a schema.",
            raw=second.text or first.text,
        )

    def _asked(
        self, ask: Ask, schema: type[BaseModel] | None, occasion: Occasion, *, retry: int
    ) -> tuple[Reply, Parsed | Unreadable | None]:
        """One request with its row in the ledger, and the reply as read; None where there is no schema."""
        row = _Row(self, occasion, retry)
        try:
            reply = self.request(ask)
        except CombrayError as error:
            row.failed(error, Usage())
            raise
        reply = replace(reply, text=without_thinking(reply.text))
        found = None if schema is None else _read(reply, schema)
        row.write(
            reply.usage,
            _outcome(reply, found),
            latency_ms=reply.latency_ms,
            attempts=reply.attempts,
        )
        return reply, found

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
        try:
            found = _from_value(value)
            if schema is not None:
                from combray.llm.structured import parse

                cut = found.finish == "length"
                found = replace(found, parsed=parse(found.text, schema, cut=cut).value)
        except (ValueError, KeyError, TypeError, AttributeError):
            # Kept by another version, or damaged: as good as none.
            return None
        _Row(self, occasion).write(Usage(), Outcome.OK, latency_ms=0.0, cached=True, attempts=0)
        return found


class _Row:
    """One request's row in the ledger, from its beginning on."""

    def __init__(self, llm: Chat, occasion: Occasion, retry: int = 0) -> None:
        self._llm, self._occasion, self._retry = llm, occasion, retry
        self._at, self._start = occasion.clock(), perf_counter()

    def failed(self, error: CombrayError, usage: Usage) -> None:
        self.write(usage, error.code, attempts=self._llm.attempts(error))

    def write(
        self,
        usage: Usage,
        outcome: str,
        *,
        attempts: int = 1,
        latency_ms: float | None = None,
        cached: bool = False,
    ) -> None:
        took = (perf_counter() - self._start) * 1000 if latency_ms is None else latency_ms
        occasion = self._occasion
        occasion.record(
            Call(
                at=self._at,
                run=occasion.run,
                phase=occasion.phase,
                method=occasion.method,
                model=self._llm.name,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                latency_ms=took,
                cached=cached,
                retry=self._retry,
                attempts=attempts,
                outcome=str(outcome),
            )
        )


class _Heard:
    """What of a streamed reply has come."""

    def __init__(self) -> None:
        self.whole: Reply | None = None
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def told(self, coming: Iterator[str | Reply]) -> Iterator[str]:
        for piece in coming:
            if isinstance(piece, Reply):
                self.whole = piece
            else:
                self._pieces.append(piece)
                yield piece


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
        schema=_json_schema(schema),
        schema_name=schema.__name__,
        max_tokens=max_tokens or DEFAULT_MAX_TOKENS,
    )


@lru_cache(maxsize=64)
def _json_schema(schema: type[BaseModel]) -> Mapping[str, Any]:
    # Kept, because making it is most of what a call costs outside the model. Nobody may change it.
    return schema.model_json_schema()


def _read(reply: Reply, schema: type[BaseModel]) -> Parsed | Unreadable:
    from combray.llm.structured import Unreadable, parse

    try:
        return parse(reply.text, schema, cut=reply.finish == "length")
    except Unreadable as error:
        return error


def _kept(found: Parsed | Unreadable | None) -> TypeGuard[Parsed]:
    """Whether anything can be taken from the reply."""
    return found is not None and not isinstance(found, Exception) and not found.hollow


def _wrong(found: Parsed | Unreadable | None) -> str:
    return str(found) if isinstance(found, Exception) else "it breaks off"


def _again(ask: Ask, reply: Reply, found: Parsed | Unreadable) -> Ask:
    """The second round: more room for a reply that broke off, else the reply with what is wrong with it."""
    if reply.finish == "length":
        return replace(ask, max_tokens=2 * (ask.max_tokens or DEFAULT_MAX_TOKENS))
    wrong = (
        f"That is not what was asked for: {_wrong(found)}. "
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


def _outcome(reply: Reply, found: Parsed | Unreadable | None) -> str:
    if isinstance(found, Exception):
        return Outcome.UNPARSABLE
    if reply.finish == "length" or (found is not None and found.truncated):
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

"""What the rest of Combray knows of a language model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from combray.model import Call, Clock, Outcome, utc_now

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a chat.

    Attributes:
        role: whose it is.
        content: plain text.
    """

    role: Literal["system", "user", "assistant"]
    content: str


def messages_of(rendered: Iterable[tuple[Literal["system", "user"], str]]) -> list[Message]:
    """Roles and contents, as a prompt renders them, as messages."""
    return [Message(role=role, content=content) for role, content in rendered]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one request.

    Attributes:
        prompt_tokens: read by the model.
        completion_tokens: written by it.
        counted_by: ``provider``, or ``estimate`` (four characters a token) where it does not say.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    counted_by: Literal["provider", "estimate"] = "provider"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a model replied.

    Attributes:
        text: the reply, without its thinking.
        parsed: the reply as a value of the schema; None where none was asked for.
        usage: of all requests that it took.
        model: as the provider names it.
        finish: why it ended: ``stop``, ``length``, …
        cached: whether no request was made.
        latency_ms: of all requests.
        truncated: whether the end of the reply is missing; a list then holds its whole elements.
    """

    text: str
    parsed: Any = None
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    finish: str = "stop"
    cached: bool = False
    latency_ms: float = 0.0
    truncated: bool = False


class Replies(Protocol):
    """Keeps replies by a hash of their request."""

    def get(self, key: str) -> str | None:
        """What was put under the key, or None."""

    def put(self, key: str, value: str) -> None:
        """Keep the value under the key."""


def unrecorded(call: Call) -> None:
    """Record nothing."""


__all__ = [
    "LLM",
    "Call",
    "Completion",
    "Message",
    "Occasion",
    "Outcome",
    "Replies",
    "Usage",
    "messages_of",
    "unrecorded",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """On whose behalf a model is asked.

    Attributes:
        phase: see `Call`.
        method: see `Call`.
        run: see `Call`.
        record: is told of each request.
        replies: where replies are kept, or None.
        clock: what time it is.
    """

    phase: str = ""
    method: str = ""
    run: str = ""
    record: Callable[[Call], None] = unrecorded
    replies: Replies | None = None
    clock: Clock = utc_now


class LLM(Protocol):
    """A language model. Threads may share one."""

    @property
    def name(self) -> str:
        """Of the model; records say that it made them."""

    def complete(
        self,
        messages: Sequence[Message],
        schema: type[BaseModel] | None = None,
        *,
        max_tokens: int | None = None,
        occasion: Occasion | None = None,
    ) -> Completion:
        """The model's reply.

        Args:
            messages: the chat so far.
            schema: what the reply must be; it is parsed tolerantly, and repaired once.
            max_tokens: most tokens to write; the model's own bound where not given.
            occasion: on whose behalf.

        Raises:
            Unauthorised: the provider refused the key.
            TimedOut: it did not answer in time.
            RateLimited: it asks to wait.
            ProviderError: it cannot be reached, or failed.
            ExtractionError: the reply does not fit the schema, not even after the repair; keeps the raw text.
        """

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        occasion: Occasion | None = None,
    ) -> Iterator[str]:
        """The reply piece by piece; raises as `complete`."""

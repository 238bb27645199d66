"""Any endpoint that speaks OpenAI's ``/chat/completions``, through the official client."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from combray.endpoint import client, said, translated
from combray.errors import InvalidInput, ProviderError
from combray.llm.base import Usage
from combray.llm.chat import Ask, Chat, Reply, estimated
from combray.llm.structured import without_thinking

if TYPE_CHECKING:
    from openai import BadRequestError, UnprocessableEntityError

T = TypeVar("T")

_MODES = ("json_schema", "json_object", "none")
_OPTIONAL = ("temperature", "seed", "stream_options")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatEndpoint:
    """Where and how to ask.

    Attributes:
        base_url: of the API; None for the client's own default or its environment variable.
        api_key: None for the client's environment variable, which is sent to its default endpoint only;
            an endpoint named by `base_url` may need none.
        timeout_s: for one request.
        max_retries: of a request that failed for a passing reason, with back-off, jitter and ``Retry-After``.
        concurrency: most requests at once; others wait.
        temperature: 0 for the same reply to the same request, as far as the endpoint goes.
        seed: likewise.
        extra_body: what else the endpoint wants to be told.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 120.0
    max_retries: int = 3
    concurrency: int = 8
    temperature: float = 0.0
    seed: int | None = 0
    extra_body: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("timeout_s", "concurrency"):
            if getattr(self, name) <= 0:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it must be above 0.")
        if self.max_retries < 0:
            raise InvalidInput(f"max_retries is {self.max_retries}; it must not be negative.")


class OpenAILLM(Chat):
    """A served model. Threads may share one.

    Which way of asking for structured output the endpoint takes (a schema, JSON of any shape, or words alone), and which
    options it refuses, is found out by asking, and remembered.

    Args:
        model: as the endpoint calls it.
        endpoint: where and how to ask.

    Raises:
        MissingExtra: the client is not installed.
        InvalidInput: no model is named.
        Unauthorised: no key is given, and none is in the environment.
    """

    def __init__(self, model: str, endpoint: ChatEndpoint | None = None) -> None:
        if not model.strip():
            raise InvalidInput("the language model must be named.")
        super().__init__(model)
        self._endpoint = endpoint or ChatEndpoint()
        self._what = f"the endpoint of model {model!r}"
        self._client = client(
            self._what,
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.api_key,
            timeout_s=self._endpoint.timeout_s,
            max_retries=self._endpoint.max_retries,
        )
        self._places = threading.BoundedSemaphore(self._endpoint.concurrency)
        self._mode = 0
        self._refused: frozenset[str] = frozenset()
        self._limit = "max_tokens"

    @property
    def settings(self) -> Mapping[str, object]:
        """Temperature, seed and what else the endpoint is told."""
        kept = self._endpoint
        return {
            "temperature": kept.temperature,
            "seed": kept.seed,
            "extra_body": dict(kept.extra_body),
        }

    @property
    def structured_by(self) -> str:
        """How structured output is asked for, as far as is known: ``json_schema``, ``json_object`` or ``none``."""
        return _MODES[self._mode]

    def request(self, ask: Ask) -> Reply:
        """See `Chat.request`."""
        with self._places:
            start = perf_counter()
            # The raw answer, because the client hands on whatever a wrong endpoint says.
            answer = self._adapting(
                ask,
                lambda options: self._client.chat.completions.with_raw_response.create(**options),
            )
            took = (perf_counter() - start) * 1000
        return self._reply(answer.http_response.content, ask, answer.retries_taken + 1, took)

    def pieces(self, ask: Ask) -> Iterator[str]:
        """See `Chat.pieces`."""
        with self._places:
            stream = self._adapting(
                ask,
                lambda options: self._client.chat.completions.create(**options, stream=True),
            )
            with translated(self._what), stream:
                for event in stream:
                    for choice in event.choices or ():
                        if choice.delta is not None and choice.delta.content:
                            yield choice.delta.content

    def _adapting(self, ask: Ask, send: Callable[[dict[str, Any]], T]) -> T:
        """Send the request; where the endpoint refuses an option, again without it."""
        import openai

        with translated(self._what):
            while True:
                mode, refused, limit = self._mode, self._refused, self._limit
                try:
                    return send(self._options(ask))
                except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                    known = (self._mode, self._refused, self._limit) != (mode, refused, limit)
                    if not known and not self._adapted(ask, error):
                        raise

    def _adapted(self, ask: Ask, error: BadRequestError | UnprocessableEntityError) -> bool:
        """Learn from a refusal; False where it is about nothing that can be left out."""
        told = said(error).lower()
        if "max_completion_tokens" in told and self._limit == "max_tokens":
            self._limit = "max_completion_tokens"
            return True
        for option in _OPTIONAL:
            if option in told and option not in self._refused:
                self._refused |= {option}
                return True
        about_form = any(word in told for word in ("response_format", "schema", "json", "grammar"))
        if ask.schema is not None and about_form and self._mode + 1 < len(_MODES):
            self._mode += 1
            return True
        return False

    def _options(self, ask: Ask) -> dict[str, Any]:
        kept = self._endpoint
        options: dict[str, Any] = {
            "model": self.name,
            "messages": [
                {"role": message.role, "content": _well_formed(message.content)}
                for message in ask.messages
            ],
            "temperature": kept.temperature,
        }
        if kept.seed is not None:
            options["seed"] = kept.seed
        if kept.extra_body:
            options["extra_body"] = dict(kept.extra_body)
        if ask.max_tokens is not None:
            options[self._limit] = ask.max_tokens
        if ask.schema is not None and self.structured_by != "none":
            options["response_format"] = self._form(ask)
        return {name: value for name, value in options.items() if name not in self._refused}

    def _form(self, ask: Ask) -> dict[str, Any]:
        if self.structured_by == "json_object":
            return {"type": "json_object"}
        return {
            "type": "json_schema",
            "json_schema": {"name": ask.schema_name, "schema": ask.schema},
        }

    def _reply(self, content: bytes, ask: Ask, attempts: int, took: float) -> Reply:
        try:
            answer = json.loads(content)
            choice = answer["choices"][0]
            text = choice["message"].get("content") or ""
            finish = choice.get("finish_reason") or "stop"
            if not isinstance(text, str):
                raise TypeError("its content is not text")
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            shown = content[:200].decode("utf-8", "replace")
            raise ProviderError(
                f"{self._what} answered with something that is no chat completion: {shown!r}"
            ) from error
        return Reply(
            text=without_thinking(text),
            usage=_usage(answer.get("usage"), ask, text),
            model=str(answer.get("model") or self.name),
            finish=str(finish),
            attempts=attempts,
            latency_ms=took,
        )


def _usage(given: object, ask: Ask, text: str) -> Usage:
    if isinstance(given, dict):
        counts = [given.get("prompt_tokens"), given.get("completion_tokens")]
        if all(isinstance(n, int) and n >= 0 for n in counts):
            return Usage(prompt_tokens=counts[0] or 0, completion_tokens=counts[1] or 0)
    return estimated(ask, text)


def _well_formed(text: str) -> str:
    """The text without what JSON in UTF-8 cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")

"""Any endpoint that speaks OpenAI's ``/chat/completions``, through the official client."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from combray.endpoint import client, translated
from combray.errors import CombrayError, InvalidInput, ProviderError
from combray.llm.base import Usage
from combray.llm.chat import Ask, Chat, Reply, estimated

if TYPE_CHECKING:
    from openai import APIStatusError, Stream
    from openai.types.chat import ChatCompletionChunk

T = TypeVar("T")

_MODES = ("json_schema", "json_object", "none")
_OPTIONAL = ("temperature", "seed", "stream_options")
_ABOUT_FORM = ("response_format", "schema", "grammar")
_IS_IT_ONE = "Check that the URL is that of an OpenAI-compatible API; it often ends in /v1."
_ABOUT_ROOM = ("max_tokens", "context length", "context size", "context window")


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
        try:
            json.dumps(dict(self.extra_body))
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"extra_body must be JSON: {error}.") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manners:
    """How an endpoint wants to be asked, as far as is known.

    Attributes:
        mode: index of the way to ask for structured output.
        refused: options that it does not know.
        limit: what it calls the most tokens to write; empty for a request that leaves it to the endpoint.
    """

    mode: int = 0
    refused: frozenset[str] = frozenset()
    limit: str = "max_tokens"

    def after(self, told: str, status: int, *, structured: bool) -> _Manners | None:
        """What to try after a refusal; None where it is about nothing that can be left out."""
        asked_for = (*_ABOUT_FORM, "json") if status in {400, 422} else _ABOUT_FORM
        about_form = any(word in told for word in asked_for)
        if status in {400, 422}:
            if "max_completion_tokens" in told and self.limit == "max_tokens":
                return replace(self, limit="max_completion_tokens")
            for option in _OPTIONAL:
                if option in told and option not in self.refused:
                    return replace(self, refused=self.refused | {option})
            if not about_form and self.limit and any(word in told for word in _ABOUT_ROOM):
                return replace(self, limit="")
        if structured and about_form and self.mode + 1 < len(_MODES):
            return replace(self, mode=self.mode + 1)
        return None


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
        self._manners = _Manners()

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
        return _MODES[self._manners.mode]

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

    def pieces(self, ask: Ask) -> Generator[str | Reply]:
        """See `Chat.pieces`."""
        with self._places:
            told = {"stream": True, "stream_options": {"include_usage": True}}
            stream = self._adapting(
                ask,
                lambda options: self._client.chat.completions.create(**options),
                told,
            )
            text, usage, finish = "", None, ""
            with translated(self._what), stream:
                for piece, ended, counted in self._events(stream):
                    usage, finish = counted or usage, ended or finish
                    if piece:
                        text += piece
                        yield _well_formed(piece)
        if not text and not finish:
            raise ProviderError(f"{self._what} streamed nothing. {_IS_IT_ONE}")
        yield Reply(
            text=_well_formed(text),
            usage=_usage(usage, ask, text),
            model=self.name,
            finish=finish or "stop",
        )

    def attempts(self, error: CombrayError) -> int:
        """See `Chat.attempts`."""
        request = getattr(error.__cause__, "request", None)
        count = request.headers.get("x-stainless-retry-count", "0") if request is not None else "0"
        return int(count) + 1 if count.isdecimal() else 1

    def _events(self, stream: Stream[ChatCompletionChunk]) -> Iterator[tuple[str, str, object]]:
        """For each event the piece of text, why the reply ended, and the usage; each may be empty."""
        try:
            for event in stream:
                yield _read_event(event.model_dump(warnings=False))
        except (ValueError, AttributeError, TypeError) as error:
            raise ProviderError(
                f"{self._what} streamed something that is no chat completion: {error}. {_IS_IT_ONE}"
            ) from error

    def _adapting(
        self,
        ask: Ask,
        send: Callable[[dict[str, Any]], T],
        also: Mapping[str, Any] | None = None,
    ) -> T:
        """Send the request; where the endpoint refuses an option, again without it.

        What helped is remembered. A refusal that nothing helped against leaves no trace, so that one bad request does not
        make all others worse.
        """
        import openai

        manners = self._manners
        with translated(self._what):
            while True:
                try:
                    answer = send(self._options(ask, manners, also or {}))
                except openai.APIStatusError as error:
                    tried = manners.after(
                        _told(error), error.status_code, structured=ask.schema is not None
                    )
                    if tried is None:
                        raise
                    manners = tried
                else:
                    # Only this request was too big.
                    limit = manners.limit or self._manners.limit
                    self._manners = replace(manners, limit=limit)
                    return answer

    def _options(self, ask: Ask, manners: _Manners, also: Mapping[str, Any]) -> dict[str, Any]:
        kept = self._endpoint
        options: dict[str, Any] = {
            "model": self.name,
            "messages": [
                {"role": message.role, "content": _well_formed(message.content)}
                for message in ask.messages
            ],
            "temperature": kept.temperature,
            **also,
        }
        if kept.seed is not None:
            options["seed"] = kept.seed
        if kept.extra_body:
            options["extra_body"] = dict(kept.extra_body)
        if ask.max_tokens is not None and manners.limit:
            options[manners.limit] = ask.max_tokens
        if ask.schema is not None and _MODES[manners.mode] != "none":
            options["response_format"] = _form(ask, _MODES[manners.mode])
        return {name: value for name, value in options.items() if name not in manners.refused}

    def _reply(self, content: bytes, ask: Ask, attempts: int, took: float) -> Reply:
        try:
            answer = json.loads(content)
            choice = answer["choices"][0]
            text = choice["message"].get("content") or ""
            finish = choice.get("finish_reason") or "stop"
            if not isinstance(text, str):
                raise TypeError("its content is not text")
        except (
            ValueError,
            KeyError,
            TypeError,
            IndexError,
            AttributeError,
            RecursionError,
        ) as error:
            shown = content[:200].decode("utf-8", "replace")
            raise ProviderError(
                f"{self._what} answered with something that is no chat completion: {shown!r}. {_IS_IT_ONE}"
            ) from error
        return Reply(
            text=_well_formed(text),
            usage=_usage(answer.get("usage"), ask, text),
            model=str(answer.get("model") or self.name),
            finish=str(finish),
            attempts=attempts,
            latency_ms=took,
        )


def _form(ask: Ask, mode: str) -> dict[str, Any]:
    if mode == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": ask.schema_name, "schema": ask.schema}}


def _told(error: APIStatusError) -> str:
    """What the endpoint said, in lower case; all of it, because it may come after an echo of the request."""
    return str(error.message).lower()


def _read_event(event: Mapping[str, Any]) -> tuple[str, str, object]:
    choices = event.get("choices") or [{}]
    choice = choices[0]
    piece = (choice.get("delta") or {}).get("content") or ""
    if not isinstance(piece, str):
        raise TypeError("its content is not text")
    return piece, str(choice.get("finish_reason") or ""), event.get("usage")


def _usage(given: object, ask: Ask, text: str) -> Usage:
    if isinstance(given, dict):
        counts = [given.get("prompt_tokens"), given.get("completion_tokens")]
        if all(isinstance(n, int) and n >= 0 for n in counts):
            return Usage(prompt_tokens=counts[0] or 0, completion_tokens=counts[1] or 0)
    return estimated(ask, text)


def _well_formed(text: str) -> str:
    """The text without halves of characters, which JSON in UTF-8 cannot carry."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

"""Vectors from any endpoint that speaks OpenAI's ``/embeddings``, through the official client."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from combray.embed.base import Embeddings
from combray.embed.wellformed import well_formed
from combray.errors import (
    InvalidInput,
    MissingExtra,
    ProviderError,
    RateLimited,
    TimedOut,
    Unauthorised,
)

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where and how to ask.

    Attributes:
        base_url: of the API; None for the client's own default or its environment variable.
        api_key: None for the client's environment variable, which is sent to its default endpoint only;
            an endpoint named by `base_url` may need none.
        timeout_s: for one request.
        max_retries: of a request that failed for a passing reason; the client waits in between.
        batch: texts in one request.
        max_characters: of one text; the rest is cut off, since endpoints refuse longer ones (the default
            stays below 8,192 tokens of English).
        shorten: ask the model for vectors of the given dimension; most models refuse to be asked.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0
    max_retries: int = 2
    batch: int = 128
    max_characters: int = 24_000
    shorten: bool = False

    def __post_init__(self) -> None:
        for name in ("timeout_s", "batch", "max_characters"):
            if getattr(self, name) <= 0:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it must be above 0.")
        if self.max_retries < 0:
            raise InvalidInput(f"max_retries is {self.max_retries}; it must not be negative.")


class OpenAIEmbedder:
    """Sentence vectors of a served model; there are no token vectors.

    Vectors are brought to unit norm. A blank text is sent as one full stop, because endpoints refuse empty
    input. Threads may share one embedder.

    Args:
        model: as the endpoint calls it.
        dimension: of its vectors; an answer of another length is an error.
        endpoint: where and how to ask.

    Raises:
        MissingExtra: the client is not installed.
        InvalidInput: no model is named, or the dimension is not a positive multiple of 8.
        Unauthorised: no key is given, and none is in the environment.
    """

    def __init__(self, model: str, dimension: int, endpoint: Endpoint | None = None) -> None:
        if not model.strip():
            raise InvalidInput("the embedding model must be named.")
        if dimension < 8 or dimension % 8:
            raise InvalidInput(f"dimension {dimension} is not a positive multiple of 8.")
        self._model = model
        self._dimension = dimension
        self._endpoint = endpoint or Endpoint()
        self._client = _client(self._endpoint)

    @property
    def id(self) -> str:
        """``openai:`` with the model's name and dimension."""
        return f"openai:{self._model}-{self._dimension}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """The embeddings of the texts, in order; nothing is returned if one request fails.

        Raises:
            Unauthorised: the endpoint refused the key.
            TimedOut: it did not answer in time.
            RateLimited: it asks to wait.
            ProviderError: it cannot be reached, or its answer is not what was asked for.
        """
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        for start in range(0, len(texts), self._endpoint.batch):
            batch = [self._sendable(text) for text in texts[start : start + self._endpoint.batch]]
            vectors[start : start + len(batch)] = self._request(batch)
        return Embeddings(vectors=vectors)

    def _sendable(self, text: str) -> str:
        return well_formed(text)[: self._endpoint.max_characters].strip() or "."

    def _request(self, batch: list[str]) -> NDArray[np.float32]:
        shorter = {"dimensions": self._dimension} if self._endpoint.shorten else None
        with _translated():
            # The raw answer, because the client hands on whatever a wrong endpoint says.
            answer = self._client.embeddings.with_raw_response.create(
                model=self._model, input=batch, encoding_format="float", extra_body=shorter
            )
            content = answer.http_response.content
        return _unit(_rows(content, len(batch), self._dimension))


def _client(endpoint: Endpoint) -> OpenAI:
    try:
        import openai
    except ImportError as error:
        raise MissingExtra("openai", "an embedding endpoint") from error
    # A key of the environment belongs to the client's own endpoint; another one gets it only when told to.
    key = endpoint.api_key or ("none" if endpoint.base_url else None)
    try:
        return openai.OpenAI(
            base_url=endpoint.base_url,
            api_key=key,
            timeout=endpoint.timeout_s,
            max_retries=endpoint.max_retries,
        )
    except openai.OpenAIError as error:
        raise Unauthorised(f"the embedding endpoint needs a key: {error}") from error


@contextmanager
def _translated() -> Iterator[None]:
    """The client's errors as ours."""
    import openai

    try:
        yield
    except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
        raise Unauthorised(
            f"the embedding endpoint refused the key ({error.status_code})."
        ) from error
    except openai.APITimeoutError as error:
        raise TimedOut("the embedding endpoint did not answer in time.") from error
    except openai.RateLimitError as error:
        raise RateLimited(
            "the embedding endpoint asks to wait, or the quota is used up.", _retry_after_s(error)
        ) from error
    except openai.APIConnectionError as error:
        raise ProviderError(f"the embedding endpoint cannot be reached: {error}") from error
    except openai.APIStatusError as error:
        said = " ".join(str(error.message).split())[:300]
        raise ProviderError(
            f"the embedding endpoint answered {error.status_code}: {said}"
        ) from error
    except openai.OpenAIError as error:
        raise ProviderError(f"the embedding endpoint failed: {error}") from error


def _retry_after_s(error: APIStatusError) -> float | None:
    """Seconds from a ``Retry-After`` header, which is a number or a date."""
    raw = error.response.headers.get("retry-after", "")
    try:
        return max(0.0, float(raw))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(raw).timestamp() - time.time())
    except ValueError:
        return None


def _rows(content: bytes, n_texts: int, dimension: int) -> NDArray[np.float32]:
    """The vectors of an answer in the order of the texts, shape (n, d).

    Raises:
        ProviderError: it is no such answer; says what is wrong with it.
    """
    try:
        items = json.loads(content)["data"]
        by_index = {int(item["index"]): item["embedding"] for item in items}
        given = [np.asarray(by_index[i], np.float32) for i in range(n_texts)]
    except (ValueError, KeyError, TypeError) as error:
        shown = content[:200].decode("utf-8", "replace")
        raise ProviderError(
            f"the embedding endpoint's answer holds no {n_texts} vectors: {shown!r}"
        ) from error
    for vector in given:
        if vector.shape != (dimension,):
            raise ProviderError(
                f"the embedding endpoint gave vectors of shape {vector.shape}, not ({dimension},): "
                "name the model's own dimension, or set `shorten` if the model can give that many."
            )
    return np.array(given, np.float32)


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and norms.all()):
        raise ProviderError("the embedding endpoint gave a vector that is zero or not finite.")
    unit: NDArray[np.float32] = rows / norms
    return unit

"""Vectors from any endpoint that speaks OpenAI's ``/embeddings``, through the official client."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from combray.embed.base import Embeddings
from combray.embed.wellformed import well_formed
from combray.endpoint import client, translated
from combray.errors import InvalidInput, ProviderError

_WHAT = "the embedding endpoint"


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
        self._client = client(
            _WHAT,
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.api_key,
            timeout_s=self._endpoint.timeout_s,
            max_retries=self._endpoint.max_retries,
        )

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
        with translated(_WHAT):
            # The raw answer, because the client hands on whatever a wrong endpoint says.
            answer = self._client.embeddings.with_raw_response.create(
                model=self._model, input=batch, encoding_format="float", extra_body=shorter
            )
            content = answer.http_response.content
        return _unit(_rows(content, len(batch), self._dimension))


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

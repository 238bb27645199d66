"""What embedders and language models share at an OpenAI-compatible endpoint: the client, and its errors as ours."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from combray.errors import MissingExtra, ProviderError, RateLimited, TimedOut, Unauthorised

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI


def client(
    what: str, *, base_url: str | None, api_key: str | None, timeout_s: float, max_retries: int
) -> OpenAI:
    """The official client.

    Args:
        what: the endpoint, as messages name it: ``the embedding endpoint``.
        base_url: of the API; None for the client's own default or its environment variable.
        api_key: None for the client's environment variable, which is sent to its default endpoint only.
        timeout_s: for one request.
        max_retries: of a request that failed for a passing reason, with back-off, jitter and ``Retry-After``.

    Raises:
        MissingExtra: the client is not installed.
        Unauthorised: no key is given, and none is in the environment; or it cannot be one.
    """
    try:
        import openai
    except ImportError as error:
        raise MissingExtra("openai", what.removeprefix("the ")) from error
    if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
        raise Unauthorised(f"{what} needs a key: the one given has characters that no key has.")
    # A key of the environment belongs to the client's own endpoint; another one gets it only when told to.
    key = api_key or ("none" if base_url else None)
    try:
        return openai.OpenAI(
            base_url=base_url, api_key=key, timeout=timeout_s, max_retries=max_retries
        )
    except openai.OpenAIError as error:
        raise Unauthorised(f"{what} needs a key: {error}") from error


@contextmanager
def translated(what: str) -> Iterator[None]:
    """The client's errors as ours; they name `what`."""
    import openai

    try:
        yield
    except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
        raise Unauthorised(
            f"{what} refused the key ({error.status_code}). Give it one that it accepts."
        ) from error
    except openai.APITimeoutError as error:
        raise TimedOut(f"{what} did not answer in time. Try again, or give it longer.") from error
    except openai.RateLimitError as error:
        raise RateLimited(
            f"{what} asks to wait{_how_long(error)}, or the quota is used up. Try again later.",
            retry_after_s(error),
        ) from error
    except openai.APIConnectionError as error:
        raise ProviderError(
            f"{what} cannot be reached: {error} Check that it runs, and its URL."
        ) from error
    except openai.APIStatusError as error:
        raise ProviderError(f"{what} answered {error.status_code}: {said(error)}") from error
    except openai.OpenAIError as error:
        raise ProviderError(f"{what} failed: {error}") from error


def _how_long(error: APIStatusError) -> str:
    seconds = retry_after_s(error)
    return "" if seconds is None else f" {seconds:.0f} s"


def said(error: APIStatusError) -> str:
    """What the endpoint said, on one line of at most 300 characters."""
    return " ".join(str(error.message).split())[:300]


def retry_after_s(error: APIStatusError) -> float | None:
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

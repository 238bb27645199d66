"""One request to a language model, as the ledger has it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Outcome(StrEnum):
    """How a request went; the errors have their codes."""

    OK = "ok"
    TRUNCATED = "truncated"
    UNPARSABLE = "unparsable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, as the ledger has it; it holds no text.

    Attributes:
        at: when it began, aware.
        run: of a benchmark, or empty.
        phase: what it was for: ``facts``, ``event``, ``answer``, ``judge``, …
        method: on behalf of which method, or empty.
        model: as asked for.
        prompt_tokens: read.
        completion_tokens: written.
        latency_ms: wall time, waiting for a free place left out.
        cached: whether the reply came from the cache.
        retry: 0 for the first request, 1 for the repair round.
        attempts: requests that the client made, its own retries included; 0 from the cache.
        outcome: an `Outcome`, or the code of the error.
    """

    at: datetime
    run: str = ""
    phase: str = ""
    method: str = ""
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_ms: float = 0.0
    cached: bool = False
    retry: int = 0
    attempts: int = 1
    outcome: str = Outcome.OK

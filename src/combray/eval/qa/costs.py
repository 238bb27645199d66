"""What a run cost, from the ledger of its calls: by phase, in calls, tokens, time and money.

Judging is a phase of its own and never part of a method's cost. A cached reply counts as a call with its tokens, so that
a run over a warm cache reports what it would use; only what was sent is paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from combray.errors import InvalidInput
from combray.model import Call, Outcome

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model costs.

    Attributes:
        prompt: money per million tokens read.
        completion: money per million tokens written; in the same currency.
    """

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        if self.prompt < 0 or self.completion < 0:
            raise InvalidInput("a price is money per million tokens and cannot be negative.")


Prices = Mapping[str, Price]
"""Price by the name of the model, as its calls name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseCost:
    """What the calls of one phase cost.

    Attributes:
        calls: requests and cached replies.
        cached: of them, answered from the cache.
        retries: of them, repairs of a reply that could not be read.
        failed: of them, without a usable reply.
        prompt_tokens: read, cached ones included.
        completion_tokens: written, cached ones included.
        sent_prompt_tokens: read by requests that were sent.
        sent_completion_tokens: written for them.
        latency_ms: sum over the calls, which may have run side by side.
        money: of what was sent; None where a model has no price.
    """

    calls: int
    cached: int
    retries: int
    failed: int
    prompt_tokens: int
    completion_tokens: int
    sent_prompt_tokens: int
    sent_completion_tokens: int
    latency_ms: float
    money: float | None

    def to_json(self) -> dict[str, Any]:
        """The cost as one object."""
        money = None if self.money is None else round(self.money, 6)
        return asdict(self) | {"latency_ms": round(self.latency_ms, 1), "money": money}


def cost(calls: Iterable[Call], prices: Prices | None = None) -> PhaseCost:
    """What those calls cost together."""
    calls = list(calls)
    sent = [call for call in calls if not call.cached]
    return PhaseCost(
        calls=len(calls),
        cached=len(calls) - len(sent),
        retries=sum(call.retry > 0 for call in calls),
        failed=sum(call.outcome not in _USABLE for call in calls),
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        completion_tokens=sum(call.completion_tokens for call in calls),
        sent_prompt_tokens=sum(call.prompt_tokens for call in sent),
        sent_completion_tokens=sum(call.completion_tokens for call in sent),
        latency_ms=sum(call.latency_ms for call in calls),
        money=_money(sent, prices or {}),
    )


def by_phase(calls: Iterable[Call], prices: Prices | None = None) -> dict[str, PhaseCost]:
    """The costs of each phase, by its name, in the order in which phases first appear."""
    phases: dict[str, list[Call]] = {}
    for call in calls:
        phases.setdefault(call.phase, []).append(call)
    return {phase: cost(own, prices) for phase, own in phases.items()}


def unpriced(calls: Iterable[Call], prices: Prices | None = None) -> list[str]:
    """The models that were asked and have no price, sorted."""
    return sorted({call.model for call in calls if not call.cached} - set(prices or {}))


def read_prices(document: Mapping[str, Any]) -> dict[str, Price]:
    """The price table of a JSON object such as ``{"my-model": {"prompt": 0.15, "completion": 0.6}}``.

    Raises:
        InvalidInput: an entry is not laid out so; names the model.
    """
    return {str(model): _price(str(model), entry) for model, entry in document.items()}


_USABLE = (Outcome.OK, Outcome.TRUNCATED)


def _money(sent: Iterable[Call], prices: Prices) -> float | None:
    total = 0.0
    for call in sent:
        price = prices.get(call.model)
        if price is None:
            return None
        total += call.prompt_tokens * price.prompt + call.completion_tokens * price.completion
    return total / _MILLION


def _price(model: str, entry: object) -> Price:
    if isinstance(entry, Mapping) and set(entry) == {"prompt", "completion"}:
        numbers = [entry["prompt"], entry["completion"]]
        if all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers):
            return Price(prompt=float(numbers[0]), completion=float(numbers[1]))
    raise InvalidInput(
        f"the price of {model!r} must be an object with the numbers 'prompt' and 'completion', "
        "in money per million tokens."
    )

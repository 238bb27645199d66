from dataclasses import replace
from datetime import UTC, datetime

import pytest

from combray.errors import InvalidInput
from combray.eval.qa.costs import Price, by_phase, cost, read_prices, unpriced
from combray.model import Call

CALL = Call(
    run="r",
    phase="answer",
    method="fused",
    model="small",
    prompt_tokens=1000,
    completion_tokens=100,
    latency_ms=20.0,
    cached=False,
    retry=0,
    attempts=1,
    outcome="ok",
    at=datetime(2024, 5, 1, tzinfo=UTC),
)
PRICES = {"small": Price(prompt=2.0, completion=10.0)}


def test_costs_are_grouped_by_phase_in_order_of_appearance():
    calls = [replace(CALL, phase="extract"), CALL, replace(CALL, phase="extract", latency_ms=5.0)]
    found = by_phase(calls, PRICES)
    assert list(found) == ["extract", "answer"]
    assert (found["extract"].calls, found["extract"].prompt_tokens) == (2, 2000)
    assert found["extract"].latency_ms == 25
    assert found["answer"].money == pytest.approx((1000 * 2 + 100 * 10) / 1e6)


def test_a_cached_call_counts_its_tokens_and_costs_nothing():
    found = cost([CALL, replace(CALL, cached=True, model="unknown")], PRICES)
    assert (found.calls, found.cached) == (2, 1)
    assert (found.prompt_tokens, found.sent_prompt_tokens) == (2000, 1000)
    assert (found.completion_tokens, found.sent_completion_tokens) == (200, 100)
    assert found.money == pytest.approx(0.003)


def test_failed_calls_and_repairs_are_counted():
    calls = [
        replace(CALL, outcome="unparsable"),
        replace(CALL, retry=1),
        replace(CALL, outcome="timed_out", prompt_tokens=0, completion_tokens=0),
        replace(CALL, outcome="truncated"),
    ]
    found = cost(calls)
    assert (found.calls, found.failed, found.retries) == (4, 2, 1)


def test_a_model_without_a_price_leaves_the_sum_open_and_is_named():
    calls = [CALL, replace(CALL, model="large")]
    assert cost(calls, PRICES).money is None
    assert cost(calls, PRICES).to_json()["money"] is None
    assert unpriced(calls, PRICES) == ["large"]


def test_no_calls_cost_nothing():
    assert by_phase([]) == {}
    assert cost([]).money == 0


def test_a_price_table_is_read_strictly():
    assert read_prices({"m": {"prompt": 1, "completion": 0.5}}) == {
        "m": Price(prompt=1.0, completion=0.5)
    }
    for entry in (
        {"prompt": 1},
        {"prompt": "1", "completion": 2},
        3,
        {"prompt": 1, "completion": True},
    ):
        with pytest.raises(InvalidInput, match="price of 'm'"):
            read_prices({"m": entry})
    with pytest.raises(InvalidInput, match="negative"):
        read_prices({"m": {"prompt": -1, "completion": 1}})

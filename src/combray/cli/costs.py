"""`combray costs`: what the language model was asked for, and what that took."""

from __future__ import annotations

import typer

from combray.cli.arguments import BankName
from combray.cli.invocation import Invocation
from combray.cli.shapes import plain


def costs(context: typer.Context, bank: BankName) -> None:
    """Show what was asked of a language model: calls, tokens and time.

    By phase, method and model: a query over the ledger, which has a row for each call and holds no text.
    """
    call = Invocation.of(context)
    with call.memory() as memory:
        found = memory.bank(bank).enrichment.costs()
    if call.screen.json:
        call.screen.value({"costs": plain(found)})
        return
    if not found:
        call.screen.note("No calls.")
        return
    columns = ("phase", "method", "model", "calls", "cached", "repairs", "failed", "prompt tokens", "completion tokens", "seconds")  # fmt: skip
    rows = [
        (
            one.phase,
            one.method,
            one.model,
            one.n_calls,
            one.n_cached,
            one.n_repairs,
            one.n_failed,
            one.prompt_tokens,
            one.completion_tokens,
            one.latency_ms / 1000,
        )
        for one in found
    ]
    call.screen.table(columns, rows)

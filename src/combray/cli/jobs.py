"""`combray jobs`: what waits for a language model, and why something failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from combray.cli.arguments import BankName
from combray.cli.invocation import Invocation
from combray.cli.screen import clipped, count
from combray.cli.shapes import plain
from combray.errors import InvalidInput, NotFound
from combray.memory.enrichment import has_failed


def jobs(
    context: typer.Context,
    bank: BankName,
    failed: Annotated[bool, typer.Option("--failed", help="List only jobs that have failed, those that are tried again by themselves included.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Make the failed jobs due now.")] = False,
    job: Annotated[
        list[int] | None,
        typer.Option("--job", metavar="N", help="With --retry: only the job of this number; may be repeated."),
    ] = None,
) -> None:  # fmt: skip
    """List the jobs of a bank, or have failed ones done again."""
    call = Invocation.of(context)
    if job and not retry:
        raise InvalidInput("--job says which job to --retry; give both.")
    with call.memory() as memory:
        enrichment = memory.bank(bank).enrichment
        there = enrichment.jobs()
        _check_known(job or (), [one.number for one in there], bank)
        n_again = enrichment.retry(job or ()) if retry else 0
        found = [one for one in enrichment.jobs() if has_failed(one) or not failed]
    if call.screen.json:
        call.screen.value({"jobs": plain(found), "retried": n_again})
        return
    if retry:
        call.screen.text(f"{count(n_again, 'job')} due now; `combray work` does them.")
    if not found:
        call.screen.note("No jobs.")
        return
    rows = [
        (
            one.number,
            one.method,
            one.kind,
            one.subject,
            one.state,
            one.tries,
            one.due_at.isoformat(timespec="seconds"),
            clipped(one.error, 100),
        )
        for one in found
    ]
    columns = ("job", "method", "kind", "session", "state", "tries", "due", "error")
    call.screen.table(columns, rows)
    if any(one.raw for one in found):
        call.screen.note("With --json you see the replies that did not fit.")


def _check_known(wanted: Sequence[int], there: Sequence[int], bank: str) -> None:
    for number in wanted:
        if number not in there:
            raise NotFound("job", str(number), f"`combray jobs {bank}` lists what is there.")

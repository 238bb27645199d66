"""`combray work`: do the jobs that need a language model."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from combray.cli.invocation import Invocation
from combray.cli.screen import count
from combray.cli.shapes import plain
from combray.memory.enriching import Worked, WorkParams
from combray.model import Job

if TYPE_CHECKING:
    from combray.memory import Memory

_IDLE_S = 5.0
_MOST_BANKS = 10_000
_WHY_LATER = (
    "new turns rest for a minute (--now takes them at once), what failed until it is tried again."
)


def work(
    context: typer.Context,
    bank: Annotated[
        str | None, typer.Option("--bank", metavar="BANK", help="Work on this bank only.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on waiting for jobs until interrupted.")
    ] = False,
    now: Annotated[
        bool, typer.Option("--now", help="Take new turns at once, without waiting for those that may follow.")
    ] = False,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, max=64, help="Make at most N calls at once.")
    ] = 4,
) -> None:  # fmt: skip
    """Do the jobs that are due: ask the model for what the banks' methods derive.

    The model is the one of COMBRAY_LLM_URL, COMBRAY_LLM_MODEL and COMBRAY_LLM_KEY. Several workers may run side by side, and
    one that is killed loses nothing. A job that fails is tried again later; `combray jobs` shows why.
    """
    call = Invocation.of(context)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with call.memory() as memory:
        if bank is not None:
            memory.bank(bank)
        worker = memory.worker(
            WorkParams(concurrency=concurrency),
            on_job=lambda job: call.screen.note(_line(job)),
        )
        total = worker.run(bank=bank, settled=not now, stop=stop)
        while watch and not total.stopped and not stop.wait(_IDLE_S):
            more = worker.run(bank=bank, settled=not now, stop=stop)
            total.done += more.done
            total.failed += more.failed
            total.stopped = more.stopped
        waiting = _waiting(memory, bank)
    _show(call, total, waiting)


def _line(job: Job) -> str:
    what = f"session {job.subject}" if job.subject else "what belongs together"
    again = f" (try {job.tries + 1})" if job.tries else ""
    return f"{job.bank} · {job.method} · {what}{again}"


def _waiting(memory: Memory, bank: str | None) -> int:
    """How many jobs wait to be due, or for their session to settle."""
    names = [bank] if bank is not None else [one.name for one in memory.banks(limit=_MOST_BANKS)]
    return sum(len(memory.bank(name).enrichment.jobs("waiting")) for name in names)


def _show(call: Invocation, total: Worked, waiting: int) -> None:
    if call.screen.json:
        call.screen.value({**plain(total), "waiting": waiting})
    else:
        call.screen.text(f"Done: {count(total.done, 'job')}; failed: {len(total.failed):,}.")
        for failed in total.failed:
            call.screen.warn(f"{_line(failed.job)}: {failed.error}")
    if waiting:
        call.screen.note(f"{count(waiting, 'job')} not due yet: {_WHY_LATER}")
    if total.failed:
        call.screen.note("`combray jobs BANK` shows when each is tried again.")
        raise typer.Exit(1)

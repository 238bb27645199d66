"""What a language model adds to a bank: which methods derive from it, their jobs, records and costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from combray import registry
from combray.memory.enriching import Failed, Worked, Worker, WorkParams
from combray.memory.parts import Parts
from combray.model import DerivedRecord, Job, JobState
from combray.store.derived import CallSummary

_PAGE = 500


class Enrichment:
    """The enrichment of one bank; made by `BankMemory.enrichment`.

    Nothing here is needed to remember or to recall. A bank that uses a method queues a job with every write, and whoever
    works on jobs (`run`, or `combray work` in another process) does it.
    """

    def __init__(self, bank: str, parts: Parts) -> None:
        self._bank = bank
        self._parts = parts

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods that derive from the bank."""
        return self._parts.store.bank(self._bank).methods

    def use(self, *methods: str) -> tuple[str, ...]:
        """Let exactly these methods derive from the bank; returns those that are new.

        A new one gets a job for each session there is. One that is left out derives no more; its records stay until
        `rebuild`.

        Raises:
            ConfigError: no deriving method has that name.
        """
        for name in methods:
            registry.deriving(name)
        return self._parts.store.set_methods(self._bank, methods, self._parts.clock())

    def run(self, *, settled: bool = False, params: WorkParams | None = None) -> Worked:
        """Do the bank's jobs now, in this process.

        Args:
            settled: leave turns that are newer than `WorkParams.settle_s` for later.
            params: how to work.

        Raises:
            ConfigError: no model is configured.
        """
        worker = Worker(self._parts, self._parts.llm(), params)
        return worker.run(bank=self._bank, settled=settled)

    def jobs(self, *states: str) -> list[Job]:
        """The jobs in these states (``waiting``, ``running``, ``failed``), or all, in order of number."""
        found: list[Job] = []
        while page := self._parts.store.jobs(
            self._bank, states=states, after=found[-1].number if found else 0, limit=_PAGE
        ):
            found += page
        return found

    def retry(self, numbers: Sequence[int] = ()) -> int:
        """Make these jobs due now, or all that have failed, given up or not; returns how many."""
        again = numbers or [job.number for job in self.jobs() if has_failed(job)]
        if not again:
            return 0
        return self._parts.store.retry_jobs(self._bank, again, self._parts.clock())

    def rebuild(self, method: str) -> dict[str, int]:
        """Drop what the method has derived, and queue all of it anew where the bank uses it; removed rows by table.

        Raises:
            ConfigError: no deriving method has that name.
        """
        registry.deriving(method)
        removed = self._parts.store.rebuild(self._bank, method, self._parts.clock())
        self._parts.records.drop(self._bank)
        self._parts.facts.drop(self._bank)
        return removed

    def records(self, method: str) -> Iterator[DerivedRecord]:
        """What the method has derived, in order of number; reads page by page."""
        after = 0
        while True:
            columns = self._parts.store.record_columns(self._bank, method, after=after)
            numbers = columns.number[:_PAGE].tolist()
            if not numbers:
                return
            found = self._parts.store.records(self._bank, numbers)
            yield from (found[number] for number in numbers if number in found)
            after = numbers[-1]

    def costs(self) -> list[CallSummary]:
        """Calls, tokens and time by phase, method and model: a query over the ledger."""
        return self._parts.store.call_summary(self._bank)


def has_failed(job: Job) -> bool:
    """Whether the job is given up, or waits to be tried again."""
    return job.state is JobState.FAILED or (job.state is JobState.WAITING and job.tries > 0)


__all__ = ["Enrichment", "Failed", "WorkParams", "Worked", "Worker"]

"""The worker: claims jobs, lets their method derive, and records how it went.

`remember` never waits for it. A worker may be killed at any time: its lease runs out, another one claims the job, and what
was stored before is not done again.
"""

from __future__ import annotations

import os
import random
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from combray import registry
from combray.errors import CombrayError, Conflict, ExtractionError, NotFound, RateLimited
from combray.llm.base import LLM, Occasion
from combray.memory.ledger import ledger
from combray.memory.parts import Parts
from combray.memory.rows import halved
from combray.methods.workbench import Deriving, Workbench
from combray.model import Job
from combray.store.derived import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkParams:
    """How a worker goes about its work.

    Attributes:
        settle_s: a session's new turns wait so long for those that follow, so that a window is read when it is whole.
        lease_s: after so long without a sign of life another worker may take the job; renewed while it runs.
        max_tries: a job that has failed so often waits for `combray jobs --retry`.
        first_delay_s: before the second try; doubled for each further one, with jitter of up to a half.
        max_delay_s: bound on that.
        concurrency: most calls to the model at once.
    """

    settle_s: float = 60.0
    lease_s: float = 120.0
    max_tries: int = 6
    first_delay_s: float = 15.0
    max_delay_s: float = 3600.0
    concurrency: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A job that did not go well; it stays in the store and says the same there.

    Attributes:
        job: which.
        code: of the error.
        error: what happened, and to which call.
        due_at: when it is tried again; None where it waits for `combray jobs --retry`.
    """

    job: Job
    code: str
    error: str
    due_at: datetime | None


class Abandoned(CombrayError):
    """A job whose workers have all died of it, or were killed."""

    code = "abandoned"

    def __init__(self) -> None:
        super().__init__(
            "every worker that took this job has died before it was done; "
            "`combray jobs --retry` has it tried again."
        )


@dataclass(slots=True, kw_only=True)
class Worked:
    """What a worker did.

    Attributes:
        done: number of jobs that went well.
        failed: those that did not.
        stopped: why it stopped before all was done, or empty.
    """

    done: int = 0
    failed: list[Failed] = field(default_factory=list)
    stopped: str = ""


def unwatched(job: Job) -> None:
    """Tell nobody."""


class Worker:
    """Does enrichment jobs, one at a time, each with a pool of calls.

    Any number of workers may run, in any number of processes.

    Args:
        parts: the memory's.
        llm: the model.
        params: see there.
        on_job: is told of each job before it is done.
    """

    def __init__(
        self,
        parts: Parts,
        llm: LLM,
        params: WorkParams | None = None,
        on_job: Callable[[Job], None] = unwatched,
    ) -> None:
        self._parts = parts
        self._llm = llm
        self._params = params or WorkParams()
        self._on_job = on_job
        self.name = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"

    def run(
        self,
        *,
        bank: str | None = None,
        methods: Sequence[str] = (),
        settled: bool = True,
        stop: threading.Event | None = None,
    ) -> Worked:
        """Do all jobs that are due, those that come up meanwhile included.

        Args:
            bank: of this bank only.
            methods: of these methods only.
            settled: leave new turns for `settle_s`; off takes them at once.
            stop: when set, the job in hand is finished and no other begun.
        """
        worked = Worked()
        while not (stop is not None and stop.is_set()):
            job = self._claimed(bank, methods, settled)
            if job is None:
                return worked
            self._on_job(job)
            failed = self._done(job)
            if failed is None:
                worked.done += 1
                continue
            worked.failed.append(failed)
            if failed.code == "unauthorised":
                worked.stopped = failed.error
                return worked
        worked.stopped = "asked to stop"
        return worked

    def _claimed(self, bank: str | None, methods: Sequence[str], settled: bool) -> Job | None:
        now = self._parts.clock()
        wait = timedelta(seconds=self._params.settle_s if settled else 0)
        return self._parts.store.claim(
            self.name,
            now=now,
            lease_s=self._params.lease_s,
            bank=bank,
            methods=tuple(methods),
            settled_before=now - wait,
        )

    def _done(self, job: Job) -> Failed | None:
        """Do the job and record how it went; None where it went well."""
        if job.tries >= self._params.max_tries:
            return self._failed(job, Abandoned())
        try:
            with self._alive(job):
                self._method(job).derive(self._bench(job))
        except Exception as error:  # noqa: BLE001 (an edge: one job; a bug in a method must not end the worker)
            # Another worker has the job by now, or the bank is gone: there is nothing of ours to record.
            if isinstance(error, Conflict | NotFound) and not self._still_ours(job):
                return None
            return self._failed(job, error)
        except KeyboardInterrupt:
            self._let_go(job)
            raise
        self._parts.store.finish(job.bank, job.number, self.name, job.version)
        return None

    def _failed(self, job: Job, error: Exception) -> Failed:
        now = self._parts.clock()
        code = error.code if isinstance(error, CombrayError) else "bug"
        failed = Failed(
            job=job,
            code=code,
            error=_told(error),
            due_at=None
            if job.tries + 1 >= self._params.max_tries
            else now + self._delay(job, error),
        )
        self._parts.store.fail(
            job.bank,
            job.number,
            self.name,
            code=code,
            error=failed.error,
            raw=error.raw if isinstance(error, ExtractionError) else "",
            due_at=failed.due_at,
        )
        return failed

    def _let_go(self, job: Job) -> None:
        """Leave the job to the next worker now, and not only when the lease has run out."""
        self._parts.store.fail(
            job.bank,
            job.number,
            self.name,
            code="interrupted",
            error="the worker was interrupted; what was done is stored.",
            due_at=self._parts.clock(),
        )

    def _delay(self, job: Job, error: Exception) -> timedelta:
        params = self._params
        delay = min(params.first_delay_s * 2**job.tries, params.max_delay_s)
        delay *= 1 + random.random() / 2
        if isinstance(error, RateLimited) and error.retry_after_s is not None:
            delay = max(delay, error.retry_after_s)
        return timedelta(seconds=delay)

    @contextmanager
    def _alive(self, job: Job) -> Iterator[None]:
        """Renew the lease of the job while the block runs."""
        over = threading.Event()

        def renew() -> None:
            while not over.wait(self._params.lease_s / 3):
                until = self._parts.clock() + timedelta(seconds=self._params.lease_s)
                if not self._parts.store.renew(job.bank, job.number, self.name, until):
                    return

        thread = threading.Thread(target=renew, name="combray-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _still_ours(self, job: Job) -> bool:
        until = self._parts.clock() + timedelta(seconds=self._params.lease_s)
        try:
            return self._parts.store.renew(job.bank, job.number, self.name, until)
        except NotFound:
            return False

    def _method(self, job: Job) -> Deriving:
        return registry.deriving(job.method)

    def _bench(self, job: Job) -> Workbench:
        parts = self._parts
        bank = parts.store.bank(job.bank)
        embedder = parts.embedder_for(bank)

        def embed(texts: Sequence[str]) -> list[bytes]:
            assert embedder is not None
            return halved(embedder.embed(texts))

        def occasion(phase: str, docs: Sequence[int]) -> Occasion:
            return ledger(parts, job.bank, phase=phase, method=job.method, docs=docs)

        return Workbench(
            bank=bank,
            job=job,
            claim=Claim(job=job.number, worker=self.name),
            store=parts.store,
            records=lambda method: parts.records.view(job.bank, method),
            facts=lambda method: parts.facts.view(job.bank, method),
            analyser=parts.analyser_for(bank),
            embed=embed if embedder is not None else None,
            llm=self._llm,
            occasion=occasion,
            concurrency=self._params.concurrency,
            clock=parts.clock,
        )


def _told(error: Exception) -> str:
    """The error with the notes that say which call it was."""
    said = str(error) if isinstance(error, CombrayError) else f"{type(error).__name__}: {error}"
    return " ".join([said, *getattr(error, "__notes__", ())])

"""What a method works with while it derives records from a bank's turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from combray.errors import CombrayError, Unauthorised
from combray.index.records import RecordView
from combray.llm.base import LLM, Occasion
from combray.model import Bank, Clock, Job
from combray.store.base import Store
from combray.store.derived import Claim, Derivation, DerivedReceipt

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """One job with what is needed to do it.

    Attributes:
        bank: as it was when the job was claimed.
        job: what is to be done.
        claim: names this worker in every write; one that is no longer its own is refused.
        store: durable rows.
        records: the bank's records of a method as arrays.
        embed: float16 vectors of texts, as stored; None while the bank has no embedder.
        llm: the model.
        occasion: on whose behalf a call of that phase is made.
        concurrency: most calls at once.
        clock: what time it is.
    """

    bank: Bank
    job: Job
    claim: Claim
    store: Store
    records: Callable[[str], RecordView]
    embed: Callable[[Sequence[str]], list[bytes]] | None
    llm: LLM
    occasion: Callable[[str, Sequence[int]], Occasion]
    concurrency: int
    clock: Clock

    def derive(self, derivation: Derivation) -> DerivedReceipt:
        """Store what was derived, in one transaction.

        Raises:
            Conflict: the claim is no longer ours; nothing was stored.
        """
        return self.store.derive(
            self.bank.name,
            self.job.method,
            derivation,
            at=self.clock(),
            claim=self.claim,
        )

    def vectors(self, texts: Sequence[str]) -> list[bytes | None]:
        """The vectors of the texts, None for each where the bank has no embedder."""
        if self.embed is None or not texts:
            return [None] * len(texts)
        return [*self.embed(texts)]


class Deriving(Protocol):
    """A method that derives records with a model."""

    @property
    def name(self) -> str:
        """What it is called on every surface."""

    def derive(self, bench: Workbench) -> None:
        """Do the job of the bench: work out what is lacking, and store each piece as soon as it is there.

        Doing it twice, or half and then again, gives what doing it once gives.

        Raises:
            CombrayError: a call failed; what was stored before stays, and the job is to be done again.
        """


@dataclass(slots=True)
class Failures:
    """The errors of several calls; the work goes on, and the first one is raised in the end."""

    errors: list[CombrayError] = field(default_factory=list)

    def check(self, n: int) -> None:
        """Raise the first error, told how many of the `n` calls failed."""
        if self.errors:
            first = self.errors[0]
            first.add_note(f"{len(self.errors)} of {n} calls failed; the others are stored.")
            raise first


def in_pool(
    function: Callable[[T], R], items: Sequence[T], failures: Failures, *, n_threads: int
) -> Iterator[tuple[T, R]]:
    """Each item with its result, in order; what fails goes to `failures`, and a refused key ends it."""
    if not items:
        return
    with ThreadPoolExecutor(max_workers=min(n_threads, len(items))) as pool:
        futures = [(item, pool.submit(function, item)) for item in items]
        try:
            for item, future in futures:
                try:
                    result = future.result()
                except CombrayError as error:
                    failures.errors.append(error)
                    if isinstance(error, Unauthorised):
                        return
                    continue
                yield item, result
        finally:
            for _, future in futures:
                future.cancel()

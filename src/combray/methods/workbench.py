"""What a method works with while it derives records from a bank's turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from combray import prompts
from combray.errors import CombrayError, Conflict, Unauthorised
from combray.index.facts import FactView
from combray.index.records import RecordView
from combray.llm.base import LLM, Occasion, messages_of
from combray.model import Bank, Clock, Job, MadeBy, Turn
from combray.store.base import Store
from combray.store.derived import Claim, Derivation, DerivedReceipt
from combray.text.base import Analyser

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")
R = TypeVar("R")

_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """One job with what is needed to do it.

    Attributes:
        bank: as it was when the job was claimed.
        job: what is to be done.
        claim: names this worker in every write; one that is no longer its own is refused.
        store: durable rows.
        records: the bank's records of a method as arrays.
        facts: what is noted of them, likewise.
        analyser: the bank's.
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
    facts: Callable[[str], FactView]
    analyser: Analyser
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
            self.method,
            derivation,
            at=self.clock(),
            claim=self.claim,
        )

    def vectors(self, texts: Sequence[str]) -> list[bytes | None]:
        """The vectors of the texts, None for each where the bank has no embedder."""
        if self.embed is None or not texts:
            return [None] * len(texts)
        return [*self.embed(texts)]

    @property
    def method(self) -> str:
        """Name of the method whose job it is."""
        return self.job.method

    def change(self, **change: object) -> Derivation:
        """A derivation whose vectors are those of the bank's embedder."""
        return Derivation(embedder=self.bank.embedder, **change)  # type: ignore[arg-type]

    def turns(self, session: str) -> list[tuple[int, Turn]]:
        """The turns of the session with their document numbers, in order."""
        found: list[tuple[int, Turn]] = []
        while page := self.store.scan(
            self.bank.name, session=session, after=found[-1][0] if found else 0, limit=_PAGE
        ):
            found += page
        return found

    def ask(
        self, prompt: Prompted, schema: type[BaseModel], *, docs: Sequence[int], about: str
    ) -> Any:  # noqa: ANN401 (a value of the schema)
        """The model's reply to a prompt, as a value of the schema.

        Args:
            prompt: which one, with its values.
            schema: what the reply must be.
            docs: documents that it reads; the reply is kept no longer than they are.
            about: ends the sentence "It was asked …" of an error.

        Raises:
            CombrayError: the call failed; says which.
        """
        messages = messages_of(prompts.load(prompt.name).messages(**prompt.values))
        try:
            reply = self.llm.complete(
                messages, schema, occasion=self.occasion(prompt.phase, sorted(set(docs)))
            )
        except CombrayError as error:
            error.add_note(f"It was asked {about}.")
            raise
        return reply.parsed

    def made_by(self, prompt: str = "") -> MadeBy:
        """Who makes a record: with a prompt its hash and the model, without one the method alone."""
        if not prompt:
            return MadeBy(method=self.method)
        hash_ = prompts.load(prompt).hash
        return MadeBy(method=self.method, prompt=hash_, model=self.llm.name)


@dataclass(frozen=True, slots=True)
class Prompted:
    """A prompt with the values for its places.

    Attributes:
        name: of the prompt.
        phase: what the call counts for in the ledger.
        values: by place.
    """

    name: str
    phase: str
    values: dict[str, str]


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

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep an error of the block for later; a refused key, or a claim that is no longer held, ends the work."""
        try:
            yield
        except (Unauthorised, Conflict):
            raise
        except CombrayError as error:
            self.errors.append(error)


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

"""Running methods over a data set through the public façade.

The banks are written once, in one pass of the embedder, and asked by every method. A question is put with its own
*now*, and, where it may see only earlier sessions, under a filter on sessions: a filter changes which turns are ranked,
never the document frequencies and lengths of the bank, which are those of all its turns.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from combray import registry
from combray.config import Settings
from combray.embed.base import Embedder
from combray.errors import InvalidInput, NotFound
from combray.eval.datasets import BankData, Dataset, Question, TurnKey
from combray.llm.base import LLM
from combray.memory import BankMemory, Memory
from combray.methods.base import Method
from combray.model import Filters, Hit, Recall, Turn

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How an experiment is run.

    Attributes:
        data: the benchmark's file or folder; None for the data root.
        store: database to write the banks into, and to use again if they are there; None for a temporary one.
        embedder: an embedder, the name of one, or None for the settings' own.
        settings: of the memory; None for those of the environment.
        seed: of every random choice.
        progress: told how far it is.
        llm: the language model of the memory, or None for the settings'.
    """

    data: Path | str | None = None
    store: Path | str | None = None
    embedder: Embedder | str | None = None
    settings: Settings | None = None
    seed: int = 0
    progress: Progress = silent
    llm: LLM | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A data set in a store.

    Attributes:
        memory: open.
        banks: by the name of the data set's bank.
        embedder: id of the embedder of the vectors, or None.
        counter: name of the token counter.
    """

    memory: Memory
    banks: dict[str, BankMemory]
    embedder: str | None
    counter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one method answered to one question.

    Attributes:
        recalls: by token budget.
        ranked: keys of the ranked turns, best first.
        sessions: their sessions, in order of first appearance.
        recall_ms: of a whole recall, with the query's analysis and encoding.
        search_ms: of the part after them.
    """

    recalls: dict[int, Recall]
    ranked: tuple[TurnKey, ...]
    sessions: tuple[str, ...]
    recall_ms: float
    search_ms: float

    @property
    def support(self) -> float:
        """How likely the bank holds an answer, as the method sees it."""
        return next(iter(self.recalls.values())).support


@contextmanager
def written(dataset: Dataset, setup: Setup) -> Iterator[Written]:
    """The data set's banks, written; a temporary store is gone afterwards.

    Turns carry ids, so writing again what a kept store holds does nothing.

    Raises:
        EmbedderMismatch: the kept store was written with another embedder.
    """
    with tempfile.TemporaryDirectory(prefix="combray-bench-") as folder:
        path = Path(setup.store) if setup.store is not None else Path(folder) / "bench.db"
        settings = setup.settings or Settings.from_environment()
        with Memory.open(path, settings=settings, embedder=setup.embedder, llm=setup.llm) as memory:
            banks = {}
            for bank in dataset.banks:
                banks[bank.name] = _write(memory, dataset, bank, setup.progress)
            embedder = next(iter(banks.values())).bank.embedder
            yield Written(memory=memory, banks=banks, embedder=embedder, counter=settings.counter)


def chosen(method: Method | str) -> Method:
    """The method itself, or the one of that name."""
    return registry.method(method) if isinstance(method, str) else method


def distinct(methods: Sequence[Method | str]) -> list[Method]:
    """The methods, each once.

    Raises:
        InvalidInput: there is none.
        ConfigError: no method has that name.
    """
    if not methods:
        raise InvalidInput("name at least one method.")
    return list({method.name: method for method in map(chosen, methods)}.values())


class Asker:
    """Puts questions to a bank, and remembers what encoding each one took.

    The façade keeps the vectors of queries that come again. The encoding is therefore timed when a question is asked
    for the first time, and counts for every method.
    """

    def __init__(self, bank: BankMemory, data: BankData) -> None:
        self._bank = bank
        self._data = data
        self._encoding_ms: dict[str, float] = {}

    def ask(self, question: Question, method: Method, *, k: int, budgets: Sequence[int]) -> Asked:
        """One recall for each budget; the first one is timed and gives the ranking."""
        recalls = {budget: self._recall(question, method, k, budget) for budget in budgets}
        first = recalls[budgets[0]]
        ranked = tuple(key_of(hit.turn) for hit in first.hits)
        timings = first.trace.timings_ms
        encoding = self._encoding_ms.setdefault(question.id, timings["total"] - timings["search"])
        return Asked(
            recalls=recalls,
            ranked=ranked,
            sessions=tuple(dict.fromkeys(session for session, _ in ranked)),
            recall_ms=timings["search"] + encoding,
            search_ms=timings["search"],
        )

    def turns(self, question: Question, method: Method, *, k: int) -> list[TurnKey]:
        """The keys of the first k turns, best first."""
        return [key_of(hit.turn) for hit in self._rank(question, method, k)]

    def sessions(self, question: Question, method: Method, *, n: int) -> list[str]:
        """At least the first n sessions in order of first appearance, if so many can be ranked at all.

        The ranking is deepened until they appear.
        """
        k = min(20 * n, max(self._data.n_turns, 1))
        while True:
            hits = self._rank(question, method, k)
            found = list(dict.fromkeys(hit.turn.session for hit in hits))
            if len(found) >= n or len(hits) < k or k >= self._data.n_turns:
                return found
            k = min(4 * k, self._data.n_turns)

    def _recall(self, question: Question, method: Method, k: int, budget: int) -> Recall:
        return self._bank.recall(
            question.text,
            k=k,
            budget_tokens=budget,
            method=method,
            now=question.asked_at or self._data.ends_at,
            filters=self._filters(question),
            abstain=False,
        )

    def _rank(self, question: Question, method: Method, k: int) -> list[Hit]:
        return self._bank.rank(
            question.text,
            k=k,
            method=method,
            now=question.asked_at or self._data.ends_at,
            filters=self._filters(question),
        )

    def _filters(self, question: Question) -> Filters:
        if question.before_session is None:
            return Filters()
        return Filters(sessions=self._data.sessions_before(question.before_session))


def key_of(turn: Turn) -> TurnKey:
    """Session and client id: what gold evidence names a turn by."""
    return turn.session, turn.client_id or ""


def _write(memory: Memory, dataset: Dataset, data: BankData, progress: Progress) -> BankMemory:
    name = f"{dataset.name}/{data.name}"
    try:
        bank = memory.bank(name)
    except NotFound:
        bank = memory.create_bank(name, zone="UTC")
    for done, item in enumerate(data.sessions):
        progress(f"writing {data.name}", done, len(data.sessions))
        bank.remember(item.turns, session=item.session)
    progress(f"writing {data.name}", len(data.sessions), len(data.sessions))
    return bank

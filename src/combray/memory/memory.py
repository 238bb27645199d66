"""Opens a store and hands out banks."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import TracebackType
from typing import TYPE_CHECKING, Self
from weakref import finalize

from combray import registry
from combray.config import Settings
from combray.embed.base import Embedder
from combray.errors import Conflict, InvalidInput, NotFound, ScopeError, WeightsUnavailable
from combray.index.cache import ViewCache
from combray.memory import checks
from combray.memory.bank import BankMemory
from combray.memory.finding import near
from combray.memory.parts import Parts, resolved
from combray.methods.base import Method
from combray.model import Bank, Clock, Job, utc_now
from combray.model.time import zone as checked_zone
from combray.model.turn import checked_bank_name
from combray.store.base import Finding, ForgetReceipt, Selection, Store
from combray.text.base import Analyser

if TYPE_CHECKING:
    from combray.llm.base import LLM
    from combray.memory.enriching import Worker, WorkParams


class Memory:
    """Banks over one store. Use it as a context manager, from any number of threads.

    Args:
        store: where the evidence lives; closed with the memory.
        settings: defaults for what is not passed.
        embedder: an embedder, the name of one, ``"none"``, or ``"auto"`` (the default model if its weights can be
            had, else none: everything works lexically and says so).
        analyser: an analyser or the name of one; counts for new banks.
        method: a method or the name of one, for `BankMemory.recall`.
        clock: what time it is.
        llm: the language model for enrichment and answers; where not given, that of the settings, when first needed.
    """

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings | None = None,
        embedder: Embedder | str | None = None,
        analyser: Analyser | str | None = None,
        method: Method | str | None = None,
        clock: Clock = utc_now,
        llm: LLM | None = None,
    ) -> None:
        settings = settings or Settings()
        self._parts = Parts(
            store=store,
            views=ViewCache(store, settings.cache_mb << 20),
            settings=settings,
            embedder=_embedder(settings.embedder if embedder is None else embedder),
            method=resolved(settings.method if method is None else method),
            clock=clock,
            llm=llm,
        )
        if analyser is not None and not isinstance(analyser, str):
            checks.made(analyser, "an analyser", "analyse", "id")
        self._analyser = self._parts.keep_analyser(analyser or settings.analyser)
        self._folder: finalize[[Path, int], Memory] | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        settings: Settings | None = None,
        embedder: Embedder | str | None = None,
        analyser: Analyser | str | None = None,
        method: Method | str | None = None,
        clock: Clock = utc_now,
        llm: LLM | None = None,
    ) -> Self:
        """A memory over the SQLite file at `path`, which is made if it does not exist.

        Args:
            path: a file, ``":memory:"`` for a temporary one that is gone at `close`, or None for the user's default file.
            settings: where not given, those of the environment (``COMBRAY_…``).
            embedder: see the class.
            analyser: see the class.
            method: see the class.
            clock: see the class.
            llm: see the class.

        Raises:
            ConfigError: there is no embedder, analyser or method of that name.
            NotOurFile: the file is something else, or damaged.
            MigrationError: it was made by a newer version.
        """
        from combray.store.sqlite import SqliteStore

        if path is not None and not isinstance(path, str | os.PathLike):
            raise InvalidInput(f"a database is a path, not {path!r}.")
        if settings is not None:
            checks.made(settings, "Settings", "synchronous", "database")
        settings = settings or Settings.from_environment()
        folder: Path | None = None
        if str(path) == ":memory:":
            folder = Path(mkdtemp(prefix="combray-"))
            target = folder / "memory.db"
        else:
            target = Path(settings.database if path is None else path)
        if path is None:
            target = target.expanduser()
            target.parent.mkdir(parents=True, exist_ok=True)
        store = SqliteStore(target, synchronous=settings.synchronous)
        try:
            memory = cls(
                store,
                settings=settings,
                embedder=embedder,
                analyser=analyser,
                method=method,
                clock=clock,
                llm=llm,
            )
        except BaseException:
            store.close()
            if folder is not None:
                _remove(folder, os.getpid())
            raise
        if folder is not None:
            memory._folder = finalize(memory, _remove, folder, os.getpid())
        return memory

    def close(self) -> None:
        """Release the store and the arrays."""
        self._parts.views.clear()
        self._parts.records.clear()
        self._parts.facts.clear()
        self._parts.store.close()
        if self._folder is not None:
            self._folder()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def embedder(self) -> Embedder | None:
        """The embedder in use, loaded; None where there is none.

        Raises:
            WeightsUnavailable: it was asked for by name, and its weights cannot be had.
        """
        return self._parts.embedder()

    @property
    def store(self) -> Store:
        """The store, for those who need rows."""
        return self._parts.store

    def create_bank(self, name: str, *, zone: str | None = None) -> BankMemory:
        """A new, empty bank.

        Args:
            name: unique in the store.
            zone: IANA name of the zone in which its naive times are read; the settings' where not given.

        Raises:
            Conflict: a bank of that name exists.
            ConfigError: there is no such zone.
        """
        zone = zone or self._parts.settings.zone
        checked_zone(zone)
        embedder = self._parts.embedder()
        self._parts.store.create_bank(
            Bank(
                name=checked_bank_name(_scoped(name)),
                zone=zone,
                analyser=self._analyser.id,
                embedder=embedder.id if embedder else None,
                dimension=embedder.dimension if embedder else 0,
                created_at=self._parts.clock(),
            )
        )
        return BankMemory(name, self._parts)

    def bank(self, name: str, *, create: bool = False) -> BankMemory:
        """The bank of that name.

        Args:
            name: the bank; leaving it out is an error, never "all banks".
            create: make it if it does not exist.

        Raises:
            NotFound: there is none and `create` is off.
            ScopeError: the name is empty.
        """
        if create and not self._has(name):
            with suppress(Conflict):
                return self.create_bank(name)
        self._check_exists(name)
        return BankMemory(name, self._parts)

    def _has(self, name: str) -> bool:
        with suppress(NotFound):
            self._parts.store.bank(_scoped(name))
            return True
        return False

    def worker(
        self, params: WorkParams | None = None, *, on_job: Callable[[Job], None] | None = None
    ) -> Worker:
        """One who does the jobs of this store's banks; see `Worker.run`.

        Args:
            params: how to work.
            on_job: is told of each job before it is done.

        Raises:
            ConfigError: no language model is configured.
        """
        from combray.memory.enriching import Worker, unwatched

        return Worker(self._parts, self._parts.llm(), params, on_job or unwatched)

    def banks(self, *, after: str = "", limit: int = 100) -> list[Bank]:
        """Banks in order of name, at most `limit` of those after `after`."""
        checks.text(after, "after")
        return self._parts.store.banks(
            after=after, limit=checks.whole_number(limit, "limit", least=0)
        )

    def forget_bank(self, name: str) -> ForgetReceipt:
        """Delete the bank with everything in it, from every table and from the file's bytes.

        Raises:
            NotFound: there is none.
            ScopeError: the name is empty.
        """
        self._check_exists(name)
        receipt = self._parts.store.forget(
            _scoped(name), Selection(whole_bank=True), self._parts.clock()
        )
        self._parts.drop(name)
        return receipt

    def check(self, bank: str | None = None) -> list[Finding]:
        """What `combray doctor` finds: damage, and derived rows that do not fit their turns."""
        if bank is not None:
            self._check_exists(bank)
        return [*self._parts.store.check(bank, now=self._parts.clock()), *self._embedder_findings()]

    def _check_exists(self, name: str) -> None:
        """Raise an error that names the banks that are spelt alike, if there is none of that name."""
        store = self._parts.store
        try:
            store.bank(_scoped(name))
        except NotFound as error:
            names = (bank.name for bank in store.banks(limit=10_000))
            raise NotFound("bank", name, near(name, names, "combray banks")) from error

    def _embedder_findings(self) -> list[Finding]:
        if self._parts.names_no_embedder():
            return [Finding(severity="ok", what="No embedder is configured: recall is lexical.")]
        try:
            embedder = self._parts.embedder()
        except WeightsUnavailable as error:
            return [Finding(severity="error", what=str(error), remedy="combray models fetch")]
        if embedder is None:
            return [
                Finding(
                    severity="warning",
                    what="The weights of the default embedder are not here: recall is lexical.",
                    remedy="combray models fetch",
                )
            ]
        return [Finding(severity="ok", what=f"Embedder: {embedder.id}.")]


def _remove(folder: Path, owner: int) -> None:
    """Remove a temporary database, unless this is a child of the process that owns it."""
    if os.getpid() == owner:
        rmtree(folder, ignore_errors=True)


def _scoped(name: str) -> str:
    if name is None or name == "":
        raise ScopeError("name the bank: no call reaches all banks at once.")
    return checks.text(name, "a bank's name")


def _embedder(embedder: Embedder | str) -> Embedder | str:
    if isinstance(embedder, str):
        return registry.embedder_name(embedder)
    return checks.made(embedder, "an embedder", "embed", "dimension")

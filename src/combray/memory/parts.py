"""The parts that the banks of one memory share."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from warnings import warn

from combray import registry
from combray.config import Settings
from combray.embed.base import Embedder
from combray.embed.cache import CachedEmbedder
from combray.errors import EmbedderMismatch, WeightsUnavailable
from combray.index.cache import ViewCache
from combray.index.facts import FactCache
from combray.index.records import RecordCache
from combray.memory import checks
from combray.methods.base import Method
from combray.model import Bank, Clock
from combray.pack.budget import RememberingCounter
from combray.store.base import Store
from combray.text.base import Analyser

if TYPE_CHECKING:
    from combray.llm.base import LLM


def resolved(method: Method | str) -> Method:
    """The method itself, or the one of that name.

    Raises:
        ConfigError: no method has that name.
        InvalidInput: it is neither.
    """
    if isinstance(method, str):
        return registry.method(method)
    return checks.made(method, "a method", "rank", "default_budget_tokens")


class LexicalOnly(UserWarning):
    """The default encoder's weights cannot be had: recall goes by words alone."""


class Parts:
    """Store, arrays, analysers, embedder, method, counter, language model and clock; each made once, when first needed."""

    def __init__(
        self,
        *,
        store: Store,
        views: ViewCache,
        settings: Settings,
        embedder: Embedder | str,
        method: Method,
        clock: Clock,
        llm: LLM | None = None,
    ) -> None:
        self.store = store
        self.views = views
        self.records = RecordCache(store, settings.cache_mb << 19)
        self.facts = FactCache(
            store,
            self.records,
            lambda bank: views.view(bank).columns.speakers,
            settings.cache_mb << 18,
        )
        self.settings = settings
        self.method = method
        self.counter = RememberingCounter(registry.counter(settings.counter))
        self.clock = clock
        self._llm = llm
        self._wanted = embedder
        self._embedder: Embedder | None = None
        self._resolved = False
        self._analysers: dict[str, Analyser] = {}
        self._lock = threading.Lock()

    def llm(self) -> LLM:
        """The language model.

        Raises:
            ConfigError: none is configured.
        """
        with self._lock:
            if self._llm is None:
                self._llm = registry.llm(self.settings)
            return self._llm

    def drop(self, bank: str) -> None:
        """Let go of the bank's arrays."""
        self.views.drop(bank)
        self.records.drop(bank)
        self.facts.drop(bank)

    def names_no_embedder(self) -> bool:
        """Whether the caller wants no vectors."""
        return self._wanted == "none"

    def embedder(self) -> Embedder | None:
        """The embedder in use, or None.

        Raises:
            WeightsUnavailable: it was asked for by name, and its weights cannot be had.
        """
        with self._lock:
            if not self._resolved:
                self._embedder = self._resolve()
                self._resolved = True
            return self._embedder

    def embedder_for(self, bank: Bank) -> Embedder | None:
        """The embedder to use with the bank's vectors; None where either side has none.

        Raises:
            EmbedderMismatch: the bank's vectors are of another model or dimension.
        """
        if bank.embedder is None:
            return None
        embedder = self.embedder()
        if embedder is None:
            return None
        if (embedder.id, embedder.dimension) != (bank.embedder, bank.dimension):
            raise EmbedderMismatch(
                bank.name,
                f"{bank.embedder}/{bank.dimension}",
                f"{embedder.id}/{embedder.dimension}",
            )
        return embedder

    def keep_analyser(self, analyser: Analyser | str) -> Analyser:
        """The analyser, kept for the banks that it has analysed."""
        made = registry.analyser(analyser) if isinstance(analyser, str) else analyser
        with self._lock:
            self._analysers[made.id] = made
        return made

    def analyser_for(self, bank: Bank) -> Analyser:
        """The analyser that made the bank's postings.

        Raises:
            ConfigError: this version does not have it.
        """
        with self._lock:
            held = self._analysers.get(bank.analyser)
        return held or self.keep_analyser(bank.analyser)

    def _resolve(self) -> Embedder | None:
        if not isinstance(self._wanted, str):
            return self._wanted
        if self._wanted == "none":
            return None
        if self._wanted != "auto":
            return CachedEmbedder(registry.embedder(self._wanted, self.settings))
        try:
            return CachedEmbedder(registry.embedder("minilm", self.settings))
        except WeightsUnavailable as error:
            warn(
                f"{error} Until then banks work without vectors: recall is lexical.",
                LexicalOnly,
                stacklevel=2,
            )
            return None

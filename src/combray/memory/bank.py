"""One bank and its verbs: remember, recall, rank, forget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from combray import registry
from combray.embed.base import Embedder
from combray.errors import InvalidInput
from combray.memory.drafts import DraftLike
from combray.memory.parts import Parts
from combray.memory.reading import Request, Stages, find, recall
from combray.memory.writing import (
    Reindexed,
    Remembered,
    add_vectors,
    analyse_again,
    drafts_of,
    put_turns,
    write,
)
from combray.methods.base import Method
from combray.model import Bank, Filters, Hit, Recall, Role, Session, Turn
from combray.store.base import ForgetReceipt, Selection
from combray.text.base import Analyser

_PAGE = 1000


class BankMemory:
    """The verbs over one bank; made by `Memory.bank` and `Memory.create_bank`."""

    def __init__(self, name: str, parts: Parts) -> None:
        self._name = name
        self._parts = parts

    @property
    def name(self) -> str:
        """The bank's name."""
        return self._name

    @property
    def bank(self) -> Bank:
        """The bank's settings and counts, as they are now."""
        return self._parts.store.bank(self._name)

    def remember(
        self,
        turns: DraftLike | Iterable[DraftLike],
        *,
        session: str | Session | None = None,
        speaker: str | None = None,
        role: Role | str | None = None,
        said_at: datetime | str | None = None,
    ) -> Remembered:
        """Store turns; durable, with their postings and vectors, when it returns.

        Adding a turn again is a no-op that says so. A list of turns without ids and times may be the session's
        whole transcript, sent again: only its new tail is stored. A single turn without a time is said now.

        Args:
            turns: a text, a `TurnDraft` or a mapping with its fields, or several of them in order.
            session: their session; the day they were said on where not given.
            speaker: of the turns that name none.
            role: of the turns that name none.
            said_at: of the turns that name no time.

        Raises:
            InvalidInput: a turn cannot be stored; nothing was.
            Conflict: an id is stored with other content; nothing was stored.
            EmbedderMismatch: the bank's vectors are of another model; nothing was stored.
        """
        now = self._parts.clock()
        drafts = drafts_of(turns, {"speaker": speaker, "role": role, "said_at": said_at}, now)
        where = Session(name=session) if isinstance(session, str) else session
        return write(self._parts, self.bank, where, drafts, now)

    def restore(self, session: Session, turns: Sequence[Turn]) -> Remembered:
        """Store turns of an export under the ids they have; otherwise as `remember`."""
        return put_turns(self._parts, self.bank, session, turns)

    def recall(
        self,
        query: str,
        *,
        k: int | None = None,
        budget_tokens: int | None = None,
        method: Method | str | None = None,
        now: datetime | None = None,
        filters: Filters | None = None,
        abstain: bool = True,
    ) -> Recall:
        """The evidence for a question, within a token budget, or a reason for none.

        Args:
            query: the question.
            k: most turns to rank; the method's default where not given.
            budget_tokens: bound on the rendered pack; the method's default where not given.
            method: a method or the name of one; the memory's where not given.
            now: what "last week" is measured from: the clock's time where not given, naive in the bank's zone.
            filters: what may be ranked.
            abstain: return an empty pack where nothing supports the query; off returns the best there is.

        Raises:
            InvalidInput: the query is empty, or k or the budget is too small.
            EmbedderMismatch: the bank's vectors are of another model.
        """
        request = Request(
            text=query,
            method=self._method(method),
            k=k,
            budget_tokens=budget_tokens,
            now=now,
            filters=filters or Filters(),
            abstain=abstain,
        )
        return recall(self._parts, self._name, request)

    def rank(
        self,
        query: str,
        *,
        k: int | None = None,
        method: Method | str | None = None,
        now: datetime | None = None,
        filters: Filters | None = None,
    ) -> list[Hit]:
        """The ranked turns alone, without a budget; arguments as for `recall`."""
        request = Request(
            text=query, method=self._method(method), k=k, now=now, filters=filters or Filters()
        )
        return list(find(self._parts, self._name, request, Stages()).hits)

    def forget(self, *, turns: Sequence[str] = (), session: str | None = None) -> ForgetReceipt:
        """Delete turns, or a session, with all that hangs on them; the bytes leave the file too.

        Raises:
            NotFound: one of the turns, or the session, does not exist; nothing was removed.
            InvalidInput: neither or both were named.
        """
        if not turns and session is None:
            raise InvalidInput("name what to forget: turn ids, or a session.")
        selection = Selection(turns=tuple(turns), session=session)
        receipt = self._parts.store.forget(self._name, selection, self._parts.clock())
        self._parts.views.drop(self._name)
        return receipt

    def reindex(
        self, *, embedder: Embedder | str | None = None, analyser: Analyser | str | None = None
    ) -> Reindexed:
        """Make postings and vectors anew, while the bank stays readable and writable.

        Args:
            embedder: the model to embed with; the memory's where not given.
            analyser: the analyser; the bank's own where not given.
        """
        bank = self.bank
        chosen = self._chosen_embedder(embedder)
        reader = analyser or registry.analyser_name(bank.analyser)
        analysed = analyse_again(self._parts, bank, self._parts.keep_analyser(reader))
        embedded = add_vectors(self._parts, bank, chosen) if chosen else 0
        return Reindexed(analysed=analysed, embedded=embedded, embedder=self.bank.embedder)

    def sessions(self, *, after: str = "", limit: int = 100) -> list[Session]:
        """Sessions in order of name, at most `limit` of those after `after`."""
        return self._parts.store.sessions(self._name, after=after, limit=limit)

    def turns(self, session: str | None = None) -> Iterator[Turn]:
        """All turns (of the session) in the order they were stored; reads page by page."""
        after = 0
        while page := self._parts.store.scan(self._name, session=session, after=after, limit=_PAGE):
            yield from (turn for _, turn in page)
            after = page[-1][0]

    def get(self, ids: Sequence[str]) -> list[Turn]:
        """The turns of those ids, in that order.

        Raises:
            NotFound: one of them is not in this bank.
        """
        return self._parts.store.turns(self._name, ids)

    def _chosen_embedder(self, embedder: Embedder | str | None) -> Embedder | None:
        if embedder is None:
            return self._parts.embedder()
        if not isinstance(embedder, str):
            return embedder
        if embedder == "none":
            return None
        return registry.embedder(embedder, self._parts.settings)

    def _method(self, method: Method | str | None) -> Method:
        if method is None:
            return self._parts.method
        return registry.method(method) if isinstance(method, str) else method

"""One bank and its verbs: remember, recall, answer, profile, forget, export."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from combray import registry
from combray.embed.base import Embedder
from combray.errors import InvalidInput
from combray.memory import checks, finding
from combray.memory.drafts import DraftLike
from combray.memory.parts import Parts, resolved
from combray.memory.reading import Request, Stages, find, recall
from combray.memory.unmatched import explained
from combray.memory.writing import (
    BATCH,
    Reindexed,
    Remembered,
    add_vectors,
    analyse_again,
    drafts_of,
    drop_vectors,
    put_turns,
    write,
    write_in_batches,
)
from combray.methods.base import Method
from combray.model import Bank, Filters, Hit, Profile, Recall, Role, Session, Turn, aware
from combray.model.time import zone
from combray.store.base import ForgetReceipt, Selection
from combray.text.base import Analyser

if TYPE_CHECKING:
    from combray.answer import Answer
    from combray.memory.answering import Answering, AnswerOptions
    from combray.memory.enrichment import Enrichment


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
        said_at: datetime | date | str | None = None,
    ) -> Remembered:
        """Store turns; durable, with their postings and vectors, when it returns.

        Adding a turn again is a no-op that says so. A list of turns without ids and times may be the session's
        transcript sent again, from its beginning or from a later turn on: only its new tail is stored. A single
        turn without a time is said now.

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
        return write(self._parts, self.bank, checks.session(session), drafts, now)

    def remember_in_batches(
        self,
        turns: Iterable[DraftLike],
        *,
        session: str | Session | None = None,
        size: int = BATCH,
    ) -> Iterator[Remembered]:
        """Store a long list as `remember` does, but `size` turns in a transaction.

        Each batch is durable when it is given. A list that was cut off goes on when it is stored again.
        """
        now = self._parts.clock()
        said = drafts_of(turns, {}, now), now
        size = checks.whole_number(size, "size")
        return write_in_batches(self._parts, self.bank, checks.session(session), said, size=size)

    def restore(self, session: Session, turns: Sequence[Turn]) -> Remembered:
        """Store turns of an export under the ids they have; otherwise as `remember`.

        Raises:
            InvalidInput: a turn is not what its content hash says, or not under the id its client gave; nothing was
                stored.
        """
        named = checks.session(session)
        if named is None:
            raise InvalidInput("name the session of the turns.")
        return put_turns(self._parts, self.bank, named, checks.sound_turns(turns))

    def recall(  # noqa: PLR0913 (one question, and all that may be wanted of it)
        self,
        query: str,
        *,
        k: int | None = None,
        budget_tokens: int | None = None,
        method: Method | str | None = None,
        now: datetime | date | str | None = None,
        filters: Filters | None = None,
        abstain: bool = True,
        plan: bool = False,
    ) -> Recall:
        """The evidence for a question, within a token budget, or a reason for none.

        Args:
            query: the question.
            k: most turns to rank; where not given, as many as the method says, or as the budget may hold: all
                of a small bank.
            budget_tokens: bound on the rendered pack; the method's default where not given.
            method: a method or the name of one; the memory's where not given.
            now: what "last week" is measured from: the clock's time where not given, naive in the bank's zone. It
                hides nothing that was said later: that is what ``Filters(until=…)`` is for.
            filters: what may be ranked.
            abstain: return an empty pack where nothing supports the query; off returns the best there is.
            plan: have the language model say what the query is after, where the method can use that. A model that
                fails does not fail the recall: the method reads the query by its rules, and `Trace.notes` says so.

        Raises:
            InvalidInput: the query is empty, or k, the budget or a time cannot be one.
            ConfigError: a plan is asked for and no language model is configured.
            EmbedderMismatch: the bank's vectors are of another model.
        """
        request = Request(
            text=checks.text(query, "the query"),
            method=self._method(method),
            k=checks.optional_number(k, "k"),
            budget_tokens=checks.optional_number(budget_tokens, "budget_tokens"),
            now=self._moment(now),
            filters=self._filters(filters),
            abstain=abstain,
            plan=plan,
        )
        return explained(
            self._parts, self._name, request.filters, recall(self._parts, self._name, request)
        )

    def answering(self, query: str, **options: Unpack[AnswerOptions]) -> Answering:
        """A question on its way to an answer: iterate over it for the text as the model writes it.

        Args:
            query: the question.
            options: `params` say how to answer; the others are those of `recall`. Where the recall abstains the
                model is not asked.

        Raises:
            ConfigError: no language model is configured.
        """
        from combray.answer import AnswerParams
        from combray.memory.answering import answering

        given = options.get("now")
        now = aware(self._parts.clock() if given is None else given, zone(self.bank.zone))
        found = self.recall(
            query,
            k=options.get("k"),
            budget_tokens=options.get("budget_tokens"),
            method=options.get("method"),
            now=now,
            filters=options.get("filters"),
            abstain=options.get("abstain", True),
            plan=options.get("plan", False),
        )
        params = options.get("params") or AnswerParams()
        return answering(self._parts, self._name, found, now, params)

    def answer(self, query: str, **options: Unpack[AnswerOptions]) -> Answer:
        """A short answer with the turns that it rests on, or a refusal; arguments as for `answering`.

        Raises:
            ConfigError: no language model is configured.
            ProviderError: it failed; ask again.
        """
        return self.answering(query, **options).answer()

    @property
    def enrichment(self) -> Enrichment:
        """What a language model adds to the bank: its jobs, records and costs."""
        from combray.memory.enrichment import Enrichment

        return Enrichment(self._name, self._parts)

    def rank(
        self,
        query: str,
        *,
        k: int | None = None,
        method: Method | str | None = None,
        now: datetime | date | str | None = None,
        filters: Filters | None = None,
    ) -> list[Hit]:
        """The ranked turns alone, without a budget; arguments as for `recall`."""
        request = Request(
            text=checks.text(query, "the query"),
            method=self._method(method),
            k=checks.optional_number(k, "k"),
            now=self._moment(now),
            filters=self._filters(filters),
        )
        return list(find(self._parts, self._name, request, Stages()).hits)

    def profile(self, subject: str, *, at: datetime | date | str | None = None) -> Profile:
        """What lastingly holds of a person, or held on a day, with the facts and turns it was drawn from.

        Args:
            subject: the person's name; a short form will do where it fits one person only.
            at: the day, in the bank's zone; ``2023`` or ``2023-05`` is its first. What holds now where not given.

        Raises:
            NotFound: nobody of that name has a profile; names those who have, or says why there is none.
            Conflict: the name may be that of several people; lists them.
        """
        from combray.memory.profiles import profile

        if not checks.text(subject, "a person's name").strip():
            raise InvalidInput("a person's name is empty: say whose profile to show.")
        return profile(self._parts, self._name, subject.strip(), at)

    def forget(
        self, *, turns: Sequence[str] | str = (), session: str | None = None
    ) -> ForgetReceipt:
        """Delete turns, or a session, with all that hangs on them; the bytes leave the file too.

        Args:
            turns: ids, or ids of the client's own where only one session has them.
            session: name of the session.

        Raises:
            NotFound: one of the turns, or the session, does not exist; nothing was removed.
            Conflict: several sessions have a turn of that client's id; nothing was removed.
            InvalidInput: neither or both were named.
        """
        wanted = checks.ids(turns, "turns")
        if bool(wanted) == (session is not None):
            raise InvalidInput("name what to forget: either turn ids, or a session.")
        if session is not None:
            finding.session_of(self._parts, self._name, checks.text(session, "a session's name"))
        ids = dict.fromkeys(finding.turn_ids(self._parts, self._name, wanted))
        selection = Selection(turns=tuple(ids), session=session)
        receipt = self._parts.store.forget(self._name, selection, self._parts.clock())
        self._parts.drop(self._name)
        return receipt

    def reindex(
        self, *, embedder: Embedder | str | None = None, analyser: Analyser | str | None = None
    ) -> Reindexed:
        """Make postings and vectors anew, while the bank stays readable and writable.

        Args:
            embedder: the model to embed with, or ``"none"``, which drops the vectors; the memory's where not given
                (a memory without one leaves the bank's vectors as they are).
            analyser: the analyser; the bank's own where not given.

        Raises:
            ConfigError: there is no such embedder or analyser; nothing was changed.
        """
        bank = self.bank
        chosen = self._chosen_embedder(embedder)
        if analyser is not None and not isinstance(analyser, str):
            checks.made(analyser, "an analyser", "analyse", "id")
        reader = analyser or registry.analyser_name(bank.analyser)
        analysed = analyse_again(self._parts, bank, self._parts.keep_analyser(reader))
        embedded = add_vectors(self._parts, bank, chosen) if chosen else 0
        if embedder == "none":
            drop_vectors(self._parts, bank)
        in_use = self.bank.embedder
        dropped = bank.embedder if bank.embedder != in_use else None
        return Reindexed(analysed=analysed, embedded=embedded, embedder=in_use, dropped=dropped)

    def export(self) -> Iterator[dict[str, Any]]:
        """The bank without loss, as JSON-able rows in the order of an export file; reads page by page."""
        from combray.importers import combray_jsonl

        sessions = ((one, self.turns(one.name)) for one in self.all_sessions())
        return combray_jsonl.rows(self.bank, sessions)

    def export_to(self, path: str | os.PathLike[str]) -> int:
        """Write the bank as a file that `combray import` restores; returns the number of its turns.

        The file appears under its name only when it is whole and on disk. An earlier export of that name is replaced.

        Raises:
            InvalidInput: there is something of that name that is not an export; it was not touched.
        """
        from combray.importers import combray_jsonl

        if not isinstance(path, str | os.PathLike):
            raise InvalidInput(f"an export goes to a path, not {path!r}.")
        return combray_jsonl.write(Path(path).expanduser(), self.export())

    def sessions(self, *, after: str = "", limit: int = 100) -> list[Session]:
        """Sessions in order of name, at most `limit` of those after `after`."""
        checks.text(after, "after")
        return self._parts.store.sessions(
            self._name, after=after, limit=checks.whole_number(limit, "limit", least=0)
        )

    def all_sessions(self) -> Iterator[Session]:
        """All sessions in order of name; reads page by page."""
        return finding.sessions(self._parts, self._name)

    def session(self, name: str) -> Session:
        """The session of that name.

        Raises:
            NotFound: there is none; names those that are spelt alike.
        """
        return finding.session_of(self._parts, self._name, checks.text(name, "a session's name"))

    def turns(self, session: str | None = None, *, after: str | None = None) -> Iterator[Turn]:
        """All turns (of the session) in the order they were stored; reads page by page.

        Args:
            session: name; one that does not exist has no turns.
            after: id of the turn to begin after.
        """
        if session is not None:
            checks.text(session, "a session's name")
        if after is not None:
            checks.text(after, "after")
        return finding.turns(self._parts, self._name, session, after=after)

    def last_turns(self, n: int, session: str | None = None) -> list[Turn]:
        """The last n turns (of the session) in the order they were stored."""
        n = checks.whole_number(n, "n")
        return finding.last_turns(self._parts, self._name, session, n)

    def get(self, ids: Sequence[str] | str) -> list[Turn]:
        """The turns of those ids, in that order; a client's own id will do where only one session has it.

        Raises:
            NotFound: one of them is not in this bank.
            Conflict: several sessions have a turn of that client's id.
        """
        wanted = finding.turn_ids(self._parts, self._name, checks.ids(ids, "ids"))
        return self._parts.store.turns(self._name, wanted)

    def _moment(self, time: datetime | date | str | None) -> datetime | None:
        return None if time is None else aware(time, zone(self.bank.zone))

    def _filters(self, filters: Filters | None) -> Filters:
        if filters is None:
            return Filters()
        if not isinstance(filters, Filters):
            raise InvalidInput(f"filters must be combray.Filters(…), not {filters!r}.")
        return filters.in_zone(zone(self.bank.zone)) if filters else filters

    def _chosen_embedder(self, embedder: Embedder | str | None) -> Embedder | None:
        if embedder is None:
            return self._parts.embedder()
        if not isinstance(embedder, str):
            return checks.made(embedder, "an embedder", "embed", "dimension")
        if embedder in {"none", "auto"}:
            return None if embedder == "none" else self._parts.embedder()
        return registry.embedder(embedder, self._parts.settings)

    def _method(self, method: Method | str | None) -> Method:
        return self._parts.method if method is None else resolved(method)

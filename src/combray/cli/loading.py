"""Bringing a file into banks: what `import` and `remember --file` share.

Sessions are written in batches. What is stored is stored: the same command run again goes on where the first one
was cut off, and a third time does nothing.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from combray.cli.invocation import Invocation
from combray.cli.screen import Advance, count
from combray.errors import InvalidInput, NotFound
from combray.importers import BadImport, combray_jsonl, detect, locomo, read
from combray.memory.checks import sound_turns
from combray.memory.writing import BATCH, drafts_of
from combray.model import Session, Turn, utc_now
from combray.model.turn import checked_bank_name, checked_new_name

if TYPE_CHECKING:
    from combray.importers import ImportedSession
    from combray.memory import BankMemory, Memory, Remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to import.

    Attributes:
        bank: where to; the prefix of several banks for a LoCoMo file with several conversations.
        path: the file; ``-`` is standard input.
        format: name of its format, or None to look into it.
        only: the one conversation of a LoCoMo file to take.
        create: whether banks that do not exist are made.
        zone: of banks that are made; the file's, or the settings', where not given.
    """

    bank: str
    path: str
    format: str | None = None
    only: str | None = None
    create: bool = True
    zone: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What came into one bank.

    Attributes:
        bank: its name.
        created: whether it was made for this.
        sessions: in the file.
        stored: turns that are new.
        known: turns that were there before.
        notes: of the writes.
    """

    bank: str
    created: bool
    sessions: int = 0
    stored: int = 0
    known: int = 0
    notes: tuple[str, ...] = ()

    def plus(self, written: Remembered) -> Loaded:
        """The same after one more write."""
        return replace(
            self,
            stored=self.stored + len(written.stored),
            known=self.known + len(written.known),
            notes=tuple(dict.fromkeys([*self.notes, *written.notes])),
        )


def load(call: Invocation, request: Request) -> list[Loaded]:
    """Import the file and show what happened.

    The whole file is read and checked before the first turn is stored.
    """
    with _as_path(request.path) as path:
        kind = request.format or detect(path)
        if request.only is not None and kind != locomo.NAME:
            raise typer.BadParameter(
                "it picks a conversation of a LoCoMo file.", param_hint="--only"
            )
        if kind == combray_jsonl.NAME:
            done = _restoring(call, request, path)
        else:
            done = _remembering(call, request, path, kind)
    show(call, request, done)
    return done


def show(call: Invocation, request: Request, done: Sequence[Loaded]) -> None:
    """The outcome by bank."""
    for note in dict.fromkeys(note for loaded in done for note in loaded.notes):
        call.screen.note(note)
    if call.screen.json:
        call.screen.value({"file": request.path, "banks": list(done)})
        return
    rows = [(one.bank, one.sessions, one.stored, one.known) for one in done]
    call.screen.table(("bank", "sessions", "new turns", "known turns"), rows)


def opened_bank(
    call: Invocation, memory: Memory, name: str, *, create: bool, zone: str | None = None
) -> tuple[BankMemory, bool]:
    """The bank, and whether it was made now, which is also said.

    Args:
        call: says so.
        memory: with the bank, or without.
        name: of the bank.
        create: whether to make it.
        zone: of a new bank; the settings' where not given.
    """
    try:
        return memory.bank(name), False
    except NotFound:
        if not create:
            raise
    made = memory.create_bank(name, zone=zone)
    call.screen.note(f"Created bank {name}.")
    return made, True


@dataclass(slots=True)
class _Counter:
    """What is stored so far, for the note of an interrupted run."""

    turns: int = 0


@contextmanager
def _interruptible(call: Invocation, what: str, total: int) -> Iterator[Advance]:
    """A bar while the block runs; an interruption says how far it came, from the moment the bar is seen."""
    so_far = _Counter()
    try:
        with call.screen.progress(what, total) as bar:

            def advance(n: int) -> None:
                so_far.turns += n
                bar(n)

            yield advance
    except KeyboardInterrupt:
        call.screen.warn(
            f"interrupted: {count(so_far.turns, 'turn')} of the file are stored; "
            "run the same command again to go on."
        )
        raise


def _restoring(call: Invocation, request: Request, path: Path) -> list[Loaded]:
    header = combray_jsonl.read_bank(path)
    total = sum(len(_sound(path, *record)) for record in combray_jsonl.read_records(path))
    # On this clock, because a restored bank is as old as the one it was exported from; turns keep their times.
    clock = partial(_same, header.created_at)
    with (
        call.memory(create=request.create, clock=clock) as memory,
        _interruptible(call, f"Restoring {request.bank}", total) as advance,
    ):
        bank, created = opened_bank(
            call, memory, request.bank, create=request.create, zone=request.zone or header.zone
        )
        done = Loaded(bank=request.bank, created=created)
        for session, turns in combray_jsonl.read_records(path):
            done = replace(done, sessions=done.sessions + 1)
            for batch in _batches(turns):
                done = done.plus(bank.restore(session, batch))
                advance(len(batch))
    return [done]


def _sound(path: Path, session: Session, turns: Sequence[Turn]) -> Sequence[Turn]:
    """The turns, if `BankMemory.restore` will take them.

    Raises:
        BadImport: it will not.
    """
    try:
        return sound_turns(turns)
    except InvalidInput as error:
        raise BadImport(path, str(error), record=f"session {session.name!r}") from error


def _check(path: Path, bank: str, sessions: Sequence[ImportedSession]) -> None:
    """See that `BankMemory.remember` will take all of it, before any of it is stored.

    Raises:
        BadImport: it will not.
    """
    checked_bank_name(bank)
    for one in sessions:
        try:
            checked_new_name(one.session.name, "a session's name")
            drafts_of(one.turns, {}, utc_now())
        except InvalidInput as error:
            raise BadImport(path, str(error), record=f"session {one.session.name!r}") from error


def _same(moment: datetime) -> datetime:
    return moment


def _batches(turns: Sequence[Turn]) -> Iterator[Sequence[Turn]]:
    for start in range(0, len(turns), BATCH):
        yield turns[start : start + BATCH]


def _remembering(call: Invocation, request: Request, path: Path, kind: str) -> list[Loaded]:
    by_bank = _by_bank(request, list(read(path, kind)), kind)
    for name, sessions in by_bank.items():
        _check(path, name, sessions)
    total = sum(len(one.turns) for sessions in by_bank.values() for one in sessions)
    done = []
    with (
        call.memory(create=request.create) as memory,
        _interruptible(call, f"Importing into {request.bank}", total) as advance,
    ):
        for name, sessions in by_bank.items():
            bank, created = opened_bank(
                call, memory, name, create=request.create, zone=request.zone
            )
            loaded = Loaded(
                bank=name, created=created, sessions=len(sessions), notes=_about_times(sessions)
            )
            for one in sessions:
                loaded = _remember(bank, one, loaded, advance)
            done.append(loaded)
    return done


def _remember(bank: BankMemory, one: ImportedSession, loaded: Loaded, advance: Advance) -> Loaded:
    for written in bank.remember_in_batches(one.turns, session=one.session):
        loaded = loaded.plus(written)
        advance(len(written.ids))
    return loaded


def _about_times(sessions: Sequence[ImportedSession]) -> tuple[str, ...]:
    """What became of messages that had no time."""
    carried = sum(one.n_carried for one in sessions)
    untimed = sum(one.n_untimed for one in sessions)
    notes = []
    if carried:
        notes.append(
            f"{count(carried, 'message')} had no time and were given that of the message before, "
            "or of the conversation."
        )
    if untimed:
        notes.append(
            f"{count(untimed, 'message')} had no time, nor any before them: they count as said at the time of this "
            "import."
        )
    return tuple(notes)


def _by_bank(
    request: Request, sessions: list[ImportedSession], kind: str
) -> dict[str, list[ImportedSession]]:
    """Sessions by bank: one bank a conversation where a LoCoMo file holds several."""
    if kind != locomo.NAME:
        return {request.bank: sessions}
    conversations: dict[str, list[ImportedSession]] = {}
    for one in sessions:
        conversations.setdefault(_conversation(one.session), []).append(one)
    if request.only is not None:
        if request.only not in conversations:
            raise NotFound("conversation", request.only, f"There are: {', '.join(conversations)}.")
        return {request.bank: conversations[request.only]}
    if len(conversations) == 1:
        return {request.bank: sessions}
    return {f"{request.bank}/{name}": found for name, found in conversations.items()}


def _conversation(session: Session) -> str:
    """The sample that a LoCoMo session belongs to; its sessions are named ``<sample>/session_<n>``."""
    return session.name.rsplit("/", 1)[0]


@contextmanager
def _as_path(name: str) -> Iterator[Path]:
    """The file itself; standard input as a file, since importers read it more than once."""
    if name != "-":
        yield Path(name).expanduser()
        return
    if sys.stdin is None:
        raise InvalidInput("standard input is closed: name a file.")
    with tempfile.TemporaryDirectory(prefix="combray-") as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        yield path

"""Benchmark data as neutral values: banks of sessions, and questions with their gold evidence.

A turn is named by the pair (session, client id), a session by its name. The data itself never lies in this project:
a loader takes a path, and `data_root` says where to look for one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from combray.errors import InvalidInput, NotFound
from combray.importers.base import ImportedSession

TurnKey = tuple[str, str]
"""Name of the session and the client's id of the turn."""

Split = Literal["tuned", "held_out"]

ENVIRONMENT = "COMBRAY_DATA"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its evidence.

    Attributes:
        id: unique in its bank.
        text: as asked.
        category: the data set's own kind of question.
        gold_turns: the turns that hold the evidence; empty where only sessions are known, or there is none.
        gold_sessions: the sessions that do.
        asked_at: when, naive where the data set names no zone; None where it does not say.
        before_session: only sessions before this one may be searched; None means all.
        split: whether constants may be chosen on it.
        answerable: whether the bank holds an answer.
    """

    id: str
    text: str
    category: str
    gold_turns: frozenset[TurnKey] = frozenset()
    gold_sessions: frozenset[str] = frozenset()
    asked_at: datetime | None = None
    before_session: str | None = None
    split: Split
    answerable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BankData:
    """What goes into one bank, and what is asked of it.

    Attributes:
        name: of the bank.
        sessions: in the file's order, which is the order in time as the data set sees it.
        questions: in the file's order.
    """

    name: str
    sessions: tuple[ImportedSession, ...]
    questions: tuple[Question, ...]

    @property
    def n_turns(self) -> int:
        """Turns of all sessions."""
        return sum(len(item.turns) for item in self.sessions)

    @property
    def ends_at(self) -> datetime | None:
        """When the last turn was said; None where no turn has a time."""
        times = [turn.said_at for item in self.sessions for turn in item.turns]
        return max((time for time in times if isinstance(time, datetime)), default=None)

    def turn_keys(self) -> set[TurnKey]:
        """The keys of all turns."""
        return {
            (item.session.name, turn.id)
            for item in self.sessions
            for turn in item.turns
            if turn.id is not None
        }

    def sessions_before(self, session: str) -> list[str]:
        """Names of the sessions before that one."""
        names = [item.session.name for item in self.sessions]
        return names[: names.index(session)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A benchmark.

    Attributes:
        name: what results call it.
        sha256: of its file; of the names and hashes of its files where there are several.
        banks: in the file's order.
        notes: what the loader left out or mended, with counts.
    """

    name: str
    sha256: str
    banks: tuple[BankData, ...]
    notes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for bank in self.banks:
            _check(self.name, bank)

    def remarks(self) -> list[str]:
        """The notes in words."""
        return [f"{what.replace('_', ' ')}: {n}" for what, n in self.notes.items()]


def data_root(given: Path | str | None = None) -> Path:
    """The folder of the benchmark data: the one given, else ``$COMBRAY_DATA``, else ``../shared/data``.

    The last is relative to the root of the source repository, so it exists in a development checkout alone.

    Raises:
        NotFound: none of them is a folder; says where the data can be had.
    """
    named = given or os.environ.get(ENVIRONMENT)
    if named:
        root = Path(named)
        if root.is_dir():
            return root
        raise NotFound("data folder", str(root), _WHERE)
    beside = Path(__file__).resolve().parents[4].parent / "shared" / "data"
    if beside.is_dir():
        return beside
    raise NotFound("data folder", f"${ENVIRONMENT}", _WHERE)


def locate(path: Path | str | None, *inside: str) -> Path:
    """The file or folder itself if `path` names it, else the first of `inside` under the data root.

    Args:
        path: the data set's own file, a folder that holds it, or None for `data_root`.
        inside: relative paths, in order of preference; ``.`` accepts the folder as it is.

    Raises:
        NotFound: nothing is there; says where the data can be had.
    """
    if path is not None and Path(path).is_file():
        return Path(path)
    root = data_root(path)
    for relative in inside:
        if (root / relative).exists():
            return root / relative
    raise NotFound("benchmark file", str(root / inside[0]), _WHERE)


def file_sha256(path: Path) -> str:
    """The SHA-256 of the file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def halved(name: str) -> Split:
    """A split by the name's hash, for data sets that come without one: about half each, fixed for ever."""
    return "tuned" if hashlib.sha256(name.encode()).digest()[0] % 2 == 0 else "held_out"


def _check(dataset: str, bank: BankData) -> None:
    """Gold must exist, and names must be unique: a silent gap would be measured as a miss."""
    names = [item.session.name for item in bank.sessions]
    if len(set(names)) != len(names):
        raise InvalidInput(f"{dataset}, bank {bank.name}: two sessions have the same name.")
    ids = [question.id for question in bank.questions]
    if len(set(ids)) != len(ids):
        raise InvalidInput(f"{dataset}, bank {bank.name}: two questions have the same id.")
    turns, known = bank.turn_keys(), set(names)
    for question in bank.questions:
        missing = (question.gold_turns - turns) or (question.gold_sessions - known)
        if missing:
            raise InvalidInput(
                f"{dataset}, bank {bank.name}, question {question.id}: "
                f"the gold {sorted(missing)[0]} is not in the bank."
            )
        if question.before_session is not None and question.before_session not in known:
            raise InvalidInput(
                f"{dataset}, bank {bank.name}, question {question.id}: "
                f"the session {question.before_session!r} it is asked in is not in the bank."
            )


_WHERE = (
    "Get LoCoMo from github.com/snap-research/locomo (data/locomo10.json), LongMemEval from "
    "github.com/xiaowu0162/LongMemEval and RealMem from its authors' release, put them into the folders "
    "locomo, longmemeval and realmem, and name their parent in --data or COMBRAY_DATA."
)

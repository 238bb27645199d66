"""Combray's own export: JSON Lines that hold a bank's evidence without loss.

The first line is a header ``{"format": "combray-export", "version": 1, "bank": {...}}``; then, for each session, a
line ``{"session": {...}}`` followed by a line ``{"turn": {...}}`` for each of its turns in order of position; the last
line ``{"end": {"sessions": n, "turns": n}}`` shows that the file is whole. Times keep their offsets. Characters at
which some tools would break a line (U+0085, U+2028, U+2029) are written as escapes and read back as themselves.
Vectors, postings and other derived rows are not in it: they are made anew.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from combray.errors import CombrayError, InvalidInput
from combray.importers.base import (
    BadImport,
    ImportedSession,
    Place,
    kind,
    mapping,
    optional_text,
    parse_json,
    read_lines,
    text_field,
)
from combray.model import Bank, Role, Session, Turn, TurnDraft
from combray.model.ids import content_key

NAME = "combray"
FORMAT = "combray-export"
VERSION = 1

_BESIDE_DATABASES = ("-wal", "-shm", "-journal", ".lock")
"""Endings of the files that SQLite and a store keep beside a database."""

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH

_Value = TypeVar("_Value")
_LINE_BREAKS = re.compile("[\x85\u2028\u2029]")


def looks_like(record: object) -> bool:
    """Whether the record is the header of an export."""
    return isinstance(record, dict) and record.get("format") == FORMAT


def rows(
    bank: Bank, sessions: Iterable[tuple[Session, Iterable[Turn]]]
) -> Iterator[dict[str, Any]]:
    """The rows of an export as JSON has them; nothing is held in memory.

    Args:
        bank: its settings go into the header.
        sessions: each with its turns in order of position.
    """
    yield {"format": FORMAT, "version": VERSION, "bank": _bank_fields(bank)}
    n_sessions = n_turns = 0
    for session, turns in sessions:
        n_sessions += 1
        yield {"session": _session_fields(session)}
        for turn in turns:
            n_turns += 1
            yield {"turn": _turn_fields(turn)}
    yield {"end": {"sessions": n_sessions, "turns": n_turns}}


def line(row: Mapping[str, Any]) -> str:
    """The row as a line of the file, with its line feed."""
    text = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _LINE_BREAKS.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write an export and return its number of turns; the file appears under its name only when it is whole.

    A link is followed. An export, or an empty file, of that name is replaced and keeps its mode; nothing else is.

    Raises:
        InvalidInput: there is something of that name that is not an export or may not be written, or the name is that of
            a file beside a database; nothing was touched.
        OSError: the system refused; it names `path`, and an older file of that name is untouched.
    """
    n = 0
    path = path.resolve()
    _check_replaceable(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
                for row in rows:
                    n += "turn" in row
                    out.write(line(row))
                out.flush()
                os.fsync(out.fileno())
            if path.exists():
                Path(name).chmod(stat.S_IMODE(path.stat().st_mode))
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    return n


def _check_replaceable(path: Path) -> None:
    """Refuse to replace what is not ours to replace: a database, a device, somebody's notes."""
    if path.name.endswith(_BESIDE_DATABASES):
        raise InvalidInput(
            f"{path} is named like a file that a database keeps beside it; choose another name."
        )
    if not path.exists():
        return
    if not path.is_file():
        raise InvalidInput(f"{path} is not a regular file; use - for standard output.")
    mode = path.stat().st_mode
    # Not only by `os.access`, which lets root write what its owner protected.
    if not mode & _WRITABLE or not os.access(path, os.W_OK):
        raise InvalidInput(
            f"{path} is write-protected (mode {stat.S_IMODE(mode):04o}): its permissions say not to write it. "
            "Choose another name, or permit it first."
        )
    if not _is_export(path):
        raise InvalidInput(
            f"{path} is there, and is not an export; choose another name, or remove it first."
        )


def _is_export(path: Path) -> bool:
    """Whether it is an export, or empty and not the beginning of a database."""
    if any(path.with_name(path.name + ending).exists() for ending in _BESIDE_DATABASES):
        return False
    if not path.stat().st_size:
        return True
    if _is_database(path):
        return False
    try:
        read_bank(path)
    except CombrayError:
        return False
    return True


def _is_database(path: Path) -> bool:
    # SQLite says it, and not `open`, whose closing would drop the locks of a store of this process.
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        try:
            connection.execute("PRAGMA schema_version").fetchone()
        except sqlite3.Error as error:
            return error.sqlite_errorcode != sqlite3.SQLITE_NOTADB
    return True


def read_bank(path: Path) -> Bank:
    """The bank's settings from the header.

    Raises:
        BadImport: not an export, or of a version that this one does not know.
    """
    return next(_values(path))  # type: ignore[return-value]  # the header comes first


def read_records(path: Path) -> Iterator[tuple[Session, list[Turn]]]:
    """Sessions with their turns as they were stored, ids and positions included.

    Raises:
        BadImport: damaged, truncated, or of another version; what came before is sound.
    """
    session: Session | None = None
    turns: list[Turn] = []
    for value in _values(path):
        match value:
            case Session():
                if session is not None:
                    yield session, turns
                session, turns = value, []
            case Turn():
                turns.append(value)
            case Bank():
                pass
    if session is not None:
        yield session, turns


def read(path: Path) -> Iterator[ImportedSession]:
    """Sessions with their turns as drafts, in order.

    A turn that had no client id gets its stored id again if its time came from the client; use `read_records`
    to restore ids exactly.

    Raises:
        BadImport: damaged, truncated, or of another version.
    """
    for session, turns in read_records(path):
        yield ImportedSession(session=session, turns=[as_draft(turn) for turn in turns])


def as_draft(turn: Turn) -> TurnDraft:
    """The stored turn as a client would hand it in."""
    return TurnDraft(
        text=turn.text,
        speaker=turn.speaker,
        role=turn.role,
        said_at=turn.said_at,
        caption=turn.caption,
        id=turn.client_id,
        metadata=turn.metadata,
        tags=turn.tags,
        expires_at=turn.expires_at,
    )


def _values(path: Path) -> Iterator[Bank | Session | Turn]:
    """The header's bank, then sessions and turns; raises if the end is missing or does not add up."""
    rows = ((Place(path=path, line=n), parse_json(raw, Place(path=path, line=n)))
            for n, raw in read_lines(path))  # fmt: skip
    place, header = next(rows, (Place(path=path), None))
    yield _header(header, place)
    session: Session | None = None
    position = -1
    counts = {"sessions": 0, "turns": 0}
    for place, row in rows:
        tag, fields = _tagged(row, place)
        if tag == "end":
            _check_end(fields, counts, place)
            if (extra := next(rows, None)) is not None:
                extra[0].fail("there is more after the end.")
            return
        if tag == "session":
            session, position = _built(partial(_session, fields, place), place), -1
            counts["sessions"] += 1
            yield session
            continue
        if session is None:
            place.fail("a turn stands before any session.")
        turn = _built(partial(_turn, fields, place, session.name), place)
        if turn.position <= position:
            place.fail(f"position {turn.position} does not come after {position}.")
        position = turn.position
        counts["turns"] += 1
        yield turn
    place.fail("the file is truncated: its last line is missing. Export it again.")


def _header(row: object, place: Place) -> Bank:
    if not looks_like(row):
        place.fail("not a Combray export: the first line is no header.")
    header = mapping(row, place, "the header")
    version = header.get("version")
    if isinstance(version, int) and version > VERSION:
        place.fail(f"version {version} is newer than this Combray reads ({VERSION}); upgrade it.")
    if version != VERSION or isinstance(version, bool):
        place.fail(f"{version!r} is no version of the export format (this one is {VERSION}).")
    return _built(partial(_bank, mapping(header.get("bank"), place, "'bank'"), place), place)


def _tagged(row: object, place: Place) -> tuple[str, dict[str, Any]]:
    tag, fields = next(iter(row.items())) if isinstance(row, dict) and len(row) == 1 else ("", None)
    if tag not in {"session", "turn", "end"}:
        place.fail("expected a session, a turn or the end.")
    return tag, mapping(fields, place, f"{tag!r}")


def _check_end(fields: Mapping[str, Any], counts: Mapping[str, int], place: Place) -> None:
    for name, found in counts.items():
        if fields.get(name) != found:
            place.fail(f"{found} {name} were read, but the file says {fields.get(name)!r}.")


def _built(make: Callable[[], _Value], place: Place) -> _Value:
    """The value; one that its class refuses is an error of that line."""
    try:
        return make()
    except BadImport:
        raise
    except InvalidInput as error:
        place.fail(str(error))


def _bank(fields: dict[str, Any], place: Place) -> Bank:
    return Bank(
        name=text_field(fields, "name", place),
        zone=text_field(fields, "zone", place),
        analyser=text_field(fields, "analyser", place),
        embedder=optional_text(fields, "embedder", place),
        dimension=_integer(fields, "dimension", place),
        created_at=_needed_time(fields, "created_at", place),
    )


def _session(fields: dict[str, Any], place: Place) -> Session:
    return Session(
        name=text_field(fields, "name", place),
        title=_text_or_none(fields, "title", place),
        started_at=_time(fields, "started_at", place),
        source=_text_or_none(fields, "source", place),
        metadata=mapping(fields.get("metadata", {}), place, "'metadata'"),
    )


def _turn(fields: dict[str, Any], place: Place, session: str) -> Turn:
    speaker, text = text_field(fields, "speaker", place), text_field(fields, "text", place)
    caption = _text_or_none(fields, "caption", place)
    role = _role(fields, place)
    tags = fields.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        place.fail("'tags' must be an array of texts.")
    return Turn(
        id=text_field(fields, "id", place),
        session=session,
        position=_integer(fields, "position", place),
        speaker=speaker,
        role=role,
        text=text,
        said_at=_needed_time(fields, "said_at", place),
        caption=caption,
        client_id=_text_or_none(fields, "client_id", place),
        content=content_key(speaker, role, text, caption),
        metadata=mapping(fields.get("metadata", {}), place, "'metadata'"),
        tags=tuple(tags),
        expires_at=_time(fields, "expires_at", place),
        stored_at=_needed_time(fields, "stored_at", place),
    )


def _role(fields: dict[str, Any], place: Place) -> Role:
    name = text_field(fields, "role", place)
    try:
        return Role(name)
    except ValueError:
        place.fail(f"{name!r} is not a role (these are: {', '.join(Role)}).")


def _text_or_none(fields: dict[str, Any], key: str, place: Place) -> str | None:
    """Like `optional_text`, but a blank text stays itself: an export is verbatim."""
    return None if fields.get(key) is None else text_field(fields, key, place)


def _integer(fields: Mapping[str, Any], key: str, place: Place) -> int:
    value = fields.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        place.fail(f"{key!r} must be a whole number from 0, not {value!r}.")
    return value


def _time(fields: Mapping[str, Any], key: str, place: Place) -> datetime | None:
    value = fields.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        place.fail(f"{key!r} must be an ISO 8601 time, not {kind(value)}.")
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        place.fail(f"{key!r} is {value!r}: not an ISO 8601 time.")
    if time.tzinfo is None:
        place.fail(f"{key!r} is {value!r}: it has no offset.")
    return time


def _needed_time(fields: Mapping[str, Any], key: str, place: Place) -> datetime:
    time = _time(fields, key, place)
    if time is None:
        place.fail(f"{key!r} is missing.")
    return time


def _bank_fields(bank: Bank) -> dict[str, Any]:
    return {
        "name": bank.name,
        "zone": bank.zone,
        "analyser": bank.analyser,
        "embedder": bank.embedder,
        "dimension": bank.dimension,
        "created_at": bank.created_at.isoformat(),
    }


def _session_fields(session: Session) -> dict[str, Any]:
    return {
        "name": session.name,
        "title": session.title,
        "started_at": session.started_at.isoformat() if session.started_at else None,
        "source": session.source,
        "metadata": dict(session.metadata),
    }


def _turn_fields(turn: Turn) -> dict[str, Any]:
    return {
        "id": turn.id,
        "client_id": turn.client_id,
        "position": turn.position,
        "speaker": turn.speaker,
        "role": str(turn.role),
        "text": turn.text,
        "caption": turn.caption,
        "said_at": turn.said_at.isoformat(),
        "stored_at": turn.stored_at.isoformat(),
        "expires_at": turn.expires_at.isoformat() if turn.expires_at else None,
        "tags": list(turn.tags),
        "metadata": dict(turn.metadata),
    }

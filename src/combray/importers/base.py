"""What every importer gives and raises, and how files are read: bytes split at line feeds alone.

`str.splitlines` would cut a text at U+2028 or U+0085; reading bytes and splitting at line feeds keeps such
characters inside their line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from combray.errors import InvalidInput
from combray.model import Session, TurnDraft

_BOM = b"\xef\xbb\xbf"


class BadImport(InvalidInput):
    """A file that cannot be imported; names the place, so that it can be mended there.

    Attributes:
        path: the file.
        line: line of a line-based file, from 1, or None.
        record: what it concerns within the file (``conversation 3, message 2``), or empty.
    """

    code: ClassVar[str] = "bad_import"

    def __init__(
        self, path: Path | str, problem: str, *, line: int | None = None, record: str = ""
    ) -> None:
        self.path = str(path)
        self.line = line
        self.record = record
        places = [f"line {line}"] if line is not None else []
        places += [record] if record else []
        super().__init__(f"{self.path}: {', '.join(places) + ': ' if places else ''}{problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSession:
    """One session as a file holds it, ready for `remember`.

    Attributes:
        session: its name, and title, start, source and metadata where the file has them.
        turns: in order.
        n_carried: how many of them had no time and were given that of the message before, or of the conversation.
    """

    session: Session
    turns: list[TurnDraft]
    n_carried: int = 0

    @property
    def n_untimed(self) -> int:
        """How many turns have no time even so: they will count as said when they are stored."""
        return sum(turn.said_at is None for turn in self.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in a file a value was read: what an error about it names.

    Attributes:
        path: the file.
        line: from 1, or None in a file that is one document.
        record: words for the place within the document, or empty.
    """

    path: Path
    line: int | None = None
    record: str = ""

    def within(self, record: str) -> Place:
        """The place of a part of what is here."""
        inner = f"{self.record}, {record}" if self.record else record
        return Place(path=self.path, line=self.line, record=inner)

    def fail(self, problem: str) -> NoReturn:
        """Raise a `BadImport` about this place."""
        raise BadImport(self.path, problem, line=self.line, record=self.record)


def parse_json(raw: bytes, place: Place) -> object:
    """The JSON value in the bytes; NaN and infinities, which JSON lacks, are refused.

    Raises:
        BadImport: not UTF-8, not JSON, or nested too deeply.
    """
    try:
        value: object = json.loads(raw.removeprefix(_BOM).decode("utf-8"), parse_constant=_refuse)
        return value
    except UnicodeDecodeError as error:
        place.fail(f"not UTF-8 at byte {error.start}.")
    except json.JSONDecodeError as error:
        at = (
            f"line {error.lineno}, column {error.colno}"
            if place.line is None
            else (f"column {error.colno}")
        )
        place.fail(f"not JSON ({error.msg.removesuffix(' at')} at {at}).")
    except (ValueError, RecursionError) as error:
        place.fail(f"not JSON that can be read ({error}).")


def read_document(path: Path) -> object:
    """The one JSON value of the file.

    Raises:
        BadImport: the file cannot be read, or is not JSON.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise BadImport(path, f"cannot be read ({error.strerror or error}).") from error
    return parse_json(raw, Place(path=path))


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and bytes of each line that is not blank, one at a time.

    Raises:
        BadImport: the file cannot be read.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.removeprefix(_BOM).strip():
                    yield number, line
    except OSError as error:
        raise BadImport(path, f"cannot be read ({error.strerror or error}).") from error


def mapping(value: object, place: Place, what: str) -> dict[str, Any]:
    """The value, if it is a JSON object.

    Raises:
        BadImport: it is not.
    """
    if not isinstance(value, dict):
        place.fail(f"{what} must be an object, not {kind(value)}.")
    return value


def text_field(record: dict[str, Any], key: str, place: Place) -> str:
    """The field's text, which must be there; it may be empty.

    Raises:
        BadImport: missing, or not text.
    """
    value = record.get(key)
    if not isinstance(value, str):
        place.fail(f"{key!r} must be text, not {kind(value) if key in record else 'missing'}.")
    return value


def optional_text(record: dict[str, Any], key: str, place: Place) -> str | None:
    """The field's text, or None where it is missing, null or blank.

    Raises:
        BadImport: neither text nor null.
    """
    value = record.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        place.fail(f"{key!r} must be text, not {kind(value)}.")
    return value if value.strip() else None


def kind(value: object) -> str:
    """The JSON type of the value, in words."""
    names = {dict: "an object", list: "an array", str: "text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")

"""Reading other people's formats: files to sessions of turns, ready for `remember`.

    for imported in read(path):
        bank.remember(imported.turns, session=imported.session)

Messages that a program holds already become turns by `from_messages`.

Formats: ``combray`` (our own export), ``openai`` (chat messages), ``locomo`` (the benchmark's release). Importers know
values and errors alone; they never touch a store.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from combray.errors import ConfigError, InvalidInput
from combray.importers import combray_jsonl, locomo, openai_messages
from combray.importers.base import BadImport, ImportedSession, read_document, read_lines
from combray.importers.openai_messages import from_messages

__all__ = ["FORMATS", "BadImport", "ImportedSession", "detect", "from_messages", "read"]

FORMATS: dict[str, Callable[[Path], Iterator[ImportedSession]]] = {
    combray_jsonl.NAME: combray_jsonl.read,
    locomo.NAME: locomo.read,
    openai_messages.NAME: openai_messages.read,
}
"""Reader by name of the format."""

_LOOKS: dict[str, Callable[[object], bool]] = {
    combray_jsonl.NAME: combray_jsonl.looks_like,
    locomo.NAME: locomo.looks_like,
    openai_messages.NAME: openai_messages.looks_like,
}


def detect(path: Path | str) -> str:
    """The name of the file's format, by what is in it and never by what it is called.

    Raises:
        BadImport: the file cannot be read, or is of no known format.
    """
    path = _as_path(path)
    record = _first_record(path)
    for name, looks_like in _LOOKS.items():
        if looks_like(record):
            return name
    raise BadImport(path, f"of no format that can be imported (these are: {', '.join(FORMATS)}).")


def read(path: Path | str, format: str | None = None) -> Iterator[ImportedSession]:  # noqa: A002 — the word of every surface
    """The sessions of the file, in order, one at a time.

    Args:
        path: the file.
        format: name of its format; by default it is detected.

    Raises:
        ConfigError: there is no format of that name.
        BadImport: the file is not as its format demands; names the line or the record. Sessions that were given
            before it are sound.
    """
    name = format or detect(path)
    if name not in FORMATS:
        raise ConfigError(f"no import format {name!r}; these are: {', '.join(FORMATS)}.")
    return FORMATS[name](_as_path(path))


def _as_path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise InvalidInput(f"a file to import is a path, not {path!r}.")
    return Path(path)


def _first_record(path: Path) -> object:
    """The first line's value, or the first item of the document where a line alone is not JSON."""
    _, line = next(read_lines(path), (0, b""))
    if not line:
        raise BadImport(path, "there is nothing in it.")
    try:
        record: object = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        record = read_document(path)
    return record[0] if isinstance(record, list) and record else record

"""Results in a folder: written whole or not at all, and never over a file that no benchmark wrote."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from combray.errors import InvalidInput
from combray.eval.record import read_rows

_PNG = b"\x89PNG\r\n\x1a\n"
_HEAD_BYTES = 4096


def check_replaceable(path: Path) -> None:
    """Refuse to replace what is not a result of the same kind.

    Raises:
        InvalidInput: there is something else of that name; it was not touched.
    """
    if path.exists() and not (path.is_file() and _KINDS[path.suffix](path)):
        raise InvalidInput(
            f"{path} is there, and is not a result that a benchmark wrote; save into another folder."
        )


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Have the file written beside its place, and put there once it is whole; a link is followed."""
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=path.suffix)
    os.close(handle)
    beside = Path(name)
    try:
        write(beside)
        beside.chmod(path.stat().st_mode & 0o777 if path.exists() else _usual_mode())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _usual_mode() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _is_document(path: Path) -> bool:
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        return False
    return isinstance(found, dict) and {"benchmark", "provenance"} <= found.keys()


def _is_rows(path: Path) -> bool:
    try:
        read_rows(path)
    except InvalidInput:
        return False
    return True


def _is_plot(path: Path) -> bool:
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    return head.startswith(_PNG) and b"Matplotlib" in head


_KINDS: dict[str, Callable[[Path], bool]] = {
    ".json": _is_document,
    ".csv": _is_rows,
    ".png": _is_plot,
}

"""Clearing what SQLite leaves behind in the unused middle of a page.

`secure_delete` overwrites a cell where it is deleted. When a page is rebuilt, while others are split or joined,
its cells move, and the bytes between the new cells and the list of them keep copies of the old ones; a later
deletion overwrites the cell and not its old copy. This module overwrites those gaps, which mean nothing to SQLite.

A file is written beside SQLite here, so the caller must hold its write lock with an empty log: then the file is
all there is and nobody else may change it. POSIX forgets all locks of a process on a file as soon as the process
closes any descriptor of it, so a `RawFile` stays open as long as a store of that process is.

Source:
    SQLite file format, section 1.6 (b-tree pages); "How To Corrupt An SQLite Database File", section 2.2.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_CHUNK_PAGES = 512
_INTERIOR, _LEAF = (2, 5), (10, 13)
_FILE_HEADER_BYTES = 100

_SAFE_PAGES = 0x02000000
"""From here on the first byte of an overflow page, of the next one's number, may look like a kind of page."""


class RawFile:
    """One descriptor of a database file, shared by all stores of the process that use the file."""

    _open: dict[tuple[int, int], RawFile] = {}  # noqa: RUF012 (shared on purpose)
    _registry = threading.Lock()

    def __init__(self, path: Path, key: tuple[int, int]) -> None:
        self._key = key
        self._users = 0
        self.descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))

    @classmethod
    def of(cls, path: Path) -> RawFile:
        """The descriptor of the file, counted as used once more."""
        status = path.stat()
        key = (status.st_dev, status.st_ino)
        with cls._registry:
            if key not in cls._open:
                cls._open[key] = cls(path, key)
            cls._open[key]._users += 1
            return cls._open[key]

    def release(self) -> None:
        """Close it after its last user; every connection of that user must be closed before."""
        with self._registry:
            self._users -= 1
            if not self._users:
                del self._open[self._key]
                os.close(self.descriptor)


def scrub(file: RawFile, page_bytes: int) -> int:
    """Overwrite the gaps of all b-tree pages; returns how many had something in them."""
    n_pages = os.fstat(file.descriptor).st_size // page_bytes
    if n_pages >= _SAFE_PAGES:
        return 0
    n_cleared = 0
    for first in range(0, n_pages, _CHUNK_PAGES):
        size = min(_CHUNK_PAGES, n_pages - first) * page_bytes
        os.lseek(file.descriptor, first * page_bytes, os.SEEK_SET)
        chunk = os.read(file.descriptor, size)
        for start, end in _gaps(chunk, page_bytes, first):
            if chunk[start:end].strip(b"\0"):
                os.lseek(file.descriptor, first * page_bytes + start, os.SEEK_SET)
                os.write(file.descriptor, bytes(end - start))
                n_cleared += 1
    if n_cleared:
        os.fsync(file.descriptor)
    return n_cleared


def _gaps(chunk: bytes, page_bytes: int, first: int) -> Iterator[tuple[int, int]]:
    pages = np.frombuffer(chunk, np.uint8).reshape(-1, page_bytes)
    header = np.zeros(len(pages), np.int64)
    if first == 0:
        header[0] = _FILE_HEADER_BYTES
    kind = _byte(pages, header)
    known = np.isin(kind, (*_INTERIOR, *_LEAF))
    n_cells = _byte(pages, header + 3) << 8 | _byte(pages, header + 4)
    content = _byte(pages, header + 5) << 8 | _byte(pages, header + 6)
    content[content == 0] = 65536
    start = header + np.where(np.isin(kind, _INTERIOR), 12, 8) + 2 * n_cells
    sound = known & (start < content) & (content <= page_bytes)
    offset = np.arange(len(pages)) * page_bytes
    yield from zip(
        (offset + start)[sound].tolist(), (offset + content)[sound].tolist(), strict=True
    )


def _byte(pages: NDArray[np.uint8], column: NDArray[np.int64]) -> NDArray[np.int64]:
    return pages[np.arange(len(pages)), column].astype(np.int64)

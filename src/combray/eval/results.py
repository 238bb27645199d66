"""A finished benchmark: its JSON, its per-question rows, its table and its plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from combray.errors import InvalidInput, MissingExtra
from combray.eval import plots, tables
from combray.eval.record import Row, write_json, write_rows
from combray.eval.saving import check_replaceable, write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType

_TABLES: Mapping[str, Callable[[Mapping[str, Any]], RenderableType]] = {
    "locomo": tables.locomo,
    "realmem": tables.realmem,
    "longmemeval-pool": tables.longmemeval_pool,
    "speed": tables.speed,
}
_PLOTS: Mapping[str, Callable[[Mapping[str, Any], Path], None]] = {
    "locomo": plots.locomo,
    "realmem": plots.realmem,
    "longmemeval-pool": plots.longmemeval_pool,
    "speed": plots.speed,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a benchmark found.

    Attributes:
        benchmark: ``locomo``, ``realmem``, ``longmemeval-pool`` or ``speed``.
        stem: name of its files, without an ending.
        document: what `to_json` gives.
        rows: one per method and question; none for speed.
    """

    benchmark: str
    stem: str
    document: Mapping[str, Any]
    rows: tuple[Row, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The result as one JSON object."""
        return dict(self.document)

    def table(self) -> RenderableType:
        """The result for a person, to print with rich."""
        return _TABLES[self.benchmark](self.document)

    def save(self, folder: Path | str) -> list[Path]:
        """Write ``<stem>.json``, ``<stem>.csv`` where there are rows, and ``<stem>.png`` where matplotlib is installed.

        An earlier result of the same name is replaced.

        Args:
            folder: made if it does not exist.

        Returns:
            The files that were written.

        Raises:
            InvalidInput: the folder has a file of such a name that no benchmark wrote; nothing was written.
        """
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise InvalidInput(f"{folder} is not a folder; save into another one.") from error
        writes: dict[Path, Callable[[Path], None]] = {
            folder / f"{self.stem}.json": lambda path: write_json(path, self.document)
        }
        if self.rows:
            writes[folder / f"{self.stem}.csv"] = lambda path: write_rows(path, self.rows)
        picture = folder / f"{self.stem}.png"
        for path in (*writes, picture):
            check_replaceable(path)
        for path, write in writes.items():
            write_whole(path, write)
        try:
            write_whole(picture, self.plot)
        except MissingExtra:
            return list(writes)
        return [*writes, picture]

    def plot(self, path: Path | str) -> None:
        """Draw the result as a PNG.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        _PLOTS[self.benchmark](self.document, Path(path))

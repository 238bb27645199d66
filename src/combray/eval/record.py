"""What an experiment leaves behind: a row per question, and where the numbers come from."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from combray.errors import InvalidInput
from combray.model import Clock, utc_now

_FIXED = ("dataset", "method", "bank", "question", "category", "split")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What a result depends on, besides the method.

    Attributes:
        data_sha256: of the benchmark's file; empty where the data are made up from the seed.
        version: of Combray.
        commit: of the source checkout, with ``-dirty`` appended if files differ from it; None outside one.
        date: of the run, ISO 8601 in UTC.
        python: version.
        numpy: version.
        onnxruntime: version, or None.
        machine: processor architecture and system.
        n_cpus: cores that this process may use.
        seed: of every random choice.
        embedder: id of the embedder, or None: without one only lexical channels speak.
        counter: name of the token counter of the packs, or empty.
        notes: what a reader must know to compare.
    """

    data_sha256: str
    version: str
    commit: str | None
    date: str
    python: str
    numpy: str
    onnxruntime: str | None
    machine: str
    n_cpus: int
    seed: int
    embedder: str | None = None
    counter: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one method did with one question.

    Attributes:
        dataset: name.
        method: name.
        bank: name; conversations are what a bootstrap draws.
        question: id, unique in its bank.
        category: of the question.
        split: ``tuned`` or ``held_out``.
        values: measures by name, such as ``recall@10``.
    """

    dataset: str
    method: str
    bank: str
    question: str
    category: str
    split: str
    values: Mapping[str, float] = field(default_factory=dict)


def provenance(
    data_sha256: str,
    *,
    seed: int,
    embedder: str | None = None,
    counter: str = "",
    notes: Sequence[str] = (),
    clock: Clock = utc_now,
) -> Provenance:
    """The provenance of a run that is made here and now."""
    return Provenance(
        data_sha256=data_sha256,
        version=_version("combray") or "unknown",
        commit=commit_of(Path(__file__).parent),
        date=clock().isoformat(timespec="seconds"),
        python=platform.python_version(),
        numpy=_version("numpy") or "unknown",
        onnxruntime=_version("onnxruntime"),
        machine=f"{platform.machine()} {platform.system()}",
        n_cpus=n_cpus(),
        seed=seed,
        embedder=embedder,
        counter=counter,
        notes=tuple(notes),
    )


def n_cpus() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def commit_of(folder: Path) -> str | None:
    """The commit that the folder's files are checked out from; None where git does not know them."""
    tracked = _git(folder, "ls-files", "--error-unmatch", "record.py")
    return _git(folder, "describe", "--always", "--dirty", "--abbrev=12") if tracked else None


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """One CSV line per row; a measure that a row lacks is an empty cell."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*_FIXED, *names])
        for row in rows:
            fixed = [getattr(row, name) for name in _FIXED]
            writer.writerow([*fixed, *(_cell(row.values.get(name)) for name in names)])


def read_rows(path: Path) -> list[Row]:
    """The rows of such a file.

    Raises:
        InvalidInput: it is not one; names the line.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            if not reader.fieldnames or tuple(reader.fieldnames[: len(_FIXED)]) != _FIXED:
                raise InvalidInput(f"{path}: not the per-question rows of a benchmark.")
            return [_row(path, reader.line_num, line) for line in reader]
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: cannot be read ({error}).") from error


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """The value as indented JSON with a final line feed."""
    path.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def described(origin: Provenance) -> dict[str, Any]:
    """The provenance as JSON."""
    return asdict(origin) | {"notes": list(origin.notes)}


def _row(path: Path, number: int, line: dict[str | Any, str | Any]) -> Row:
    try:
        values = {
            name: float(cell) for name, cell in line.items() if name not in _FIXED and cell != ""
        }
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{path}, line {number}: a measure is not a number.") from error
    return Row(**{name: line[name] for name in _FIXED}, values=values)


def _cell(value: float | None) -> str:
    return "" if value is None else format(value, ".6g")


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None

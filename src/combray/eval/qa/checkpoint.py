"""A run on disk while it is made: one JSON line per step, appended, so that a run that was killed goes on.

The first line says what the run depends on; a run with anything else is refused. A line is an answer, an error, or a
verdict of one question; for each question, and each of its judges, the last line counts. All lines keep the calls that
they took, failed ones too, so the costs of a run are those of all its attempts. A last line that was cut by a kill is
dropped and its step done again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from combray.errors import Conflict, InvalidInput
from combray.eval.qa.judges import Label, Verdict
from combray.eval.qa.questions import Key
from combray.model import Call

_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What was answered.

    Attributes:
        text: the answer, without citation marks.
        values: measures of how it came about, such as ``evidence_tokens`` and ``recall_ms``; finite numbers.
        cites: what the answer names as its evidence.
    """

    text: str
    values: Mapping[str, float] = field(default_factory=dict)
    cites: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value in self.values.items():
            if not math.isfinite(value):
                raise InvalidInput(
                    f"the measure {name!r} of an answer must be finite, not {value}."
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why there is no answer.

    Attributes:
        code: of the error, or the name of its class.
        message: what it said.
    """

    code: str
    message: str


@dataclass(slots=True, kw_only=True)
class Entry:
    """What is known of one question.

    Attributes:
        prediction: None until it was answered.
        failure: of the last attempt, where there is no answer.
        answer_ms: of that attempt, the whole answerer.
        verdicts: of that answer, by the name of the judge.
        calls: of all attempts and judges.
    """

    prediction: Prediction | None = None
    failure: Failure | None = None
    answer_ms: float = 0.0
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)


class Checkpoint:
    """The steps that are done; made by `opened`. Threads may add to it."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self.entries: dict[Key, Entry] = {}
        self.judges: dict[str, Mapping[str, Any]] = {}
        self._path = path
        self._stream = stream
        self._lock = Lock()

    def answered(
        self, key: Key, found: Prediction | Failure, calls: Sequence[Call], *, took_ms: float
    ) -> None:
        """Keep an answer, or why there is none."""
        name = "prediction" if isinstance(found, Prediction) else "failure"
        self._append({**_at(key), name: asdict(found), "ms": round(took_ms, 3)}, calls)

    def judged(self, key: Key, judge: str, verdict: Verdict, calls: Sequence[Call]) -> None:
        """Keep a verdict."""
        self._append({**_at(key), "judge": judge, "verdict": asdict(verdict)}, calls)

    def declare(self, judge: str, identity: Mapping[str, Any]) -> None:
        """Say which model and prompt a judge's verdicts come from.

        Raises:
            Conflict: the run already holds verdicts of that judge from another.
        """
        known = self.judges.get(judge)
        if known is not None and known != identity:
            raise Conflict(
                f"{self._path} holds verdicts of the judge {judge!r} by {_shown(known)}, not by "
                f"{_shown(identity)}: take another checkpoint file, or the same judge."
            )
        if known is None:
            self._append({"judge": judge, "identity": dict(identity)}, ())

    def read(self, line: Mapping[str, Any]) -> None:
        """Take in one line; the last one of a step counts."""
        if "identity" in line:
            self.judges[line["judge"]] = line["identity"]
            return
        entry = self.entries.setdefault((line["sample"], line["index"]), Entry())
        entry.calls += map(_call, line.get("calls", ()))
        if "verdict" in line:
            verdict = line["verdict"]
            entry.verdicts[line["judge"]] = Verdict(**verdict | {"label": Label(verdict["label"])})
            return
        entry.answer_ms = line["ms"]
        entry.verdicts.clear()
        found = line.get("prediction")
        if found is None:
            entry.failure = Failure(**line["failure"])
        else:
            entry.prediction = Prediction(**found | {"cites": tuple(found["cites"])})
            entry.failure = None

    def _append(self, line: dict[str, Any], calls: Sequence[Call]) -> None:
        if calls:
            line["calls"] = [asdict(call) | {"at": call.at.isoformat()} for call in calls]
        with self._lock:
            _write(self._stream, line)
            self.read(json.loads(json.dumps(line)))


@contextmanager
def opened(path: Path | str, parameters: Mapping[str, Any]) -> Iterator[Checkpoint]:
    """The checkpoint in that file, new or resumed; no other process can have it open.

    Args:
        path: of the file; made, with its folder, if it does not exist.
        parameters: all that the answers depend on, as JSON.

    Raises:
        Conflict: the file is of a run with other parameters, or another process writes to it; it was not touched.
        InvalidInput: it is not a checkpoint, or damaged before its last line; names the line.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = json.loads(json.dumps(parameters, sort_keys=True, allow_nan=False))
    with _alone(path), path.open("a+b") as stream:
        lines, end = _whole_lines(path, stream)
        checkpoint = Checkpoint(path, stream)
        if lines:
            _check(path, lines[0], wanted)
        for number, line in enumerate(lines[1:], 2):
            try:
                checkpoint.read(line)
            except (KeyError, TypeError, ValueError) as error:
                raise _damaged(path, number) from error
        stream.truncate(end)
        if not lines:
            _write(stream, {"combray_qa": _FORMAT, "parameters": wanted})
        yield checkpoint


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    lock = FileLock(f"{path}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise Conflict(
            f"another run writes to {path}: wait for it, or take another checkpoint file."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _whole_lines(path: Path, stream: BinaryIO) -> tuple[list[dict[str, Any]], int]:
    """The lines that end in a line feed, and where the last of them ends."""
    stream.seek(0)
    content = stream.read()
    end = content.rfind(b"\n") + 1
    lines = []
    for number, raw in enumerate(content[:end].splitlines(), 1):
        try:
            line = json.loads(raw)
        except ValueError as error:
            raise _damaged(path, number) from error
        if not isinstance(line, dict):
            raise _damaged(path, number)
        lines.append(line)
    return lines, end


def _check(path: Path, header: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    if header.get("combray_qa") != _FORMAT or not isinstance(header.get("parameters"), dict):
        raise _damaged(path, 1)
    known = header["parameters"]
    other = sorted(name for name in {*known, *wanted} if known.get(name) != wanted.get(name))
    if other:
        changes = "; ".join(
            f"{name}: {_shown(known.get(name))}, not {_shown(wanted.get(name))}" for name in other
        )
        raise Conflict(
            f"{path} is of a run with other parameters ({changes}): take another checkpoint file, "
            "or the same parameters."
        )


def _damaged(path: Path, number: int) -> InvalidInput:
    return InvalidInput(
        f"{path}, line {number}: not a line of a QA checkpoint. Take another file, or remove this "
        "one to begin anew."
    )


def _shown(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _write(stream: BinaryIO, line: Mapping[str, Any]) -> None:
    # One write of a whole line, on disk before the step counts as done.
    stream.write(json.dumps(line, allow_nan=False).encode() + b"\n")
    stream.flush()
    os.fsync(stream.fileno())


def _at(key: Key) -> dict[str, Any]:
    return {"sample": key[0], "index": key[1]}


def _call(line: Mapping[str, Any]) -> Call:
    return Call(**{**line, "at": datetime.fromisoformat(line["at"])})

"""The QA benchmark: every question answered, scored and judged, over hours, through kills and failures.

Steps are kept as soon as they are done (see `checkpoint`), and a run that is started again does what is missing: a
question without an answer is asked again, a verdict that failed is asked for again, nothing else. What failed has a
column of its own; it is never a zero in a mean, and how much of it there is stands beside the means.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import Any

from combray.answer import Answer
from combray.errors import (
    CombrayError,
    ConfigError,
    EmbedderMismatch,
    InvalidInput,
    MissingExtra,
    ScopeError,
    Unauthorised,
)
from combray.eval.datasets import Dataset
from combray.eval.experiment import Progress, silent
from combray.eval.qa import report, scorers
from combray.eval.qa.bootstrap import N_SAMPLES
from combray.eval.qa.checkpoint import Checkpoint, Failure, Prediction, opened
from combray.eval.qa.costs import Prices
from combray.eval.qa.judges import Judge, Label, Verdict
from combray.eval.qa.questions import GoldQuestion, Posed, chosen_questions, locomo_questions
from combray.eval.qa.result import QaResult
from combray.eval.record import Provenance, provenance
from combray.llm.base import Occasion
from combray.model import Call

Answerer = Callable[[Posed, Occasion], Prediction]
"""Answers a question as it is put; its calls are made on the occasion, so that failed ones are counted too."""

PHASE = "answer"
"""How the ledger names the calls of an answerer that names no phase itself."""

_HOPELESS = (Unauthorised, ConfigError, MissingExtra, ScopeError, EmbedderMismatch)
"""Failures that the next question would meet as well: they end the run, which can be resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QaSetup:
    """How a run is made.

    Attributes:
        data: the benchmark's file or folder; None for the data root.
        checkpoint: file of the steps; None for one that goes with the run.
        parameters: what answers depend on besides the names of method and reader, as JSON: settings, prompt hashes, depth,
            budget. A checkpoint is resumed under equal ones only.
        samples: conversations to ask about; empty for all.
        categories: to ask; empty for all.
        limit: questions of each conversation; None for all.
        workers: questions under way at a time.
        refusal_named: whether the reader's prompt names the refusal sentence; the matched caliber needs it.
        prices: money by model.
        embedder: id of the embedder behind the answers, for the provenance.
        counter: name of the token counter, for the provenance.
        seed: of the bootstrap.
        n_samples: of the bootstrap.
        progress: told how far it is.
    """

    data: Path | str | None = None
    checkpoint: Path | str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    samples: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    limit: int | None = None
    workers: int = 1
    refusal_named: bool = False
    prices: Prices = field(default_factory=dict)
    embedder: str | None = None
    counter: str = ""
    seed: int = 0
    n_samples: int = N_SAMPLES
    progress: Progress = silent

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InvalidInput(f"workers must be at least 1, not {self.workers}.")


def run_qa(
    method: str,
    reader: str,
    judges: Sequence[Judge] = (),
    *,
    answerer: Answerer,
    setup: QaSetup | None = None,
    calls: Iterable[Call] = (),
) -> QaResult:
    """Answer LoCoMo's questions, score and judge the answers, and count what it took.

    Args:
        method: name of what finds the evidence.
        reader: name of the model that answers.
        judges: asked about every answer to a question that has a gold answer; a judge may be added to a kept run.
        answerer: is given a question without its category, and makes its model calls on the occasion it is given.
        setup: see there.
        calls: ledger of what was done before, such as enrichment; counted under its own phases.

    Raises:
        NotFound: the data are not here; says where to get them.
        InvalidInput: no question is left to ask, or two judges have one name.
        Conflict: the checkpoint is of a run with other parameters, or in use; it was not touched.
        Unauthorised: a provider refuses the key. As with all errors that end a run, what was done is kept.
        MissingExtra: a scorer's package is not installed; nothing was asked yet.
    """
    setup = setup or QaSetup()
    if len({judge.name for judge in judges}) != len(judges):
        raise InvalidInput("two judges have the same name: name each once.")
    scorers.check_installed()
    dataset, everything = locomo_questions(setup.data)
    questions = chosen_questions(
        everything, samples=setup.samples, categories=setup.categories, limit=setup.limit
    )
    parameters = _parameters(dataset, method, reader, setup)
    with _checkpoint(setup, parameters) as checkpoint:
        for judge in judges:
            checkpoint.declare(judge.name, judge.identity)
        run = _Run(
            method=method,
            name=f"qa-{_digest(parameters)}",
            judges=judges,
            answerer=answerer,
            checkpoint=checkpoint,
        )
        run.all(questions, setup)
        rows = report.rows(questions, checkpoint, method, refusal_named=setup.refusal_named)
        document = report.document(
            report.Finished(
                method=method,
                reader=reader,
                parameters=parameters,
                judges={judge.name: judge.identity for judge in judges},
                questions=questions,
                checkpoint=checkpoint,
                calls=tuple(calls),
                prices=setup.prices,
                seed=setup.seed,
                n_samples=setup.n_samples,
            ),
            rows,
            _origin(dataset, setup),
        )
    return QaResult(
        benchmark="qa-locomo",
        stem=f"qa-locomo-{method}-{_plain(reader)}",
        document=document,
        rows=tuple(rows),
    )


def from_answer(answer: Answer, values: Mapping[str, float] | None = None) -> Prediction:
    """The answer of a bank as a prediction, with the size of its evidence.

    Args:
        answer: as `answer` gives it.
        values: further measures of it.
    """
    return Prediction(
        text=answer.text,
        values={"evidence_tokens": float(answer.recall.n_tokens), **(values or {})},
        cites=tuple(citation.cite for citation in answer.citations),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The work on single questions, each a step that is kept at once."""

    method: str
    name: str
    judges: Sequence[Judge]
    answerer: Answerer
    checkpoint: Checkpoint

    def all(self, questions: Sequence[GoldQuestion], setup: QaSetup) -> None:
        """Do what is missing; the first hopeless failure ends it, with all that was done kept."""
        waiting = [question for question in questions if self.missing(question)]
        counter = _Counter(setup.progress, len(questions) - len(waiting), len(questions))
        stop = Event()

        def step(question: GoldQuestion) -> None:
            if stop.is_set():
                return
            try:
                self.one(question)
            except Exception:
                stop.set()
                raise
            counter.tick()

        with ThreadPoolExecutor(setup.workers, thread_name_prefix="qa") as pool:
            futures = [pool.submit(step, question) for question in waiting]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                stop.set()
        _raise_first(done)

    def missing(self, question: GoldQuestion) -> bool:
        """Whether the question has no answer yet, or one of its verdicts is missing or failed."""
        entry = self.checkpoint.entries.get(question.key)
        if entry is None or entry.prediction is None:
            return True
        return any(self._unjudged(question, judge) for judge in self.judges)

    def one(self, question: GoldQuestion) -> None:
        """Answer the question and have the answer judged, as far as that is missing."""
        entry = self.checkpoint.entries.get(question.key)
        if entry is None or entry.prediction is None:
            self._answer(question)
        entry = self.checkpoint.entries[question.key]
        for judge in self.judges:
            if entry.prediction is not None and self._unjudged(question, judge):
                self._judge(question, judge, entry.prediction)

    def _unjudged(self, question: GoldQuestion, judge: Judge) -> bool:
        verdict = self.checkpoint.entries[question.key].verdicts.get(judge.name)
        return question.gold is not None and (verdict is None or verdict.label is Label.FAILED)

    def _answer(self, question: GoldQuestion) -> None:
        calls: list[Call] = []
        occasion = Occasion(phase=PHASE, method=self.method, run=self.name, record=calls.append)
        began = time.perf_counter()
        found: Prediction | Failure
        try:
            found = self.answerer(question.posed, occasion)
        except _HOPELESS:
            raise
        except Exception as error:  # noqa: BLE001 - one question must not end a run of thousands
            found = Failure(code=_code(error), message=str(error))
        took_ms = 1000 * (time.perf_counter() - began)
        self.checkpoint.answered(question.key, found, calls, took_ms=took_ms)

    def _judge(self, question: GoldQuestion, judge: Judge, prediction: Prediction) -> None:
        calls: list[Call] = []
        occasion = Occasion(run=self.name, record=calls.append)
        gold = question.gold or ""
        try:
            verdict = judge(question.question.text, gold, prediction.text, occasion)
        except _HOPELESS:
            raise
        except Exception as error:  # noqa: BLE001 - nor must one verdict
            verdict = Verdict(label=Label.FAILED, error=f"{_code(error)}: {error}")
        self.checkpoint.judged(question.key, judge.name, verdict, calls)


class _Counter:
    """Counts questions from several threads."""

    def __init__(self, progress: Progress, done: int, total: int) -> None:
        self._progress = progress
        self._done = done
        self._total = total
        self._lock = Lock()
        progress("answering", done, total)

    def tick(self) -> None:
        with self._lock:
            self._done += 1
            self._progress("answering", self._done, self._total)


def _raise_first(done: Iterable[Future[None]]) -> None:
    for future in done:
        future.result()


@contextmanager
def _checkpoint(setup: QaSetup, parameters: Mapping[str, Any]) -> Iterator[Checkpoint]:
    if setup.checkpoint is not None:
        with opened(setup.checkpoint, parameters) as checkpoint:
            yield checkpoint
        return
    with (
        tempfile.TemporaryDirectory(prefix="combray-qa-") as folder,
        opened(Path(folder) / "qa.jsonl", parameters) as checkpoint,
    ):
        yield checkpoint


def _parameters(dataset: Dataset, method: str, reader: str, setup: QaSetup) -> dict[str, Any]:
    """What answers depend on; which questions are asked, and by whom they are judged, is not part of it."""
    return {
        "data_sha256": dataset.sha256,
        "method": method,
        "reader": reader,
        "refusal_named": setup.refusal_named,
        "embedder": setup.embedder,
        **{f"setup.{name}": value for name, value in setup.parameters.items()},
    }


def _origin(dataset: Dataset, setup: QaSetup) -> Provenance:
    return provenance(
        dataset.sha256,
        seed=setup.seed,
        embedder=setup.embedder,
        counter=setup.counter,
        notes=dataset.remarks(),
    )


def _digest(parameters: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()[:12]


def _code(error: Exception) -> str:
    return error.code if isinstance(error, CombrayError) else type(error).__name__


def _plain(name: str) -> str:
    """The name as part of a file name."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)

"""From the steps of a finished run to its rows and its JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from combray.eval.qa import bootstrap
from combray.eval.qa.averages import ANSWERABLE, averages, rounded
from combray.eval.qa.checkpoint import Checkpoint, Entry
from combray.eval.qa.costs import Prices, by_phase, cost, unpriced
from combray.eval.qa.judges import PHASE as JUDGING
from combray.eval.qa.judges import Label
from combray.eval.qa.questions import GoldQuestion
from combray.eval.qa.refusals import is_exact_refusal, says_nothing_found
from combray.eval.qa.scorers import SCORERS
from combray.eval.record import Provenance, Row, described
from combray.eval.summary import half, mean_of, spread
from combray.model import Call

CALIBERS = ("exact", "lenient", "matched")
"""How adversarial accuracy is counted."""

_SPLITS = ("tuned", "held_out")
_SHOWN_ERRORS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A run whose steps are done.

    Attributes:
        method: name.
        reader: name.
        parameters: that the answers depend on.
        judges: model and prompt of each, by name.
        questions: that were asked.
        checkpoint: the steps.
        calls: made before the run, such as enrichment.
        prices: money by model.
        seed: of the bootstrap.
        n_samples: of the bootstrap.
    """

    method: str
    reader: str
    parameters: Mapping[str, Any]
    judges: Mapping[str, Mapping[str, Any]]
    questions: Sequence[GoldQuestion]
    checkpoint: Checkpoint
    calls: tuple[Call, ...]
    prices: Prices
    seed: int
    n_samples: int


def rows(
    questions: Iterable[GoldQuestion],
    checkpoint: Checkpoint,
    method: str,
    *,
    refusal_named: bool,
) -> list[Row]:
    """A row per question, in the order of the questions.

    ``error`` is 1 where there is no answer; such a row has no scores. ``judge_<name>`` is missing, and
    ``judge_<name>_failed`` is 1, where the judge gave no verdict.
    """
    return [
        Row(
            dataset="locomo",
            method=method,
            bank=item.sample,
            question=item.question.id,
            category=item.question.category,
            split=item.question.split,
            values=_values(item, checkpoint.entries[item.key], refusal_named),
        )
        for item in questions
    ]


def document(finished: Finished, rows: Sequence[Row], origin: Provenance) -> dict[str, Any]:
    """The run's JSON."""
    answerable = [row for row in rows if row.category in ANSWERABLE]
    entries = [finished.checkpoint.entries[item.key] for item in finished.questions]
    return {
        "benchmark": "qa-locomo",
        "method": finished.method,
        "reader": finished.reader,
        "data_sha256": origin.data_sha256,
        "n_questions": len(rows),
        "n_answerable": len(answerable),
        "n_answered": sum(entry.prediction is not None for entry in entries),
        "n_errors": sum(entry.prediction is None for entry in entries),
        "errors": _errors(finished),
        "definitions": {name: scorer.definition for name, scorer in SCORERS.items()},
        "scores": _scores(answerable),
        "judges": {
            name: {**identity, **_judged(answerable, name)}
            for name, identity in finished.judges.items()
        },
        "intervals": _intervals(answerable, finished),
        "halves": {split: _half(half(answerable, split), finished) for split in _SPLITS},
        "adversarial": _adversarial([row for row in rows if row.category == "adversarial"]),
        "false_refusals": {
            name: mean_of(answerable, f"refused_{name}") for name in ("exact", "lenient")
        },
        "measures": _measures(rows),
        "costs": _costs(finished, len(rows)),
        "parameters": dict(finished.parameters),
        "packages": {name: _version(name) for name in ("nltk", "rouge-score")},
        "provenance": described(origin),
    }


def _values(item: GoldQuestion, entry: Entry, refusal_named: bool) -> dict[str, float]:
    prediction = entry.prediction
    values = dict(prediction.values) if prediction else {}
    values |= {"error": float(prediction is None), "answer_ms": entry.answer_ms, **_tokens(entry)}
    if prediction is None:
        return values
    values["refused_exact"] = float(is_exact_refusal(prediction.text))
    values["refused_lenient"] = float(says_nothing_found(prediction.text))
    if item.answerable and item.gold is not None:
        for name, scorer in SCORERS.items():
            values[name] = scorer.score(prediction.text, item.gold, item.question.category)
    for name, verdict in entry.verdicts.items():
        values[f"judge_{name}_failed"] = float(verdict.label is Label.FAILED)
        if verdict.label is not Label.FAILED:
            values[f"judge_{name}"] = float(verdict.label is Label.CORRECT)
    if not item.answerable:
        values.update(_calibers(item, values, refusal_named))
    return values


def _calibers(
    item: GoldQuestion, values: Mapping[str, float], refusal_named: bool
) -> dict[str, float]:
    """Adversarial accuracy; the two questions with a gold answer are the strict judge's in the exact calibers."""
    found = {"adversarial_lenient": values["refused_lenient"]}
    exact = values["refused_exact"] if item.gold is None else values.get("judge_strict")
    if exact is not None:
        found["adversarial_exact"] = exact
        if refusal_named:
            found["adversarial_matched"] = exact
    return found


def _tokens(entry: Entry) -> dict[str, float]:
    """What answering took, without judging."""
    calls = [call for call in entry.calls if call.phase != JUDGING]
    return {
        "n_calls": float(len(calls)),
        "prompt_tokens": float(sum(call.prompt_tokens for call in calls)),
        "completion_tokens": float(sum(call.completion_tokens for call in calls)),
    }


def _errors(finished: Finished) -> list[dict[str, str]]:
    entries = ((item, finished.checkpoint.entries[item.key]) for item in finished.questions)
    failed = [(item, entry.failure) for item, entry in entries if entry.failure is not None]
    return [
        {"question": item.question.id, "code": failure.code, "message": failure.message}
        for item, failure in failed[:_SHOWN_ERRORS]
    ]


def _scores(rows: Sequence[Row]) -> dict[str, Any]:
    return {name: averages(_pairs(rows, name)).to_json() for name in SCORERS}


def _judged(rows: Sequence[Row], judge: str) -> dict[str, Any]:
    """Accuracy over the verdicts there are, how many failed, and what accuracy would be if those were known."""
    failed = sum(row.values.get(f"judge_{judge}_failed", 0.0) for row in rows)
    found = averages(_pairs(rows, f"judge_{judge}"))
    n_correct = sum(value for _, value in _pairs(rows, f"judge_{judge}"))
    n_asked = found.n + int(failed)
    return {
        **found.to_json(),
        "n_correct": int(n_correct),
        "n_wrong": found.n - int(n_correct),
        "n_failed": int(failed),
        "if_failed_are_wrong": rounded(n_correct / n_asked) if n_asked else None,
        "if_failed_are_correct": rounded((n_correct + failed) / n_asked) if n_asked else None,
    }


def _intervals(rows: Sequence[Row], finished: Finished) -> dict[str, Any]:
    """95% intervals of both averages, by conversation."""
    names = [*SCORERS, *(f"judge_{name}" for name in finished.judges)]
    return {
        name: bootstrap.described(
            bootstrap.intervals(rows, name, n_samples=finished.n_samples, seed=finished.seed)
        )
        for name in names
        if _pairs(rows, name)
    }


def _half(rows: Sequence[Row], finished: Finished) -> dict[str, Any]:
    return {
        "scores": _scores(rows),
        "judges": {name: _judged(rows, name) for name in finished.judges},
    }


def _adversarial(rows: Sequence[Row]) -> dict[str, Any]:
    """Accuracy in each caliber, with how many questions it is over; None where a caliber does not apply."""
    found: dict[str, Any] = {"n": len(rows)}
    for caliber in CALIBERS:
        name = f"adversarial_{caliber}"
        found[caliber] = mean_of(rows, name)
        found[f"n_{caliber}"] = len(_pairs(rows, name))
    return found


def _measures(rows: Sequence[Row]) -> dict[str, Any]:
    """Mean, median and 95th percentile of what is no score, over all answered questions."""
    known = {*SCORERS, "error"}
    answered = [row for row in rows if not row.values["error"]]
    names = dict.fromkeys(
        name
        for row in answered
        for name in row.values
        if name not in known and not name.startswith(("judge_", "refused_", "adversarial_"))
    )
    return {name: _spread(answered, name) for name in names}


def _spread(rows: Sequence[Row], name: str) -> dict[str, float | None]:
    values = [row.values[name] for row in rows if name in row.values]
    return {"mean": mean_of(rows, name), **spread(values)}


def _costs(finished: Finished, n_questions: int) -> dict[str, Any]:
    entries = [finished.checkpoint.entries[item.key] for item in finished.questions]
    asking = [call for entry in entries for call in entry.calls]
    calls = [*finished.calls, *asking]
    answering = [call for call in asking if call.phase != JUDGING]
    own = [call for call in calls if call.phase != JUDGING]
    return {
        "phases": {
            phase: found.to_json() for phase, found in by_phase(calls, finished.prices).items()
        },
        "method_total": cost(own, finished.prices).to_json(),
        "tokens_per_question": round(
            sum(c.prompt_tokens + c.completion_tokens for c in answering) / n_questions, 1
        ),
        "unpriced_models": unpriced(calls, finished.prices),
    }


def _pairs(rows: Iterable[Row], measure: str) -> list[tuple[str, float]]:
    return [(row.category, row.values[measure]) for row in rows if measure in row.values]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None

import csv
import io
import json
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console

from combray.answer import REFUSAL, Answer, Citation
from combray.errors import Conflict, InvalidInput, TimedOut, Unauthorised
from combray.eval.qa import Judge, Prediction, Price, QaSetup, from_answer, paired, run_qa
from combray.eval.record import read_rows
from combray.llm.base import Message
from combray.llm.doubles import FunctionLLM
from combray.model import Call

EXTRACTED = Call(
    run="enrich",
    phase="extract",
    method="anchor",
    model="small",
    prompt_tokens=500,
    completion_tokens=50,
    latency_ms=100.0,
    cached=False,
    retry=0,
    attempts=1,
    outcome="ok",
    at=datetime(2024, 5, 1, tzinfo=UTC),
)


class Reading:
    """An answerer over a scripted model, that counts what it is asked."""

    def __init__(self, reply, failing=()):
        self.asked = Counter()
        self.failing = dict(failing)
        self._reply = reply
        self._llm = FunctionLLM(lambda messages, schema: self._reply(messages[-1].content))

    def __call__(self, posed, occasion):
        self.asked[posed.sample, posed.index] += 1
        completion = self._llm.complete(
            [Message(role="user", content=posed.text)], occasion=occasion
        )
        error = self.failing.get((posed.sample, posed.index))
        if error is not None:
            raise error
        return Prediction(text=completion.text, values={"evidence_tokens": 100.0})


def first_speaker(question):
    """Right about all towns of Ann, wrong about those of Cleo; declines what it must, and one question too many."""
    if "shy" in question or "When did" in question:
        return REFUSAL
    return "Ann"


def by_the_words(messages, schema):
    """Judges by whether Ann stands in the last message as gold."""
    text = messages[-1].content
    return {"reason": "words", "label": "WRONG" if "Cleo" in text else "CORRECT"}


@pytest.fixture
def setup(small_locomo, tmp_path):
    return QaSetup(data=small_locomo, checkpoint=tmp_path / "qa.jsonl", n_samples=200)


def judges(function=by_the_words):
    return [Judge(name=name, llm=FunctionLLM(function)) for name in ("strict", "lenient")]


def test_the_json_has_scores_in_both_averages_and_all_categories(setup):
    result = run_qa("fused", "scripted", judges(), answerer=Reading(first_speaker), setup=setup)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert (document["n_questions"], document["n_answerable"], document["n_errors"]) == (16, 14, 0)
    f1 = document["scores"]["f1_squad"]
    # Six towns of each conversation, of which Ann's are right, and two questions declined: 6 of 14.
    assert f1["question_weighted"] == pytest.approx(6 / 14, abs=1e-5)
    # Of each conversation: multi_hop 1, temporal 2, open_domain 2 and one declined, single_hop 1.
    assert f1["open_domain"] == pytest.approx(2 / 6, abs=1e-5)
    assert f1["category_weighted"] == pytest.approx((0.5 + 0.5 + 1 / 3 + 0.5) / 4, abs=1e-5)
    assert set(document["scores"]) == set(document["definitions"]) == {
        "f1_squad", "f1_locomo", "f1_set_word", "f1_set_simple", "bleu1_nltk", "bleu1_word", "bleu4",
        "rouge_l", "exact_match",
    }  # fmt: skip
    halves = document["halves"]
    assert halves["tuned"]["scores"]["f1_squad"]["question_weighted"] == pytest.approx(
        6 / 7, abs=1e-5
    )
    assert halves["held_out"]["scores"]["f1_squad"]["question_weighted"] == 0
    bounds = document["intervals"]["f1_squad"]["question_weighted"]
    assert (bounds["low"], bounds["high"]) == (0, pytest.approx(6 / 7, abs=1e-5))


def test_judges_are_counted_by_label(setup):
    found = run_qa("fused", "r", judges(), answerer=Reading(first_speaker), setup=setup).to_json()
    strict = found["judges"]["strict"]
    assert (strict["n"], strict["n_correct"], strict["n_wrong"], strict["n_failed"]) == (
        14,
        8,
        6,
        0,
    )
    assert strict["question_weighted"] == pytest.approx(8 / 14, abs=1e-5)
    assert {"model", "prompt"} <= set(strict)
    assert "judge_lenient" in found["intervals"]


def test_refusals_are_counted_in_their_calibers(setup):
    reading = Reading(first_speaker)
    found = run_qa("fused", "r", answerer=reading, setup=setup).to_json()
    assert found["adversarial"] == {
        "n": 2, "exact": 1.0, "n_exact": 2, "lenient": 1.0, "n_lenient": 2, "matched": None, "n_matched": 0
    }  # fmt: skip
    assert found["false_refusals"] == {"exact": pytest.approx(2 / 14, abs=1e-5),
                                       "lenient": pytest.approx(2 / 14, abs=1e-5)}  # fmt: skip
    named = replace(setup, refusal_named=True, checkpoint=None)
    assert (
        run_qa("fused", "r", answerer=reading, setup=named).to_json()["adversarial"]["matched"] == 1
    )

    def rambling(question):
        return "It is not mentioned anywhere." if "When did" in question else "Ann"

    other = run_qa("fused", "r", answerer=Reading(rambling), setup=replace(setup, checkpoint=None))
    adversarial = other.to_json()["adversarial"]
    assert (adversarial["exact"], adversarial["lenient"]) == (0, 1)


def test_an_adversarial_question_with_a_gold_answer_is_the_strict_judges(setup, small_locomo):
    document = json.loads(small_locomo.read_text())
    document[0]["qa"][6]["answer"] = "Cleo went"
    small_locomo.write_text(json.dumps(document))
    reading = Reading(first_speaker)
    found = run_qa("fused", "r", judges(), answerer=reading, setup=setup).to_json()["adversarial"]
    assert (found["exact"], found["n_exact"], found["lenient"]) == (0.5, 2, 1)
    alone = run_qa("fused", "r", answerer=reading, setup=replace(setup, checkpoint=None)).to_json()
    assert (alone["adversarial"]["exact"], alone["adversarial"]["n_exact"]) == (1, 1)


def test_a_question_that_fails_has_its_own_column_and_is_no_zero(setup):
    error = TimedOut("no answer within 60 s.")
    reading = Reading(first_speaker, {("conv-26", 0): error, ("conv-50", 7): ValueError("odd")})
    result = run_qa("fused", "r", judges(), answerer=reading, setup=setup)
    document = result.to_json()
    assert (document["n_answered"], document["n_errors"]) == (14, 2)
    assert document["errors"] == [
        {"question": "conv-26/0", "code": "timed_out", "message": "no answer within 60 s."},
        {"question": "conv-50/7", "code": "ValueError", "message": "odd"},
    ]
    assert document["scores"]["f1_squad"]["n"] == 12
    assert document["scores"]["f1_squad"]["question_weighted"] == pytest.approx(5 / 12, abs=1e-5)
    failed = [row for row in result.rows if row.values["error"]]
    assert [row.question for row in failed] == ["conv-26/0", "conv-50/7"]
    assert all("f1_squad" not in row.values for row in failed)


def test_a_run_that_is_resumed_retries_errors_alone(setup):
    reading = Reading(first_speaker, {("conv-26", 0): TimedOut("late")})
    first = run_qa("fused", "r", judges(), answerer=reading, setup=setup).to_json()
    reading.failing.clear()
    second = run_qa("fused", "r", judges(), answerer=reading, setup=setup).to_json()
    assert (first["n_errors"], second["n_errors"]) == (1, 0)
    assert reading.asked == {key: 2 if key == ("conv-26", 0) else 1 for key in reading.asked}
    # The failed attempt cost a call too.
    assert first["costs"]["phases"]["answer"]["calls"] == 16
    assert second["costs"]["phases"]["answer"]["calls"] == 17
    assert second["costs"]["phases"]["judge"]["calls"] == 28
    third = run_qa("fused", "r", judges(), answerer=reading, setup=setup).to_json()
    assert sum(reading.asked.values()) == 17
    assert {**third, "provenance": None} == {**second, "provenance": None}


def test_a_verdict_that_failed_is_asked_for_again_without_a_new_answer(setup):
    mended = []

    def moody(messages, schema):
        if not mended:
            raise TimedOut("late")
        return by_the_words(messages, schema)

    reading = Reading(first_speaker)
    broken = run_qa("fused", "r", judges(moody), answerer=reading, setup=setup)
    strict = broken.to_json()["judges"]["strict"]
    assert (strict["n"], strict["n_failed"], strict["question_weighted"]) == (0, 14, None)
    assert (strict["if_failed_are_wrong"], strict["if_failed_are_correct"]) == (0, 1)
    assert "judge_strict" not in broken.rows[0].values
    assert broken.rows[0].values["judge_strict_failed"] == 1
    mended.append(True)
    strict = run_qa("fused", "r", judges(moody), answerer=reading, setup=setup).to_json()["judges"][
        "strict"
    ]
    assert (strict["n"], strict["n_failed"], strict["n_correct"]) == (14, 0, 8)
    assert set(reading.asked.values()) == {1}


def test_a_judge_that_breaks_has_failed(setup):
    def broken(messages, schema):
        raise ZeroDivisionError("oh")

    found = run_qa("fused", "r", judges(broken), answerer=Reading(first_speaker), setup=setup)
    assert found.to_json()["judges"]["strict"]["n_failed"] == 14


def test_a_judge_can_be_added_to_a_kept_run(setup):
    reading = Reading(first_speaker)
    run_qa("fused", "r", answerer=reading, setup=setup)
    found = run_qa("fused", "r", judges(), answerer=reading, setup=setup).to_json()
    assert found["judges"]["lenient"]["n"] == 14
    assert set(reading.asked.values()) == {1}


def test_a_choice_of_questions_can_grow_on_a_kept_run(setup):
    reading = Reading(first_speaker)
    few = run_qa("fused", "r", answerer=reading, setup=replace(setup, limit=2)).to_json()
    assert few["n_questions"] == 4
    run_qa("fused", "r", answerer=reading, setup=setup)
    assert sum(reading.asked.values()) == 16
    again = run_qa("fused", "r", answerer=reading, setup=replace(setup, limit=2)).to_json()
    assert again["costs"]["phases"]["answer"]["calls"] == 4


def test_other_parameters_are_refused(setup):
    run_qa("fused", "r", answerer=Reading(first_speaker), setup=setup)
    with pytest.raises(Conflict, match='reader: "r", not "other"'):
        run_qa("fused", "other", answerer=Reading(first_speaker), setup=setup)
    changed = replace(setup, parameters={"k": 20})
    with pytest.raises(Conflict, match=r"setup.k: null, not 20"):
        run_qa("fused", "r", answerer=Reading(first_speaker), setup=changed)


def test_a_refused_key_ends_the_run_and_keeps_what_was_done(setup):
    reading = Reading(first_speaker, {("conv-26", 3): Unauthorised("the key was refused.")})
    with pytest.raises(Unauthorised):
        run_qa("fused", "r", answerer=reading, setup=setup)
    assert sum(reading.asked.values()) == 4
    reading.failing.clear()
    assert run_qa("fused", "r", answerer=reading, setup=setup).to_json()["n_errors"] == 0
    assert sum(reading.asked.values()) == 17


def test_workers_side_by_side_give_the_same_numbers(setup):
    alone = run_qa("fused", "r", judges(), answerer=Reading(first_speaker), setup=setup)
    many = replace(setup, workers=4, checkpoint=None)
    beside = run_qa("fused", "r", judges(), answerer=Reading(first_speaker), setup=many)
    for name in ("scores", "judges", "intervals", "halves", "adversarial", "false_refusals"):
        assert beside.to_json()[name] == alone.to_json()[name]
    assert [row.question for row in beside.rows] == [row.question for row in alone.rows]


def test_costs_are_by_phase_with_what_was_done_before(setup):
    priced = replace(setup, prices={"small": Price(prompt=1.0, completion=2.0)})
    result = run_qa(
        "anchor",
        "r",
        judges(),
        answerer=Reading(first_speaker),
        setup=priced,
        calls=[EXTRACTED] * 3,
    )
    costs = result.to_json()["costs"]
    assert list(costs["phases"]) == ["extract", "answer", "judge"]
    assert costs["phases"]["extract"]["money"] == pytest.approx(3 * 600 / 1e6)
    assert costs["phases"]["answer"]["money"] is None
    assert len(costs["unpriced_models"]) == 1
    # Judging is nobody's cost of answering.
    assert costs["method_total"]["calls"] == 3 + 16
    assert costs["tokens_per_question"] == pytest.approx(
        (
            costs["phases"]["answer"]["prompt_tokens"]
            + costs["phases"]["answer"]["completion_tokens"]
        )
        / 16,
        abs=0.1,
    )
    assert result.to_json()["measures"]["evidence_tokens"] == {"mean": 100, "p50": 100, "p95": 100}


def test_a_result_is_saved_as_json_rows_and_plot(setup, tmp_path):
    result = run_qa("fused", "org/small:1", judges(), answerer=Reading(first_speaker), setup=setup)
    files = result.save(tmp_path / "results")
    stem = "qa-locomo-fused-org-small-1"
    assert [file.name for file in files] == [f"{stem}.json", f"{stem}.csv", f"{stem}.png"]
    assert json.loads(files[0].read_text()) == result.to_json()
    with files[1].open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == 16
    assert {"error", "f1_squad", "judge_strict", "judge_strict_failed", "answer_ms", "prompt_tokens",
            "adversarial_exact", "evidence_tokens"} <= set(lines[0])  # fmt: skip
    assert files[2].read_bytes().startswith(b"\x89PNG")


def test_two_saved_runs_are_compared_question_by_question(setup, tmp_path):
    declining = Reading(lambda question: REFUSAL)
    other = replace(setup, checkpoint=None)
    files = [
        run_qa(name, "r", answerer=reading, setup=other).save(tmp_path)[1]
        for name, reading in (("a", declining), ("b", Reading(first_speaker)))
    ]
    found = paired(*map(read_rows, files), "f1_squad")
    assert (found.n, found.better, found.worse) == (14, 6, 0)
    assert found.question_weighted.mean == pytest.approx(6 / 14)
    # One conversation gains six of seven, the other nothing.
    assert (found.question_weighted.low, found.question_weighted.high) == (0, pytest.approx(6 / 7))


def test_the_tables_show_a_run(setup):
    reading = Reading(first_speaker, {("conv-26", 0): TimedOut("late")})
    result = run_qa("fused", "r", judges(), answerer=reading, setup=setup)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(result.table())
    text = console.export_text()
    for expected in (
        "15 of 16 answered",
        "judge_strict",
        "category weighted",
        "adversarial accuracy",
        "judge",
    ):
        assert expected in text


def test_nothing_answered_is_still_a_result(setup):
    failing = {
        (sample, n): ValueError("odd") for sample in ("conv-26", "conv-50") for n in range(8)
    }
    result = run_qa("fused", "r", judges(), answerer=Reading(first_speaker, failing), setup=setup)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert (document["n_answered"], document["intervals"]) == (0, {})
    assert document["scores"]["f1_squad"]["question_weighted"] is None
    assert len(result.save(setup.checkpoint.parent / "out")) == 3


def test_two_judges_of_one_name_are_an_error(setup):
    with pytest.raises(InvalidInput, match="two judges have the same name"):
        run_qa("fused", "r", [*judges(), *judges()], answerer=Reading(first_speaker), setup=setup)
    with pytest.raises(InvalidInput, match="workers must be at least 1"):
        QaSetup(workers=0)


def test_an_answer_of_a_bank_becomes_a_prediction(memory):
    bank = memory.create_bank("ann")
    bank.remember([{"speaker": "Ann", "text": "I am back from Porto."}], session="s")
    recall = bank.recall("Who was in Porto?", abstain=False)
    answer = Answer(
        question="Who was in Porto?",
        text="Ann",
        citations=(Citation(cite="1", source=recall.items[0]),),
        refused=False,
        reason="",
        unknown_cites=(),
        recall=recall,
    )
    found = from_answer(answer, {"recall_ms": 2.5})
    assert (found.text, found.cites) == ("Ann", ("1",))
    assert found.values == {"evidence_tokens": recall.n_tokens, "recall_ms": 2.5}


KILLED = """
import os, signal, sys
from combray.eval.qa import Prediction, QaSetup, run_qa

n = 0

def answerer(posed, occasion):
    global n
    n += 1
    if n > 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return Prediction(text="Ann")

run_qa("fused", "r", answerer=answerer, setup=QaSetup(data=sys.argv[1], checkpoint=sys.argv[2]))
"""


def test_a_run_that_was_killed_goes_on_where_it_was(setup):
    arguments = [sys.executable, "-c", KILLED, str(setup.data), str(setup.checkpoint)]
    done = subprocess.run(arguments, capture_output=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    with setup.checkpoint.open("ab") as stream:
        stream.write(b'{"sample": "conv-26", "index": 5, "predic')
    reading = Reading(first_speaker)
    found = run_qa("fused", "r", answerer=reading, setup=setup).to_json()
    assert found["n_answered"] == 16
    assert sum(reading.asked.values()) == 11
    assert not {("conv-26", n) for n in range(5)} & set(reading.asked)

import json
import math
from datetime import UTC, datetime

import pytest

from combray.errors import Conflict, InvalidInput
from combray.eval.qa.checkpoint import Failure, Prediction, opened
from combray.eval.qa.judges import Label, Verdict
from combray.model import Call

PARAMETERS = {"method": "fused", "reader": "small", "k": 10}
KEY = ("conv-26", 3)
CALL = Call(
    run="r",
    phase="answer",
    method="fused",
    model="small",
    prompt_tokens=10,
    completion_tokens=2,
    latency_ms=1.5,
    cached=False,
    retry=0,
    attempts=1,
    outcome="ok",
    at=datetime(2024, 5, 1, tzinfo=UTC),
)
FOUND = Prediction(text='7 May "2023"\n\ud800', values={"evidence_tokens": 12.0}, cites=("1", "n2"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "qa.jsonl"


def test_what_was_kept_is_there_again(path):
    with opened(path, PARAMETERS) as checkpoint:
        checkpoint.declare("strict", {"model": "m", "prompt": "abc"})
        checkpoint.answered(KEY, FOUND, [CALL], took_ms=3.5)
        checkpoint.judged(KEY, "strict", Verdict(label=Label.WRONG, reason="other day"), [CALL])
        kept = checkpoint.entries
    with opened(path, dict(reversed(PARAMETERS.items()))) as checkpoint:
        assert checkpoint.entries == kept
        entry = checkpoint.entries[KEY]
        assert (entry.prediction, entry.answer_ms, entry.calls) == (FOUND, 3.5, [CALL, CALL])
        assert entry.verdicts == {"strict": Verdict(label=Label.WRONG, reason="other day")}
        assert checkpoint.judges == {"strict": {"model": "m", "prompt": "abc"}}


def test_the_last_step_counts_and_the_calls_of_all(path):
    with opened(path, PARAMETERS) as checkpoint:
        checkpoint.answered(KEY, Failure(code="timed_out", message="late"), [CALL], took_ms=1)
        assert checkpoint.entries[KEY].failure == Failure(code="timed_out", message="late")
        checkpoint.answered(KEY, FOUND, [CALL], took_ms=2)
        checkpoint.judged(
            KEY, "strict", Verdict(label=Label.FAILED, error="timed_out: late"), [CALL]
        )
        checkpoint.judged(KEY, "strict", Verdict(label=Label.CORRECT), [CALL])
    with opened(path, PARAMETERS) as checkpoint:
        entry = checkpoint.entries[KEY]
        assert (entry.prediction, entry.failure, len(entry.calls)) == (FOUND, None, 4)
        assert entry.verdicts["strict"].label is Label.CORRECT


def test_verdicts_go_with_the_answer_they_were_on(path):
    with opened(path, PARAMETERS) as checkpoint:
        checkpoint.answered(KEY, FOUND, [], took_ms=1)
        checkpoint.judged(KEY, "strict", Verdict(label=Label.CORRECT), [])
        checkpoint.answered(KEY, Prediction(text="another"), [], took_ms=1)
        assert checkpoint.entries[KEY].verdicts == {}


def test_a_last_line_that_was_cut_is_dropped_wherever_it_was_cut(path):
    with opened(path, PARAMETERS) as checkpoint:
        checkpoint.answered(KEY, FOUND, [CALL], took_ms=1)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for length in {*range(0, len(whole), 31), first - 1, first, first + 1, len(whole) - 1}:
        path.write_bytes(whole[:length])
        with opened(path, PARAMETERS) as checkpoint:
            assert checkpoint.entries == {}
            checkpoint.answered(("conv-26", 4), FOUND, [], took_ms=1)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [line.get("index") for line in lines] == [None, 4], length
        assert path.read_bytes()[:first] == whole[:first]


def test_other_parameters_are_refused_and_named(path):
    with opened(path, PARAMETERS) as checkpoint:
        checkpoint.answered(KEY, FOUND, [], took_ms=1)
    before = path.read_bytes()
    with (
        pytest.raises(Conflict, match=r"other parameters \(depth: null, not 5; k: 10, not 20\)"),
        opened(path, {**PARAMETERS, "k": 20, "depth": 5}),
    ):
        pass
    assert path.read_bytes() == before


def test_another_judge_of_the_same_name_is_refused(path):
    with opened(path, PARAMETERS) as checkpoint:
        checkpoint.declare("strict", {"model": "m"})
        checkpoint.declare("strict", {"model": "m"})
        checkpoint.declare("lenient", {"model": "other"})
        with pytest.raises(
            Conflict, match=r"verdicts of the judge 'strict' by \{\"model\": \"m\"\}"
        ):
            checkpoint.declare("strict", {"model": "other"})
    assert len(path.read_text().splitlines()) == 3


def test_two_runs_cannot_write_one_file(path):
    with (
        opened(path, PARAMETERS),
        pytest.raises(Conflict, match="another run writes to"),
        opened(path, PARAMETERS),
    ):
        pass
    with opened(path, PARAMETERS):
        pass


@pytest.mark.parametrize(
    ("content", "number"),
    [
        ("hello\n", 1),
        ('{"combray_qa": 99, "parameters": {}}\n', 1),
        ("[1]\n", 1),
        ('HEAD\n{"sample": "conv-26"\n{"judge": "a", "identity": {}}\n', 2),
        ('HEAD\n{"sample": "conv-26"}\n', 2),
        ('HEAD\n{"judge": "a", "identity": {}}\n{"sample": "c", "index": 1, "ms": 1}\n', 3),
        ('HEAD\n{"sample": "c", "index": 1, "judge": "a", "verdict": {"label": "maybe"}}\n', 2),
    ],
)
def test_a_file_that_is_no_checkpoint_is_left_alone(tmp_path, content, number):
    path = tmp_path / "qa.jsonl"
    head = json.dumps({"combray_qa": 1, "parameters": PARAMETERS})
    path.write_text(content.replace("HEAD", head))
    with (
        pytest.raises(
            InvalidInput, match=rf"qa.jsonl, line {number}: not a line of a QA checkpoint"
        ),
        opened(path, PARAMETERS),
    ):
        pass
    assert path.read_text() == content.replace("HEAD", head)


def test_a_measure_must_be_a_number():
    with pytest.raises(InvalidInput, match="'evidence_tokens' of an answer must be finite"):
        Prediction(text="x", values={"evidence_tokens": math.nan})

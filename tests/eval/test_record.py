import json
from datetime import UTC, datetime

import pytest

from combray.errors import InvalidInput
from combray.eval.record import (
    Row,
    commit_of,
    described,
    provenance,
    read_rows,
    write_json,
    write_rows,
)
from combray.eval.summary import by_group, half, latency, mean_of


def row(question, split="tuned", method="bm25", category="temporal", **values):
    return Row(
        dataset="locomo",
        method=method,
        bank="conv-26",
        question=question,
        category=category,
        split=split,
        values=values,
    )


def test_rows_survive_a_round_trip_with_gaps(tmp_path):
    rows = [row("a", x=0.5, y=1.0), row('b, "quoted"\n', x=0.0), row("c", method="fused", z=2.0)]
    write_rows(tmp_path / "rows.csv", rows)
    assert read_rows(tmp_path / "rows.csv") == rows


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not the per-question rows"),
        ("a,b\n1,2\n", "not the per-question rows"),
        ("dataset,method,bank,question,category,split,x\nl,m,b,q,c,s,high\n", "line 2"),
        ("dataset,method,bank,question,category,split,x\nl,m,b,q,c,s,1,2\n", "line 2"),
        ("dataset,method,bank,question,category,split,x\nl,m,b\n", "line 2"),
    ],
)
def test_a_file_of_something_else_is_an_error(tmp_path, text, problem):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=problem):
        read_rows(path)


def test_a_missing_file_of_rows_is_a_typed_error(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_rows(tmp_path / "none.csv")


def test_a_result_never_holds_a_number_that_json_lacks(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", {"a": float("nan")})


def test_provenance_says_when_and_with_what():
    origin = provenance("ab", seed=7, clock=lambda: datetime(2024, 5, 1, tzinfo=UTC), notes=["n"])
    found = json.loads(json.dumps(described(origin)))
    assert (found["data_sha256"], found["seed"], found["notes"]) == ("ab", 7, ["n"])
    assert found["date"] == "2024-05-01T00:00:00+00:00"
    assert all(found[name] for name in ("version", "python", "numpy", "onnxruntime", "machine"))
    assert found["n_cpus"] >= 1


def test_a_folder_that_git_does_not_know_has_no_commit(tmp_path):
    assert commit_of(tmp_path) is None
    assert commit_of(tmp_path / "none") is None


def test_means_leave_out_rows_without_the_measure():
    rows = [row("a", x=1.0), row("b"), row("c", x=0.0, split="held_out")]
    assert mean_of(rows, "x") == 0.5
    assert mean_of(rows, "y") is None
    assert mean_of(half(rows, "tuned"), "x") == 1
    groups = {"all": lambda r: True, "none": lambda r: False}
    assert by_group(rows, "x", groups) == {"all": 0.5, "none": None}


def test_latency_is_given_as_median_and_tail():
    rows = [row(str(n), ms=float(n)) for n in range(101)]
    assert latency(rows, {"recall": "ms"}) == {"recall": {"p50": 50.0, "p95": 95.0}}

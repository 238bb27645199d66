import pytest

from combray.errors import InvalidInput
from combray.eval.compare import Side, compare
from combray.eval.record import Row, write_rows


def rows(method, scores):
    return [
        Row(
            dataset="locomo",
            method=method,
            bank=bank,
            question=str(n),
            category="temporal" if n % 2 else "multi_hop",
            split="tuned",
            values={"recall@10": score},
        )
        for bank, values in scores.items()
        for n, score in enumerate(values)
    ]


@pytest.fixture
def saved(tmp_path):
    both = tmp_path / "both.csv"
    old = rows("bm25", {"x": [0.0, 0.5, 1.0], "y": [1.0, 1.0]})
    new = rows("fused", {"x": [1.0, 0.5, 1.0], "y": [1.0, 0.0]})
    write_rows(both, [*old, *new])
    alone = tmp_path / "alone.csv"
    write_rows(alone, new)
    return both, alone


def test_the_comparison_is_paired_by_question(saved):
    both, alone = saved
    found = compare(Side(path=both, method="bm25"), Side(path=alone), "recall@10")
    everything = found["all"]
    assert (everything.n, everything.first, everything.second) == (5, 0.7, 0.7)
    assert (everything.better, everything.worse) == (1, 1)
    assert everything.difference.mean == 0
    # Conversation x gains a third a question, y loses a half.
    assert everything.difference.low == pytest.approx(-0.5)
    assert everything.difference.high == pytest.approx(1 / 3)
    assert found["temporal"].difference.mean == -0.5


def test_a_side_with_several_methods_must_name_one(saved):
    both, alone = saved
    with pytest.raises(InvalidInput, match=r"name one \(there are: bm25, fused\)"):
        compare(Side(path=both), Side(path=alone), "recall@10")
    with pytest.raises(InvalidInput, match="no method 'edge'"):
        compare(Side(path=both, method="edge"), Side(path=alone), "recall@10")


def test_an_unknown_measure_lists_the_known(saved):
    _, alone = saved
    with pytest.raises(InvalidInput, match=r"no measure 'mrr' \(there are: recall@10\)"):
        compare(Side(path=alone), Side(path=alone), "mrr")


def test_runs_over_other_questions_cannot_be_compared(saved, tmp_path):
    _, alone = saved
    fewer = tmp_path / "fewer.csv"
    write_rows(fewer, rows("bm25", {"x": [0.0]}))
    with pytest.raises(InvalidInput, match="4 questions stand on one side alone"):
        compare(Side(path=fewer), Side(path=alone), "recall@10")

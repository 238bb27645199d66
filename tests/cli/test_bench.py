"""The measuring commands on tiny data; their numbers are the business of tests/eval."""

import json

import pytest


def sample(name):
    return {
        "sample_id": name,
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ana", "dia_id": "D1:1", "text": "I sail to Lisbon in June."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "My bread came out flat."},
            ],
        },
        "qa": [
            {
                "question": "Where does Ana sail?",
                "answer": "x",
                "evidence": ["D1:1"],
                "category": 4,
            },
            {"question": "What of the bread?", "answer": "x", "evidence": ["D1:2"], "category": 1},
        ],
    }


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "locomo10.json"
    path.write_text(json.dumps([sample("conv-26"), sample("conv-44")]), encoding="utf-8")
    return str(path)


def test_locomo_prints_one_json_object_and_its_table_beside_it(cli, data, tmp_path):
    done = cli(
        *("bench", "locomo", "--method", "bm25", "--data", data, "--json"),
        *("--save", str(tmp_path / "results")),
    )
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["method"] == "bm25"
    assert set(result["turn_recall"]) == {"5", "10", "18", "20", "50"}
    assert "LoCoMo" in done.err
    assert (tmp_path / "results" / "locomo-bm25.json").exists()


def test_a_result_that_cannot_be_saved_is_shown_all_the_same(cli, data, tmp_path):
    (tmp_path / "locomo-bm25.json").write_text("my notes")
    done = cli(
        *("bench", "locomo", "--method", "bm25", "--data", data, "--json"),
        *("--save", str(tmp_path)),
    )
    assert done.code == 2
    assert "another folder" in json.loads(done.out)["error"]["message"]
    assert "LoCoMo" in done.err
    assert (tmp_path / "locomo-bm25.json").read_text() == "my notes"


def test_saved_rows_are_compared_question_by_question(cli, data, tmp_path):
    folder = str(tmp_path / "results")
    cli("bench", "locomo", "--method", "bm25", "--data", data, "--save", folder, "--quiet")
    rows = str(tmp_path / "results" / "locomo-bm25.csv")
    done = json.loads(cli("bench", "compare", rows, rows, "--json").out)
    assert done["groups"]["all"]["difference"]["mean"] == 0
    assert cli("bench", "compare", rows, rows).out.startswith("questions")
    assert cli("bench", "compare", rows, rows, "--measure", "nonsense").code == 2


@pytest.mark.parametrize("name", ["locomo", "realmem", "longmemeval-pool"])
def test_missing_data_say_where_they_can_be_had(cli, name, tmp_path):
    done = cli("bench", name, "--data", str(tmp_path / "nowhere"))
    assert done.code == 3
    assert "github.com/snap-research/locomo" in done.err


def test_an_unknown_method_is_an_error_that_lists_what_exists(cli, data):
    done = cli("bench", "locomo", "--method", "magic", "--data", data)
    assert (done.code, "fused" in done.err) == (2, True)


def test_facts_of_a_system_that_released_none_are_refused_with_those_there_are(cli, data):
    done = cli("bench", "locomo", "--method", "atom", "--facts", "edgemem", "--data", data)
    assert done.code == 2
    assert "anchormem, atommem" in done.err

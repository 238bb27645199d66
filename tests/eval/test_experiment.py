import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from rich.console import Console

from combray.errors import ConfigError, InvalidInput, NotFound
from combray.eval import Setup, datasets, run_locomo, run_longmemeval_pool, run_realmem
from combray.eval.datasets import BankData, Dataset, Question
from combray.eval.experiment import Asker, chosen, distinct, written
from combray.eval.locomo import params_of
from combray.importers import ImportedSession
from combray.model import Session, TurnDraft

CATEGORIES = {
    "all",
    "answerable",
    "multi_hop",
    "temporal",
    "open_domain",
    "single_hop",
    "adversarial",
}


def assert_shape(values):
    assert set(values["turn_recall"]) == {"5", "10", "18", "20", "50"}
    assert set(values["budget_recall"]) == {"256", "512", "1024", "2048"}
    for by_step in (values["turn_recall"], values["budget_recall"]):
        assert all(set(by_category) == CATEGORIES for by_category in by_step.values())
    assert set(values["session"]) == {"hit@1", "recall@5", "mrr", "ndcg@5"}


@pytest.fixture
def locomo_result(small_locomo):
    return run_locomo("bm25", baselines=["dense"], setup=Setup(data=small_locomo, embedder="hash"))


def test_locomos_json_has_the_shape_that_others_parse(locomo_result):
    document = json.loads(json.dumps(locomo_result.to_json(), allow_nan=False))
    assert document["method"] == "bm25"
    assert len(document["data_sha256"]) == 64
    assert document["params"] == {"k1": 1.2, "b": 0.75}
    assert set(document["baselines"]) == {"dense"}
    for values in (document, document["baselines"]["dense"]):
        assert_shape(values)
        assert set(values["halves"]) == {"tuned", "held_out"}
        for half in values["halves"].values():
            assert_shape(half)
        for stage in ("recall", "search"):
            assert 0 < values["latency_ms"][stage]["p50"] <= values["latency_ms"][stage]["p95"]
    assert document["provenance"]["embedder"].startswith("hash@")


def test_locomos_numbers_are_those_of_questions_with_evidence(locomo_result):
    document = locomo_result.to_json()
    assert document["n_questions"] == 14
    assert document["turn_recall"]["50"]["all"] == 1
    assert document["halves"]["tuned"]["turn_recall"]["10"]["adversarial"] == 1
    assert document["turn_recall"]["5"]["multi_hop"] == 1
    assert document["session"]["hit@1"] == 1
    assert {row.question for row in locomo_result.rows if row.split == "held_out"} == {
        f"conv-50/{n}" for n in range(7)
    }


def test_the_abstention_report_counts_each_kind(locomo_result):
    found = locomo_result.to_json()["abstention"]
    assert found["n"] == {"answerable": 12, "adversarial": 2, "unrelated": 2 * 67}
    assert {"auc_adversarial", "auc_unrelated", "false_abstention_at_90", "curve"} <= set(found)


def test_a_result_is_saved_as_json_rows_and_plot(locomo_result, tmp_path):
    files = locomo_result.save(tmp_path / "results")
    assert [file.name for file in files] == [
        "locomo-bm25.json",
        "locomo-bm25.csv",
        "locomo-bm25.png",
    ]
    assert json.loads(files[0].read_text()) == locomo_result.to_json()
    with files[1].open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == 2 * 14
    assert {"method", "bank", "question", "recall@10", "budget@1024", "support"} <= set(lines[0])
    assert files[2].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        ("json", b'{"benchmark": "mine"}'),
        ("json", b"my notes"),
        ("json", b""),
        ("csv", b"a,b\n1,2\n"),
        ("png", b"\x89PNG\r\n\x1a\n my picture"),
    ],
)
def test_a_file_that_no_benchmark_wrote_is_not_replaced(locomo_result, tmp_path, ending, content):
    out = tmp_path / "out"
    out.mkdir()
    mine = out / f"locomo-bm25.{ending}"
    mine.write_bytes(content)
    with pytest.raises(InvalidInput, match="another folder"):
        locomo_result.save(out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {mine.name: content}


def test_a_result_replaces_an_earlier_one_and_keeps_modes_and_links(locomo_result, tmp_path):
    out = tmp_path / "out"
    document, rows, plot = locomo_result.save(out)
    document.chmod(0o600)
    elsewhere = rows.rename(out / "rows-elsewhere.csv")
    rows.symlink_to(elsewhere)
    assert locomo_result.save(out) == [document, rows, plot]
    assert document.stat().st_mode & 0o777 == 0o600
    assert rows.is_symlink()
    assert len(list(out.iterdir())) == 4


def test_a_write_that_fails_leaves_the_earlier_result(locomo_result, tmp_path):
    out = tmp_path / "out"
    document = locomo_result.save(out)[0]
    before = document.read_bytes()
    broken = replace(locomo_result, document={**locomo_result.document, "mean": float("nan")})
    with pytest.raises(ValueError, match="JSON"):
        broken.save(out)
    assert document.read_bytes() == before
    assert len(list(out.iterdir())) == 3


def test_the_same_run_gives_the_same_numbers(locomo_result, small_locomo):
    setup = Setup(data=small_locomo, embedder="hash")
    again = run_locomo("bm25", baselines=["dense"], setup=setup).to_json()
    first = locomo_result.to_json()
    for key in ("turn_recall", "budget_recall", "session", "halves", "abstention", "intervals"):
        assert again[key] == first[key]


def test_a_kept_store_is_written_once(small_locomo, tmp_path):
    embedded = []

    class Counting:
        id = "counting"
        dimension = 64

        def embed(self, texts):
            from combray.embed.hashing import HashEmbedder

            embedded.extend(texts)
            return HashEmbedder().embed(texts)

    dataset = datasets.locomo(small_locomo)
    setup = Setup(store=tmp_path / "kept.db", embedder=Counting())
    for _ in range(2):
        with written(dataset, setup) as banks:
            assert banks.banks["conv-26"].bank.n_turns == 24
    assert len(embedded) == 48


def test_a_budget_finds_what_stands_in_the_pack(small_locomo):
    document = run_locomo("bm25", setup=Setup(data=small_locomo, embedder="none")).to_json()
    recalls = [document["budget_recall"][b]["all"] for b in ("256", "512", "1024", "2048")]
    assert recalls == sorted(recalls)
    assert recalls[-1] == 1
    assert set(document["budget_recall_clipped"]) == set(document["budget_recall"])


def test_realmems_json_has_the_shape_that_others_parse(small_realmem):
    setup = Setup(data=small_realmem, embedder="hash")
    result = run_realmem(["bm25", "dense"], setup=setup)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert list(document["methods"]) == ["bm25", "dense"]
    bm25 = document["methods"]["bm25"]
    assert set(bm25["session_recall"]) == {"1", "3", "5", "10"}
    assert set(bm25["personas"]) == {"Adeleke_Okonjo", "Zoe"}
    assert set(bm25["personas"]["Zoe"]["session_recall"]) == {"1", "3", "5", "10"}
    assert bm25["session_recall"]["1"] == 1
    assert document["n_questions"] == 10
    assert [f.name for f in result.save(small_realmem.parent / "out")] == [
        "realmem.json",
        "realmem.csv",
        "realmem.png",
    ]


def test_a_question_of_realmem_sees_earlier_sessions_only(small_realmem):
    dataset = datasets.realmem(small_realmem)
    with written(dataset, Setup(embedder="hash")) as banks:
        data = dataset.banks[0]
        asker = Asker(banks.banks[data.name], data)
        for number, question in enumerate(data.questions, 1):
            ranked = asker.sessions(question, chosen("dense"), n=10)
            assert set(ranked) == {item.session.name for item in data.sessions[:number]}


def test_the_ranking_is_deepened_until_enough_sessions_appear():
    loud = [TurnDraft(id=str(n), text=f"harbour harbour harbour {n}") for n in range(90)]
    quiet = [TurnDraft(id="q", text="We walked past the harbour and then went home for tea.")]
    data = BankData(
        name="b",
        sessions=(
            ImportedSession(session=Session(name="loud"), turns=loud),
            ImportedSession(session=Session(name="quiet"), turns=quiet),
        ),
        questions=(Question(id="q", text="harbour", category="c", split="tuned"),),
    )
    dataset = Dataset(name="d", sha256="", banks=(data,))
    with written(dataset, Setup(embedder="none")) as banks:
        asker = Asker(banks.banks["b"], data)
        question, method = data.questions[0], chosen("bm25")
        assert {s for s, _ in asker.turns(question, method, k=40)} == {"loud"}
        assert asker.sessions(question, method, n=2) == ["loud", "quiet"]
        assert asker.sessions(question, method, n=5) == ["loud", "quiet"]


def test_the_pools_json_has_the_shape_that_others_parse(small_pool):
    setup = Setup(data=small_pool, embedder="hash")
    result = run_longmemeval_pool(["bm25", "late"], setup=setup)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert document["benchmark"] == "longmemeval-pool"
    assert {"1", "3", "5", "10"} <= set(document["methods"]["bm25"]["turn_recall"])
    assert document["methods"]["bm25"]["turn_recall"]["1"] == 1
    assert document["n_questions"] == 5
    assert not any(row.question.endswith("_abs") for row in result.rows)


def test_tables_render_from_the_json_alone(locomo_result, small_realmem, small_pool):
    realmem = run_realmem(["bm25"], setup=Setup(data=small_realmem, embedder="none"))
    pool = run_longmemeval_pool(["bm25"], setup=Setup(data=small_pool, embedder="none"))
    for result in (locomo_result, realmem, pool):
        console = Console(width=220)
        with console.capture() as shown:
            console.print(result.table())
        assert "bm25" in shown.get()


def test_an_unknown_method_or_none_is_an_error(small_pool):
    with pytest.raises(ConfigError, match="bm25"):
        run_locomo("best", setup=Setup(data=small_pool))
    with pytest.raises(InvalidInput, match="at least one"):
        distinct([])


def test_settings_become_plain_json():
    @dataclass(frozen=True)
    class Params:
        off: frozenset[str] = frozenset({"late", "dense"})
        band: tuple[int, int] = (2, 10)
        path: Path = Path("x")

    class Odd:
        name = "odd"
        params = Params()

    assert params_of(Odd()) == {"off": ["dense", "late"], "band": [2, 10], "path": "x"}


def test_a_method_named_twice_runs_once():
    assert [method.name for method in distinct(["bm25", "bm25", chosen("bm25")])] == ["bm25"]


def test_missing_data_is_an_error_before_anything_runs(tmp_path):
    with pytest.raises(NotFound, match="benchmark file"):
        run_locomo("bm25", setup=Setup(data=tmp_path))

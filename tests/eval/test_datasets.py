import json
from collections import Counter
from datetime import datetime

import pytest

from combray.errors import InvalidInput, NotFound
from combray.eval import datasets
from combray.eval.datasets.base import BankData, Dataset, Question, halved, locate
from combray.eval.datasets.locomo import evidence_ids
from combray.importers import BadImport, ImportedSession
from combray.model import Session, TurnDraft


def questions_of(dataset):
    return [question for bank in dataset.banks for question in bank.questions]


def edited(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


def test_locomo_has_the_published_counts(benchmark_data):
    dataset = datasets.locomo(benchmark_data)
    questions = questions_of(dataset)
    assert dataset.sha256 == "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"
    assert [bank.name for bank in dataset.banks] == [
        f"conv-{n}" for n in (26, 30, 41, 42, 43, 44, 47, 48, 49, 50)
    ]
    assert sum(bank.n_turns for bank in dataset.banks) == 5882
    assert sum(len(bank.sessions) for bank in dataset.banks) == 272
    assert (
        sum(t.caption is not None for b in dataset.banks for s in b.sessions for t in s.turns)
        == 1226
    )
    assert len(questions) == 1986
    assert sum(bool(q.gold_turns) for q in questions) == 1982
    assert Counter(q.category for q in questions) == {
        "multi_hop": 282,
        "temporal": 321,
        "open_domain": 96,
        "single_hop": 841,
        "adversarial": 446,
    }
    assert sum(q.answerable for q in questions) == 1540
    assert sum(q.category == "open_domain" and bool(q.gold_turns) for q in questions) == 92
    assert dataset.notes == {"evidence_dropped": 2, "questions_without_evidence": 4}


def test_locomos_malformed_evidence_is_mended_as_listed(benchmark_data):
    fixes = json.loads((benchmark_data / "locomo/evidence_fixes.json").read_text())
    banks = {bank.name: bank for bank in datasets.locomo(benchmark_data).banks}
    assert len(fixes) == 10
    for fix in fixes:
        question = banks[fix["sample_id"]].questions[fix["qa_index"]]
        assert {turn for _, turn in question.gold_turns} == set(fix["normalized"])


def test_locomos_halves_are_five_conversations_each(benchmark_data):
    banks = datasets.locomo(benchmark_data).banks
    tuned = [bank.name for bank in banks if bank.questions[0].split == "tuned"]
    assert tuned == ["conv-26", "conv-30", "conv-41", "conv-42", "conv-43"]


def test_realmem_has_its_counts_and_every_gold_session_comes_before(benchmark_data):
    dataset = datasets.realmem(benchmark_data)
    assert {bank.name: len(bank.questions) for bank in dataset.banks} == {
        "Adeleke_Okonjo": 124,
        "Ethan_Hunt": 162,
        "Kenta_Tanaka": 153,
        "Kim_Ji_young": 168,
        "Liam_O_Connor": 121,
    }
    assert sum(bank.n_turns for bank in dataset.banks) == 7105
    assert dataset.notes == {"empty_turns_left_out": 2, "backward_dates_moved": 53}
    assert sum(len(bank.sessions) for bank in dataset.banks) == 1026
    for bank in dataset.banks:
        for question in bank.questions:
            assert question.gold_sessions <= set(bank.sessions_before(question.before_session))


def test_the_longmemeval_pool_has_its_counts(benchmark_data):
    dataset = datasets.longmemeval_pool(benchmark_data)
    questions = questions_of(dataset)
    assert dataset.name == "longmemeval-pool"
    assert len(questions) == 500
    assert sum(q.answerable for q in questions) == 470
    assert all(q.gold_turns for q in questions if q.answerable)
    assert (dataset.banks[0].n_turns, len(dataset.banks[0].sessions)) == (896, 854)
    assert sum(len(q.gold_turns) for q in questions) == 896


def test_evidence_strings_are_read_by_the_stated_rule():
    raw = ["D9:1 D4:4 D4:6", "D:11:26", "D30:05", "D", "D4:4"]
    assert evidence_ids(raw) == ["D9:1", "D4:4", "D4:6", "D11:26", "D30:5"]


def test_evidence_without_a_turn_is_dropped_and_counted(small_locomo):
    def change(document):
        document[0]["qa"][0]["evidence"] = ["D1:1", "D1:99"]

    dataset = datasets.locomo(edited(small_locomo, change))
    assert dataset.banks[0].questions[0].gold_turns == {("conv-26/session_1", "D1:1")}
    assert dataset.notes == {"evidence_dropped": 1, "questions_without_evidence": 2}


def test_equal_questions_of_a_conversation_stay_two(small_locomo):
    def change(document):
        document[0]["qa"].append(document[0]["qa"][0])

    bank = datasets.locomo(edited(small_locomo, change)).banks[0]
    assert [q.id for q in bank.questions if q.text == "Who went to Porto?"] == [
        "conv-26/0",
        "conv-26/8",
    ]


def test_locomos_questions_are_asked_when_the_conversation_has_ended(small_locomo):
    question = datasets.locomo(small_locomo).banks[0].questions[0]
    assert question.asked_at == datetime(2023, 5, 6, 13, 56)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d[1]["qa"][2].update(category=6), "conversation 2, question 2: the category 6"),
        (lambda d: d[0]["qa"][0].update(category=[1]), "question 0: the category"),
        (
            lambda d: d[0]["qa"][0].update(evidence="D1:1"),
            "question 0: 'evidence' must be an array",
        ),
        (lambda d: d[0]["qa"][0].update(question=None), "question 0: 'question' must be text"),
        (lambda d: d[0].update(qa=None), "conversation 1: 'qa' must be an array"),
        (lambda d: d[0].update(conversation={}), "conversation 1: the conversation has no turns"),
    ],
)
def test_a_broken_locomo_file_fails_loudly(small_locomo, change, problem):
    with pytest.raises(BadImport) as caught:
        datasets.locomo(edited(small_locomo, change))
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d["turns"][0].update(role="king"), "turn 1: the role 'king'"),
        (lambda d: d["turns"][0].update(at="15.12.2025"), "turn 1: the day"),
        (lambda d: d["turns"][0].update(session=None), "turn 1: 'session' must be text"),
        (
            lambda d: d["questions"][0].update(evidence_sessions=[]),
            "question 1: 'evidence_sessions'",
        ),
        (lambda d: d["questions"][0].update(asked_in=None), "question 1: 'asked_in' must be text"),
        (lambda d: d.update(questions=None), "'questions' must be an array"),
    ],
)
def test_a_broken_realmem_file_fails_loudly(small_realmem, change, problem):
    edited(small_realmem / "Zoe.json", change)
    with pytest.raises(BadImport) as caught:
        datasets.realmem(small_realmem)
    assert "Zoe.json" in str(caught.value)
    assert problem in str(caught.value)


def test_an_empty_turn_of_realmem_is_left_out_and_counted(small_realmem):
    edited(small_realmem / "Zoe.json", lambda d: d["turns"][1].update(text=" "))
    dataset = datasets.realmem(small_realmem)
    assert dataset.notes == {"empty_turns_left_out": 1, "backward_dates_moved": 0}
    assert [turn.id for turn in dataset.banks[1].sessions[0].turns] == ["Porto:0"]


def test_an_empty_folder_is_no_realmem(tmp_path):
    with pytest.raises(BadImport, match="no files ending in"):
        datasets.realmem(tmp_path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d[0].update(is_abstention=None), "question 1: 'is_abstention'"),
        (lambda d: d[0].update(evidence_sessions=[]), "question 1: a question with an answer"),
        (lambda d: d[0]["evidence_sessions"][0].update(date="x"), "session 1: the date 'x'"),
        (lambda d: d[0]["evidence_sessions"][0].update(turns=[]), "'turns' must be a non-empty"),
        (lambda d: d[0]["evidence_sessions"][0]["turns"][0].update(role="x"), "turn 1: the role"),
        (lambda d: d[0].update(evidence_sessions={}), "'evidence_sessions' must be an array"),
        (lambda d: d.clear(), "a non-empty array"),
    ],
)
def test_a_broken_pool_fails_loudly(small_pool, change, problem):
    with pytest.raises(BadImport) as caught:
        datasets.longmemeval_pool(edited(small_pool, change))
    assert problem in str(caught.value)


def bank_with(*questions):
    session = ImportedSession(session=Session(name="s"), turns=[TurnDraft(text="x", id="1")])
    return BankData(name="b", sessions=(session,), questions=questions)


@pytest.mark.parametrize(
    ("gold", "problem"),
    [
        ({"gold_turns": frozenset({("s", "2")})}, "is not in the bank"),
        ({"gold_sessions": frozenset({"t"})}, "is not in the bank"),
        ({"before_session": "t"}, "'t' it is asked in is not in the bank"),
    ],
)
def test_gold_that_no_bank_holds_is_an_error(gold, problem):
    question = Question(id="q", text="?", category="c", split="tuned", **gold)
    with pytest.raises(InvalidInput, match=problem):
        Dataset(name="d", sha256="", banks=(bank_with(question),))


def test_names_must_be_unique_in_a_bank():
    question = Question(id="q", text="?", category="c", split="tuned")
    with pytest.raises(InvalidInput, match="same id"):
        Dataset(name="d", sha256="", banks=(bank_with(question, question),))


def test_a_missing_data_folder_says_where_to_get_the_data(tmp_path, monkeypatch):
    monkeypatch.setenv("COMBRAY_DATA", str(tmp_path / "none"))
    with pytest.raises(NotFound, match="snap-research/locomo"):
        datasets.data_root()
    with pytest.raises(NotFound, match="COMBRAY_DATA"):
        locate(tmp_path, "locomo/locomo10.json")


def test_a_given_folder_wins_over_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("COMBRAY_DATA", "/nowhere")
    assert datasets.data_root(tmp_path) == tmp_path


def test_a_split_by_name_is_fixed():
    assert [halved(name) for name in ("e47becba", "0a995998")] == ["held_out", "tuned"]
    assert 400 < sum(halved(str(n)) == "tuned" for n in range(1000)) < 600

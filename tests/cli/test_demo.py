"""What a stranger sees first."""

import json
from importlib.resources import files

import pytest

from combray.cli.demo import QUESTIONS
from combray.embed import weights
from combray.errors import WeightsUnavailable


def weights_are_here() -> bool:
    try:
        weights.locate()
    except WeightsUnavailable:
        return False
    return True


def packs(done):
    assert done.code == 0, done.err
    return [one["text"] for one in json.loads(done.out)]


def abstained(done):
    return [one["abstained"] for one in json.loads(done.out)]


def check_answers(texts):
    wedding, nuts, recital, october, _ = texts
    assert "Lisbon" in wedding
    assert "Porto" in wedding
    assert wedding.index("married in Lisbon") < wedding.index("Porto")
    assert "walnuts" in nuts
    assert "2024-10-02" in october
    assert "2024-03-10" not in october
    assert "When is it?" in recital
    assert "The twentieth, at six." in recital


def test_the_demo_finds_the_answers_by_words_alone(cli, monkeypatch):
    monkeypatch.setenv("COMBRAY_EMBEDDER", "none")
    done = cli("demo", "--json")
    check_answers(packs(done))
    assert abstained(done) == [False, False, False, False, True]


def test_without_weights_and_network_the_demo_says_that_recall_is_lexical(
    cli, monkeypatch, tmp_path
):
    monkeypatch.delenv("COMBRAY_EMBEDDER")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("COMBRAY_MODELS", str(tmp_path / "models"))
    done = cli("demo")
    assert done.code == 0
    assert "weights cannot be had" in done.err
    assert "words alone" in done.out


@pytest.mark.skipif(not weights_are_here(), reason="the encoder's weights are not on this machine")
def test_the_demo_finds_the_answers_by_meaning_and_knows_what_it_does_not_know(cli, monkeypatch):
    monkeypatch.setenv("COMBRAY_EMBEDDER", "auto")
    monkeypatch.delenv("COMBRAY_OFFLINE")
    done = cli("demo", "--json")
    check_answers(packs(done))
    assert abstained(done) == [False, False, False, False, True]


def test_the_demo_shows_packs_and_reasons_and_fits_on_a_page(cli):
    done = cli("demo")
    assert done.code == 0
    for question in QUESTIONS:
        assert question in done.out
    assert "ranks first: " in done.out
    assert "combray demo --keep" in done.out
    assert "goes by the latest" in done.out
    assert "matching phrases: " in done.out
    assert "Forgot the session tea-in-march: 14 turns." in done.out
    assert "nothing of them: yes" in done.out
    assert len(done.out.splitlines()) < 105


def test_a_kept_demo_can_be_asked_on_and_is_never_overwritten(cli, tmp_path):
    path = str(tmp_path / "demo.db")
    assert cli("demo", "--keep", path).code == 0
    found = cli("recall", "demo", "walnuts", "--no-abstain", "--db", path)
    assert "walnuts" in found.out
    done = cli("demo", "--keep", path)
    assert (done.code, "exists already" in done.err) == (2, True)


def test_the_demo_leaves_the_database_of_the_user_alone(cli, database):
    cli("demo")
    assert not database.exists()


def test_the_conversation_is_one_that_can_be_imported(cli):
    path = files("combray.cli") / "data" / "demo.jsonl"
    done = json.loads(cli("import", "demo", str(path), "--json").out)["banks"][0]
    assert (done["sessions"], done["stored"]) == (3, 31)

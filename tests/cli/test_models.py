import json

import pytest

MODEL = "all-MiniLM-L6-v2"


@pytest.fixture
def nothing_here(monkeypatch, tmp_path):
    """Neither weights nor a network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("COMBRAY_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def test_the_list_says_what_is_not_here(cli, nothing_here):
    (model,) = json.loads(cli("models", "list", "--json").out)
    assert (model["name"], model["folder"], model["dimension"]) == (MODEL, None, 384)
    assert "not here" in cli("models", "list").out


def test_offline_nothing_is_fetched(cli, nothing_here):
    done = cli("models", "fetch")
    assert (done.code, "COMBRAY_OFFLINE" in done.err) == (8, True)


def test_missing_and_damaged_files_are_told_apart(cli, nothing_here):
    done = cli("models", "verify", "--json")
    assert done.code == 1
    assert {check["problem"] for check in json.loads(done.out)} == {"missing"}
    nothing_here.mkdir()
    (nothing_here / "tokenizer.json").write_text("{}", encoding="utf-8")
    problems = {c["file"]: c["problem"] for c in json.loads(cli("models", "verify", "--json").out)}
    assert problems["tokenizer.json"] == "wrong size"
    assert cli("models", "verify").code == 1


def test_an_unknown_model_is_an_error_that_lists_what_exists(cli):
    done = cli("models", "fetch", "magic")
    assert (done.code, MODEL in done.err) == (2, True)


def test_a_group_alone_shows_its_help(cli):
    for group in ("models", "bench"):
        done = cli(group)
        assert done.code == 0
        assert done.out == cli(group, "--help").out

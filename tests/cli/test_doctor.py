"""`doctor`, `config` and `reindex`: the state of things."""

import json
import sqlite3
from contextlib import closing

import pytest

from combray.embed import weights
from combray.errors import WeightsUnavailable


def weights_are_here() -> bool:
    try:
        weights.locate()
    except WeightsUnavailable:
        return False
    return True


def findings(done):
    return json.loads(done.out)["findings"]


def test_a_sound_database_is_well(cli):
    cli("remember", "mira", "Words.")
    done = cli("doctor", "--json")
    assert done.code == 0
    assert {finding["severity"] for finding in findings(done)} == {"ok"}
    assert any("Versions: combray" in finding["what"] for finding in findings(done))
    assert cli("doctor", "mira").code == 0


def test_a_bank_that_does_not_exist_is_an_error(cli):
    cli("remember", "mira", "Words.")
    assert cli("doctor", "nobody").code == 3


def test_no_database_is_a_warning_that_makes_none(cli, database):
    done = cli("doctor")
    assert done.code == 0
    assert "no database" in done.out
    assert "Embedder: hash." in done.out
    assert not database.exists()


def test_before_the_first_turn_missing_weights_are_a_warning(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("COMBRAY_EMBEDDER", "auto")
    monkeypatch.setenv("COMBRAY_MODELS", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    done = cli("doctor", "--json")
    assert done.code == 0
    assert "combray models fetch" in {finding["remedy"] for finding in findings(done)}


def test_a_file_that_is_not_ours_is_a_finding(cli, database):
    database.write_text("my notes " * 500, encoding="utf-8")
    done = cli("doctor", "--json")
    assert done.code == 1
    assert "error" in {finding["severity"] for finding in findings(done)}
    assert database.read_text(encoding="utf-8") == "my notes " * 500


def test_an_embedder_without_weights_is_a_finding(cli, monkeypatch, tmp_path):
    cli("remember", "mira", "Words.")
    monkeypatch.setenv("COMBRAY_EMBEDDER", "minilm")
    monkeypatch.setenv("COMBRAY_MODELS", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    done = cli("doctor", "--json")
    assert done.code == 1
    (error,) = [finding for finding in findings(done) if finding["severity"] == "error"]
    assert error["remedy"] == "combray models fetch"


def test_a_misspelt_variable_is_a_warning(cli, monkeypatch):
    monkeypatch.setenv("COMBRAY_METHODS", "fused")
    assert "COMBRAY_METHODS is set, but no setting has that name." in cli("doctor").out
    assert "COMBRAY_METHODS" in cli("config").err


def test_fix_gives_turns_the_vectors_they_lack(cli, monkeypatch):
    cli("remember", "mira", "Words about bread.")
    monkeypatch.setenv("COMBRAY_EMBEDDER", "none")
    cli("remember", "mira", "More words about bread.")
    monkeypatch.setenv("COMBRAY_EMBEDDER", "hash")
    (wrong,) = [one for one in findings(cli("doctor", "--json")) if one["severity"] != "ok"]
    assert wrong["remedy"] == "combray reindex mira"
    assert "Reindexed bank mira." in cli("doctor", "--fix").out
    assert {one["severity"] for one in findings(cli("doctor", "--json"))} == {"ok"}


def test_fix_says_that_no_erasure_is_pending(cli):
    cli("remember", "mira", "Words.")
    assert "No erasure is pending." in cli("doctor", "--fix").out


def test_reindex_gives_a_lexical_bank_its_vectors(cli, monkeypatch):
    monkeypatch.setenv("COMBRAY_EMBEDDER", "none")
    cli("remember", "mira", "Words.")
    monkeypatch.setenv("COMBRAY_EMBEDDER", "hash")
    done = json.loads(cli("reindex", "mira", "--json").out)
    assert (done["analysed"], done["embedded"], done["embedder"]) == (1, 1, "hash@1-64")
    assert cli("reindex", "mira", "--embedder", "magic").code == 2
    assert cli("reindex", "mira", "--analyser", "magic").code == 2
    assert cli("reindex", "nobody").code == 3


@pytest.mark.skipif(not weights_are_here(), reason="the encoder's weights are not on this machine")
def test_a_bank_of_another_model_says_how_to_reindex_and_that_helps(cli, monkeypatch):
    cli("remember", "mira", "Words about bread.")
    monkeypatch.setenv("COMBRAY_EMBEDDER", "minilm")
    done = cli("recall", "mira", "bread", "--no-abstain")
    assert (done.code, "combray reindex mira" in done.err) == (7, True)
    assert cli("reindex", "mira").code == 0
    assert "bread" in cli("recall", "mira", "bread", "--no-abstain").out


def test_config_tells_each_setting_and_its_source(cli, database, tmp_path):
    settings = json.loads(cli("config", "--json").out)
    assert settings["embedder"] == {
        "name": "embedder",
        "value": "hash",
        "source": "environment",
        "variable": "COMBRAY_EMBEDDER",
    }
    assert settings["method"]["source"] == "default"
    assert settings["db"]["value"] == str(database)
    named = json.loads(cli("config", "--json", "--db", str(tmp_path / "x.db")).out)["db"]
    assert (named["value"], named["source"]) == (str(tmp_path / "x.db"), "option")
    assert "offline" in cli("config").out


def test_a_setting_that_cannot_be_is_an_error(cli, monkeypatch):
    monkeypatch.setenv("COMBRAY_CACHE_MB", "lots")
    done = cli("config")
    assert (done.code, "COMBRAY_CACHE_MB" in done.err) == (2, True)


def test_a_damaged_zone_and_analyser_are_findings_with_a_remedy(cli, database):
    cli("remember", "mira", "The heron came back.")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE bank SET zone = 'Europe/Combray', analyser = 'heavy:9'")
    for arguments in ((), ("mira",), ("--fix",)):
        done = cli("doctor", *arguments, "--json")
        assert done.code == 1, done.err
        errors = [one for one in json.loads(done.out)["findings"] if one["severity"] == "error"]
        assert ["zone" in one["what"] for one in errors] == [True, False]
        assert all(one["remedy"] for one in errors)
        assert "'heavy:9'" in errors[1]["what"]

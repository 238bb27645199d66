"""The edge: errors become a sentence and an exit code."""

import json

import pytest

from combray.cli.run import BUG, SYSTEM, common_first, failure_of
from combray.errors import Conflict, EmbedderMismatch, RateLimited


@pytest.mark.parametrize(
    ("arguments", "common", "rest"),
    [
        (["recall", "m", "q", "--json"], ["--json"], ["recall", "m", "q"]),
        (["recall", "--db", "x.db", "m"], ["--db", "x.db"], ["recall", "m"]),
        (["recall", "--db=x.db", "m", "--quiet"], ["--db=x.db", "--quiet"], ["recall", "m"]),
        (["remember", "m", "--", "--json"], [], ["remember", "m", "--", "--json"]),
        (["remember", "m", "--db"], ["--db"], ["remember", "m"]),
        ([], [], []),
    ],
)
def test_options_that_every_command_has_may_stand_anywhere(arguments, common, rest):
    assert common_first(arguments) == (common, rest)


def test_text_that_looks_like_an_option_goes_behind_two_dashes(cli):
    assert cli("remember", "mira", "--", "--json").code == 0
    assert '"--json"' in cli("export", "mira").out


def test_an_error_keeps_its_code_and_its_facts():
    failure = failure_of(EmbedderMismatch("mira", "a/1", "b/2"))
    assert (failure.code, failure.exit_code) == ("embedder_mismatch", 7)
    assert failure.facts == {"bank": "mira", "stored": "a/1", "given": "b/2"}
    assert failure_of(RateLimited("wait", 3.5)).facts == {"retry_after_s": 3.5}
    assert failure_of(Conflict("no")).exit_code == 4


def test_a_bug_says_how_to_see_where():
    failure = failure_of(KeyError("x"))
    assert failure.exit_code == BUG
    assert "--traceback" in failure.message


def test_a_refusal_of_the_system_names_the_file():
    failure = failure_of(PermissionError(13, "Permission denied", "/there/x"))
    assert (failure.exit_code, failure.message) == (SYSTEM, "/there/x: Permission denied.")


def test_a_traceback_is_shown_if_asked_for(cli):
    done = cli("recall", "nobody", "q", "--traceback")
    assert "Traceback" in done.err
    assert "Traceback" not in cli("recall", "nobody", "q").err


def test_a_usage_error_points_at_the_help_of_its_command(cli):
    done = cli("bench", "speed", "--size", "many", "--json")
    error = json.loads(done.out)["error"]
    assert (done.code, error["code"]) == (2, "usage")
    assert "combray bench speed --help" in error["message"]


def test_a_path_to_a_missing_file_is_not_made(cli, tmp_path):
    assert cli("recall", "mira", "q", "--db", str(tmp_path / "typo.db")).code == 3
    assert not (tmp_path / "typo.db").exists()


def test_version_and_bare_call(cli):
    assert cli("--version").out.startswith("combray 0.")
    bare = cli()
    assert (bare.code, bare.out) == (0, cli("--help").out)

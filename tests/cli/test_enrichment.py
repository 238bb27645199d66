"""The commands that need a language model, against a real HTTP server on loopback that plays one."""

import json
import re
import signal
import threading
from http.server import ThreadingHTTPServer

import pytest
from tests.llm.conftest import Endpoint, Handler, fails, says, streams

from combray import Memory

KEY = "sk-loopback"
SAID = re.compile(r'^"(.+)" said "(.+)"', re.MULTILINE)
TOPIC = re.compile(r"^- (.+)$", re.MULTILINE)
QUESTION = "What did Mel paint?"
PAINTED = "I painted a sunrise by the lake"


def plays(body):
    """A note taker, a narrator and a reader, by what it is asked for."""
    asked = body["messages"][-1]["content"]
    if body.get("stream"):
        return streams("A sun", "rise [1].")
    if "Question:" in asked:
        return says("A sunrise [1].")
    if "<topics>" in asked:
        return says(json.dumps({"events": ["Together: " + " / ".join(TOPIC.findall(asked))]}))
    return says(json.dumps({"facts": [f"{who} said {what}" for who, what in SAID.findall(asked)]}))


@pytest.fixture
def model(monkeypatch):
    """A server that plays a model, and the settings that lead to it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    endpoint = Endpoint(server)
    endpoint.answers(plays)
    monkeypatch.setenv("COMBRAY_LLM_URL", endpoint.url)
    monkeypatch.setenv("COMBRAY_LLM_MODEL", "tiny-chat")
    monkeypatch.setenv("COMBRAY_LLM_KEY", KEY)
    yield endpoint
    server.shutdown()
    server.server_close()


@pytest.fixture
def painted(cli, database):
    """A bank with two sessions whose facts belong together, and the method `anchor`."""
    with Memory.open(database) as memory:
        bank = memory.create_bank("mel")
        bank.remember(f"{PAINTED}.", speaker="Mel", said_at="2024-05-04")
        bank.remember(f"{PAINTED} again.", speaker="Mel", said_at="2024-05-11")
        bank.enrichment.use("anchor")
    return cli


@pytest.fixture
def enriched(painted, model):
    assert painted("work", "--now").code == 0
    return painted


def value(done):
    return json.loads(done.out)


def test_from_turns_to_an_answer(painted, model):
    assert [job["state"] for job in value(painted("jobs", "mel", "--json"))["jobs"]] == [
        "waiting"
    ] * 2
    done = painted("work", "--now")
    assert (done.code, done.out) == (0, "Done: 3 jobs; failed: 0.\n")
    assert "mel · anchor · session 2024-05-04" in done.err
    assert painted("jobs", "mel").err == "No jobs.\n"
    found = painted("recall", "mel", QUESTION, "--method", "anchor")
    assert f"] Mel: {PAINTED} again." in found.out
    assert "[n1] (from 1, 2): Together: Mel said" in found.out
    said = painted("answer", "mel", QUESTION)
    assert (said.code, said.out) == (0, "A sunrise.\n")
    assert said.err == f"[1] 2024-05-04 Mel: {PAINTED}.\n"
    assert {headers["Authorization"] for headers in model.headers} == {f"Bearer {KEY}"}


def test_an_answer_as_json_names_the_turns_it_rests_on(enriched):
    found = value(enriched("answer", "mel", QUESTION, "--method", "anchor", "--json"))
    assert (found["text"], found["refused"], found["unknown_cites"]) == ("A sunrise.", False, [])
    (citation,) = found["citations"]
    items = {str(item["cite"]): item["turn"]["id"] for item in found["recall"]["items"]}
    assert citation["id"] == items[citation["cite"]]
    assert found["model"] == "tiny-chat-v1"
    assert len(found["prompt"]) == 12


def test_an_answer_is_shown_while_it_is_written(enriched, model):
    done = enriched("answer", "mel", QUESTION, "--stream")
    assert done.out == "A sunrise [1].\n"
    assert done.err.startswith("[1] 2024-05-04 Mel: ")
    assert model.asked[-1]["stream"] is True
    asked = len(model.asked)
    assert value(enriched("answer", "mel", QUESTION, "--stream", "--json"))["text"] == "A sunrise."
    assert len(model.asked) == asked + 1


def test_a_note_can_be_cited(enriched, model):
    model.answers(says("A sunrise, twice [n1, 2]."))
    done = enriched("answer", "mel", QUESTION, "--method", "anchor")
    assert done.out == "A sunrise, twice.\n"
    first, second = done.err.splitlines()
    assert first.startswith("[n1] note: Together:")
    assert first.endswith("again.")
    assert second.startswith("[2] 2024-05-11 Mel:")


def test_a_line_that_is_not_there_is_told(enriched, model):
    model.answers(says("A sunrise [1] [77]."))
    done = enriched("answer", "mel", QUESTION)
    assert (done.code, done.out) == (0, "A sunrise.\n")
    assert "cites lines that are not there: 77." in done.err


def test_a_refusal_is_an_answer_and_says_why(enriched, model):
    model.answers(says("not mentioned in the conversation"))
    done = enriched("answer", "mel", QUESTION)
    assert (done.code, done.out) == (0, "Not mentioned in the conversation.\n")
    assert done.err == "the evidence does not answer the question\n"
    assert "reply exactly: Not mentioned" in model.asked[-1]["messages"][0]["content"]
    enriched("answer", "mel", QUESTION, "--guess")
    assert "best guess" in model.asked[-1]["messages"][0]["content"]


def test_nothing_is_asked_where_nothing_is_found(enriched, model):
    asked = len(model.asked)
    done = enriched("answer", "mel", "Was it raining?", "--speaker", "Ben")
    assert (done.code, done.out) == (0, "Not mentioned in the conversation.\n")
    assert "matches the query under these filters" in done.err
    assert len(model.asked) == asked


def test_a_reader_can_be_asked_where_the_recall_would_abstain(painted, model):
    unrelated = ("answer", "mel", "Which zebra drives?")
    assert "does not seem to hold an answer" in painted(*unrelated).err
    assert model.asked == []
    assert painted(*unrelated, "--no-abstain").out == "A sunrise.\n"


def test_an_answer_says_what_its_method_lacks(painted, model):
    done = painted("answer", "mel", QUESTION, "--method", "anchor")
    assert done.out == "Not mentioned in the conversation.\n"
    assert "`combray enrich` and `combray work` make them" in done.err


def test_costs_are_told_by_phase_and_a_rebuild_is_free(enriched, model):
    enriched("answer", "mel", QUESTION)
    before = value(enriched("costs", "mel", "--json"))["costs"]
    calls = [(row["phase"], row["n_calls"], row["prompt_tokens"]) for row in before]
    assert calls == [("answer", 1, 11), ("event", 1, 11), ("facts", 2, 22)]
    asked = len(model.asked)
    done = enriched("rebuild", "mel", "--method", "anchor")
    assert done.out == "Dropped 3 records of anchor; 2 jobs waiting.\n"
    assert "anchor has no facts" in enriched("recall", "mel", QUESTION, "--method", "anchor").err
    assert enriched("work", "--now").code == 0
    assert len(model.asked) == asked
    after = value(enriched("costs", "mel", "--json"))["costs"]
    assert sum(row["n_cached"] for row in after) == 3
    assert sum(row["prompt_tokens"] for row in after) == 44
    assert "[n1]" in enriched("recall", "mel", QUESTION, "--method", "anchor").out
    assert "prompt tokens" in enriched("costs", "mel").out


def test_a_bank_that_asked_for_nothing_has_cost_nothing(painted):
    done = painted("costs", "mel")
    assert (done.code, done.out, done.err) == (0, "", "No calls.\n")


def test_new_turns_rest_for_a_minute(enriched, model):
    enriched("remember", "mel", "I sold it.", "--speaker", "Mel", "--session", "2024-05-11")
    asked = len(model.asked)
    done = enriched("work")
    assert (done.code, done.out) == (0, "Done: 0 jobs; failed: 0.\n")
    assert "1 job not due yet: new turns rest for a minute (--now" in done.err
    assert len(model.asked) == asked
    assert value(enriched("work", "--now", "--json"))["done"] == 2


def test_a_bank_stops_deriving_and_keeps_what_it_has(enriched):
    assert enriched("enrich", "mel", "--off").out == "No method derives from mel.\n"
    enriched("remember", "mel", "I sold it.", "--speaker", "Mel")
    assert enriched("jobs", "mel").err == "No jobs.\n"
    assert "[n1]" in enriched("recall", "mel", QUESTION, "--method", "anchor").out
    done = enriched("rebuild", "mel", "--method", "anchor")
    assert "mel does not use anchor: `combray enrich mel --method anchor` would." in done.err
    on = value(enriched("enrich", "mel", "--method", "anchor", "--json"))
    assert (on["methods"], on["added"], on["waiting"]) == (["anchor"], ["anchor"], 3)


def test_without_a_model_turns_are_kept_and_one_line_says_what_to_set(painted):
    on = painted("enrich", "mel")
    assert (on.code, on.out) == (0, "anchor derives from mel; 2 jobs waiting.\n")
    assert "set COMBRAY_LLM_MODEL" in on.err
    for command in (["work", "--now"], ["answer", "mel", QUESTION]):
        done = painted(*command)
        assert (done.code, done.out) == (2, "")
        (line,) = done.err.splitlines()
        assert "no language model is configured: set COMBRAY_LLM_MODEL" in line
        assert value(painted(*command, "--json"))["error"]["code"] == "config"
    assert PAINTED in painted("recall", "mel", QUESTION).out
    assert len(value(painted("jobs", "mel", "--json"))["jobs"]) == 2


def test_a_bank_without_vectors_is_told_so(cli, model, monkeypatch):
    monkeypatch.setenv("COMBRAY_EMBEDDER", "none")
    cli("remember", "mel", "I painted a sunrise.", "--speaker", "Mel")
    assert "mel has no vectors" in cli("enrich", "mel", "--method", "anchor").err


def test_an_endpoint_that_is_down_leaves_jobs_to_be_tried_again(painted, monkeypatch):
    monkeypatch.setenv("COMBRAY_LLM_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("COMBRAY_LLM_MODEL", "tiny-chat")
    done = painted("work", "--now")
    assert (done.code, done.out) == (1, "Done: 0 jobs; failed: 2.\n")
    assert "the endpoint of model 'tiny-chat' cannot be reached" in done.err
    assert "the facts of turns 1 to 1 of session '2024-05-04'" in done.err
    assert "`combray jobs BANK` shows when" in done.err
    for job in value(painted("jobs", "mel", "--json"))["jobs"]:
        assert (job["state"], job["tries"], job["code"]) == ("waiting", 1, "provider")
        assert job["due_at"] > job["updated_at"]
    assert PAINTED in painted("recall", "mel", QUESTION).out


def test_a_failed_job_is_listed_with_its_error_and_done_when_asked_for(painted, model):
    model.answers(fails(400, "the cat is on the keyboard"))
    assert painted("work", "--now").code == 1
    shown = painted("jobs", "mel")
    assert "answered 400" in shown.out
    model.answers(plays)
    done = painted("work", "--now")
    assert (done.code, done.out) == (0, "Done: 0 jobs; failed: 0.\n")
    assert "2 jobs not due yet" in done.err
    assert [
        job["number"] for job in value(painted("jobs", "mel", "--failed", "--json"))["jobs"]
    ] == [1, 2]
    assert painted("jobs", "mel", "--retry", "--job", "1").out.startswith("1 job due now;")
    assert painted("work", "--now").out == "Done: 2 jobs; failed: 0.\n"
    assert value(painted("jobs", "mel", "--retry", "--json"))["retried"] == 1
    assert painted("work", "--now").out == "Done: 2 jobs; failed: 0.\n"
    assert painted("jobs", "mel", "--retry").out == "0 jobs due now; `combray work` does them.\n"


def test_only_jobs_that_failed_are_listed_or_retried_as_failed(painted):
    assert value(painted("jobs", "mel", "--failed", "--json"))["jobs"] == []
    assert value(painted("jobs", "mel", "--retry", "--json"))["retried"] == 0


def test_a_refused_key_stops_the_worker_at_once(painted, model):
    model.answers(fails(401, "bad key"))
    done = painted("work", "--now")
    assert (done.code, done.out) == (1, "Done: 0 jobs; failed: 1.\n")
    assert "refused the key (401). Give it one that it accepts." in done.err
    assert KEY not in done.err + painted("jobs", "mel", "--json").out
    assert len(model.asked) == 1
    failed = painted("answer", "mel", QUESTION)
    assert (failed.code, failed.out) == (9, "")
    assert "refused the key" in failed.err
    assert value(painted("answer", "mel", QUESTION, "--json"))["error"]["code"] == "unauthorised"


def test_garbage_is_kept_to_be_looked_at(painted, model):
    model.answers(says("Sorry, I am a teapot."))
    done = painted("work", "--now", "--json")
    assert done.code == 1
    failed = value(done)["failed"]
    assert {one["code"] for one in failed} == {"extraction"}
    shown = painted("jobs", "mel")
    assert "did not reply with what was asked for" in shown.out
    assert "With --json you see the replies that did not fit." in shown.err
    raws = [job["raw"] for job in value(painted("jobs", "mel", "--json"))["jobs"]]
    assert raws == ["Sorry, I am a teapot."] * 2
    (row,) = value(painted("costs", "mel", "--json"))["costs"]
    assert (row["n_calls"], row["n_repairs"], row["n_failed"]) == (4, 2, 4)


def test_a_wrong_address_is_told_from_a_model(painted, model):
    model.answers((200, {"Content-Type": "text/html"}, b"<html>Welcome</html>"))
    done = painted("answer", "mel", QUESTION)
    assert (done.code, done.out) == (9, "")
    assert "no chat completion" in done.err
    assert "often ends in /v1" in done.err


def test_a_rate_limit_is_waited_for(painted, model):
    model.answers(fails(429, "slow down", {"Retry-After": "500", "x-should-retry": "false"}))
    done = painted("work", "--now", "--bank", "mel")
    assert done.code == 1
    assert "asks to wait 500 s" in done.err
    job = value(painted("jobs", "mel", "--json"))["jobs"][0]
    assert job["code"] == "rate_limited"


@pytest.mark.parametrize(
    ("arguments", "code", "says_so"),
    [
        (("enrich", "mell"), 3, "Did you mean 'mel'?"),
        (("work", "--bank", "mell"), 3, "Did you mean 'mel'?"),
        (("jobs", "mell"), 3, "Did you mean 'mel'?"),
        (("rebuild", "mell", "--method", "anchor"), 3, "Did you mean 'mel'?"),
        (("costs", "mell"), 3, "Did you mean 'mel'?"),
        (("answer", "mell", QUESTION), 3, "Did you mean 'mel'?"),
        (("enrich", "mel", "--method", "fused"), 2, "not a method that derives; there are: anchor"),
        (("rebuild", "mel", "--method", "fused"), 2, "not a method that derives"),
        (("rebuild", "mel"), 2, "Missing option '--method'"),
        (("enrich", "mel", "--method", "anchor", "--off"), 2, "not both"),
        (("jobs", "mel", "--job", "1"), 2, "--job says which job to --retry"),
        (("jobs", "mel", "--retry", "--job", "77"), 3, "no job '77'. `combray jobs mel` lists"),
        (("work", "--concurrency", "0"), 2, "at least 1"),
        (("answer", "mel", " "), 2, "the query is empty"),
        (("answer", "mel", QUESTION, "--method", "nix"), 2, "there are: anchor, "),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(painted, model, arguments, code, says_so):
    done = painted(*arguments)
    assert (done.code, done.out) == (code, "")
    (line,) = done.err.splitlines()
    assert says_so in line
    assert model.asked == []


def test_a_watching_worker_takes_what_comes_and_leaves_when_told(painted, model, start):
    with start("work", "--watch", "--now") as child:
        try:
            seen = [child.stderr.readline() for _ in range(3)]
            child.send_signal(signal.SIGTERM)
            out, _ = child.communicate(timeout=30)
        finally:
            child.kill()
    assert "what belongs together" in seen[-1]
    assert (child.returncode, out) == (0, "Done: 3 jobs; failed: 0.\n")


def test_a_quiet_answer_is_the_answer_alone(enriched):
    done = enriched("answer", "mel", QUESTION, "--quiet")
    assert (done.out, done.err) == ("A sunrise.\n", "")

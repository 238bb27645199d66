"""`--plan` of the commands that ask a question: a real server plays the model, each command is a process of its own."""

import json
import threading
from http.server import ThreadingHTTPServer

import pytest
from tests.cli.test_profile import remember_the_move
from tests.llm.conftest import Endpoint, Handler, fails, says


@pytest.fixture
def moved(database):
    remember_the_move(database)


@pytest.fixture
def model(monkeypatch):
    """A server that plays a model, and the settings that lead to it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    endpoint = Endpoint(server)
    monkeypatch.setenv("COMBRAY_LLM_URL", endpoint.url)
    monkeypatch.setenv("COMBRAY_LLM_MODEL", "tiny-chat")
    monkeypatch.setenv("COMBRAY_LLM_KEY", "sk-loopback")
    yield endpoint
    server.shutdown()
    server.server_close()


INTENT = json.dumps({"attribute": True, "people": ["Caroline"], "keywords": ["home"], "times": []})
ASKED = ("caro", "Where does Caroline live?", "--method", "atom")


@pytest.mark.parametrize("command", ["recall", "explain"])
def test_a_plan_asks_the_model_once_and_without_it_never(process, moved, model, command):
    model.answers(lambda body: says(INTENT))
    assert process(command, *ASKED, "--no-abstain").code == 0
    assert model.asked == []
    done = process(command, *ASKED, "--no-abstain", "--plan")
    assert done.code == 0, done.err
    assert "Porto" in done.out
    assert len(model.asked) == 1


def test_a_plan_that_fails_is_said_beside_the_evidence(process, moved, model):
    model.answers(lambda body: fails(400))
    done = process("recall", *ASKED, "--no-abstain", "--plan")
    assert done.code == 0
    assert "Porto" in done.out
    assert "could not plan (provider)" in done.err


def test_an_answer_can_rest_on_a_plan(process, moved, model):
    def plays(body):
        asked = body["messages"][-1]["content"]
        return says("In Porto [1]." if "Question:" in asked else INTENT)

    model.answers(plays)
    done = process("answer", *ASKED, "--no-abstain", "--plan")
    assert (done.code, done.out) == (0, "In Porto.\n")
    assert len(model.asked) == 2


def test_a_plan_without_a_model_says_what_to_set(process, moved):
    done = process("recall", *ASKED, "--plan")
    assert (done.code, done.out) == (2, "")
    assert "COMBRAY_LLM_MODEL" in done.err

"""The endpoint is a real HTTP server on loopback, and the client is the official one."""

import json
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from combray.embed.openai import Endpoint, OpenAIEmbedder
from combray.errors import (
    InvalidInput,
    MissingExtra,
    ProviderError,
    RateLimited,
    TimedOut,
    Unauthorised,
)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        self.server.keys.append(self.headers.get("Authorization"))
        status, headers, answer = self.server.respond(body)
        self.send_response(status)
        raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_):
        pass


def embeddings(body, dimension=8):
    """Vectors that point along an axis by the length of the text, in reverse order of the input."""
    items = []
    for i, text in enumerate(body["input"]):
        vector = [0.0] * dimension
        vector[len(text) % dimension] = 3.0
        items.append({"index": i, "object": "embedding", "embedding": vector})
    return 200, {}, {"object": "list", "model": body["model"], "data": items[::-1]}


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.asked, made.keys, made.respond = [], [], embeddings
    made.url = f"http://127.0.0.1:{made.server_port}/v1"
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def embedder(server, dimension=8, **options):
    endpoint = Endpoint(base_url=server.url, max_retries=0, **options)
    return OpenAIEmbedder("tiny-embed", dimension, endpoint)


def failing(status, headers=None, answer=None):
    return lambda body: (
        status,
        headers or {},
        {"error": {"message": "no"}} if answer is None else answer,
    )


def test_vectors_come_in_the_order_of_the_texts_with_unit_norm(server):
    made = embedder(server).embed(["a", "bb", "ccc"])
    np.testing.assert_array_equal(made.vectors.argmax(axis=1), [1, 2, 3])
    np.testing.assert_allclose(np.linalg.norm(made.vectors, axis=1), 1, atol=1e-6)
    assert made.vectors.dtype == np.float32
    assert made.tokens is None


def test_id_names_model_and_dimension(server):
    assert embedder(server).id == "openai:tiny-embed-8"


def test_many_texts_go_out_in_batches(server):
    made = embedder(server, batch=4).embed(["x" * (i % 8) or "y" * 8 for i in range(10)])
    assert [len(body["input"]) for body in server.asked] == [4, 4, 2]
    np.testing.assert_array_equal(made.vectors.argmax(axis=1), [i % 8 for i in range(10)])


def test_no_texts_ask_nothing(server):
    assert embedder(server).embed([]).vectors.shape == (0, 8)
    assert server.asked == []


def test_blank_broken_and_endless_texts_are_made_acceptable(server):
    embedder(server, max_characters=10).embed(["", "  \n", "half \ud83d", "x" * 1_000_000])
    assert server.asked[0]["input"] == [".", ".", "half \ufffd", "x" * 10]


def test_the_dimension_is_asked_for_only_when_told_to(server):
    embedder(server).embed(["a"])
    embedder(server, shorten=True).embed(["a"])
    assert [body.get("dimensions") for body in server.asked] == [None, 8]


def test_the_key_is_sent_and_never_shown(server):
    made = embedder(server, api_key="sk-secret")
    made.embed(["a"])
    assert server.keys == ["Bearer sk-secret"]
    assert "secret" not in repr(Endpoint(api_key="sk-secret"))


def test_a_key_of_the_environment_is_not_sent_to_another_endpoint(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    embedder(server).embed(["a"])
    assert server.keys == ["Bearer none"]


def test_default_endpoint_without_a_key_is_unauthorised(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_ADMIN_KEY", raising=False)
    with pytest.raises(Unauthorised, match="needs a key"):
        OpenAIEmbedder("text-embedding-3-small", 1536).embed(["a"])


@pytest.mark.parametrize("status", [401, 403])
def test_refused_key_is_unauthorised(server, status):
    server.respond = failing(status)
    with pytest.raises(Unauthorised, match=str(status)):
        embedder(server).embed(["a"])


def test_rate_limit_tells_the_seconds_to_wait(server):
    server.respond = failing(429, {"Retry-After": "7"})
    with pytest.raises(RateLimited) as caught:
        embedder(server).embed(["a"])
    assert caught.value.retry_after_s == 7


def test_rate_limit_may_name_a_date(server):
    server.respond = failing(429, {"Retry-After": formatdate(time.time() + 100, usegmt=True)})
    with pytest.raises(RateLimited) as caught:
        embedder(server).embed(["a"])
    assert 80 < caught.value.retry_after_s <= 100


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "soon"}])
def test_rate_limit_may_not_say_how_long(server, headers):
    server.respond = failing(429, headers)
    with pytest.raises(RateLimited) as caught:
        embedder(server).embed(["a"])
    assert caught.value.retry_after_s is None


def test_slow_endpoint_times_out(server):
    def respond(body):
        time.sleep(1)
        return embeddings(body)

    server.respond = respond
    with pytest.raises(TimedOut):
        embedder(server, timeout_s=0.2).embed(["a"])


def test_endpoint_that_is_not_there_is_a_provider_error(server):
    endpoint = Endpoint(base_url="http://127.0.0.1:9/v1", max_retries=0)
    with pytest.raises(ProviderError, match="cannot be reached"):
        OpenAIEmbedder("tiny-embed", 8, endpoint).embed(["a"])


def test_server_error_is_a_provider_error_with_what_it_said(server):
    server.respond = failing(500, answer={"error": {"message": "out of memory"}})
    with pytest.raises(ProviderError, match=r"500: .*out of memory"):
        embedder(server).embed(["a"])


def test_passing_failures_are_tried_again(server):
    def respond(body):
        return failing(503)(body) if len(server.asked) == 1 else embeddings(body)

    server.respond = respond
    endpoint = Endpoint(base_url=server.url, max_retries=1)
    made = OpenAIEmbedder("tiny-embed", 8, endpoint).embed(["a"])
    assert len(made.vectors) == 1
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>welcome</html>",
        b"",
        {},
        [],
        {"data": None},
        {"data": [{"index": 0}]},
        {"data": [{"index": 0, "embedding": "text"}]},
        {"data": [{"index": 1, "embedding": [1.0] * 8}]},
        {"data": []},
        {"data": [{"index": 0, "embedding": [[1.0], [2.0, 3.0]]}]},
    ],
)
def test_garbage_is_a_provider_error_that_shows_it(server, answer):
    server.respond = failing(200, answer=answer)
    with pytest.raises(ProviderError, match="holds no 1 vectors"):
        embedder(server).embed(["a"])


@pytest.mark.parametrize("value", ["0.0", "NaN", "Infinity"])
def test_vector_without_a_direction_is_a_provider_error(server, value):
    vector = ",".join([value] * 8)
    answer = f'{{"data": [{{"index": 0, "embedding": [{vector}]}}]}}'.encode()
    server.respond = failing(200, answer=answer)
    with pytest.raises(ProviderError, match="zero or not finite"):
        embedder(server).embed(["a"])


def test_other_dimension_is_an_error_that_names_both(server):
    with pytest.raises(ProviderError, match=r"\(8,\), not \(16,\)"):
        embedder(server, dimension=16).embed(["a"])


@pytest.mark.parametrize("dimension", [0, -8, 7])
def test_dimension_must_be_a_positive_multiple_of_eight(server, dimension):
    with pytest.raises(InvalidInput, match="multiple of 8"):
        embedder(server, dimension=dimension)


def test_model_must_be_named(server):
    with pytest.raises(InvalidInput, match="named"):
        OpenAIEmbedder(" ", 8, Endpoint(base_url=server.url))


@pytest.mark.parametrize(
    "options", [{"timeout_s": 0}, {"batch": 0}, {"max_characters": 0}, {"max_retries": -1}]
)
def test_endpoint_options_out_of_range_are_refused(options):
    with pytest.raises(InvalidInput):
        Endpoint(**options)


def test_without_the_client_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"combray\[openai\]"):
        OpenAIEmbedder("tiny-embed", 8)


def test_module_can_be_imported_without_the_client():
    code = "import sys; sys.modules['openai'] = None; import combray.embed.openai"
    subprocess.run([sys.executable, "-c", code], check=True)

"""A real HTTP server on loopback that plays an OpenAI-compatible endpoint, mostly badly."""

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic import BaseModel

from combray.llm.openai import ChatEndpoint, OpenAILLM


class Facts(BaseModel):
    facts: list[str]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        self.server.headers_seen.append(self.headers)
        status, headers, answer = self.server.respond(body)
        raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(raw)))
        # A client that gave up is gone by now.
        with suppress(ConnectionError):
            self.end_headers()
            self.wfile.write(raw)

    def log_message(self, *_):
        pass


def says(text, finish="stop", usage=(11, 7), **more):
    """An answer whose reply is the text."""
    answer = {
        "id": "c1",
        "object": "chat.completion",
        "model": "tiny-chat-v1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": finish,
            }
        ],
        **more,
    }
    if usage:
        answer["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return 200, {}, answer


def fails(status, message="no", headers=None):
    return status, headers or {}, {"error": {"message": message}}


def streams(*events, done=True):
    """An event stream; text stands for a piece of the reply, bytes for themselves."""
    lines = []
    for event in events:
        if isinstance(event, str):
            event = {"choices": [{"index": 0, "delta": {"content": event}}]}
        raw = event if isinstance(event, bytes) else json.dumps(event).encode()
        lines.append(b"data: " + raw + b"\n\n")
    ending = b"data: [DONE]\n\n" if done else b""
    return 200, {"Content-Type": "text/event-stream"}, b"".join(lines) + ending


class Endpoint:
    """Gives the answers it was told in turn, and the last of them for ever."""

    def __init__(self, server):
        self._server = server
        server.asked, server.headers_seen = [], []
        server.respond = lambda body: says("Hello.")
        self.url = f"http://127.0.0.1:{server.server_port}/v1"

    @property
    def asked(self):
        return self._server.asked

    @property
    def headers(self):
        return self._server.headers_seen

    def answers(self, *answers):
        coming = list(answers)
        lock = threading.Lock()

        def respond(body):
            with lock:
                answer = coming.pop(0) if len(coming) > 1 else coming[0]
            return answer(body) if callable(answer) else answer

        self._server.respond = respond

    def llm(self, model="tiny-chat", **options):
        return OpenAILLM(model, ChatEndpoint(**{"base_url": self.url, "max_retries": 0, **options}))


@pytest.fixture
def endpoint():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield Endpoint(server)
    server.shutdown()
    server.server_close()

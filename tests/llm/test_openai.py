"""The official client against a real HTTP server on loopback that behaves as endpoints do on a bad day."""

import subprocess
import sys
import threading
import time
from email.utils import formatdate
from pathlib import Path

import pytest
from tests.llm.conftest import Facts, fails, says, streams

from combray.errors import (
    ExtractionError,
    InvalidInput,
    MissingExtra,
    ProviderError,
    RateLimited,
    TimedOut,
    Unauthorised,
)
from combray.llm import Message, Occasion, OpenAILLM
from combray.llm.openai import ChatEndpoint

ASK = [Message(role="system", content="Reply in JSON."), Message(role="user", content="Hello.")]
ANN = '{"facts": ["Ann sings."]}'


def recorded(llm, *args, **options):
    """What came of the call, and its rows."""
    calls = []
    try:
        found = llm.complete(ASK, *args, occasion=Occasion(record=calls.append), **options)
    except ProviderError as error:
        found = error
    return found, calls


def test_a_plain_question_is_asked_and_answered(endpoint):
    found, (call,) = recorded(endpoint.llm())
    assert (found.text, found.model, found.finish) == ("Hello.", "tiny-chat-v1", "stop")
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (11, 7)
    assert found.usage.counted_by == "provider"
    assert call.latency_ms > 0
    (body,) = endpoint.asked
    assert body == {
        "model": "tiny-chat",
        "messages": [
            {"role": "system", "content": "Reply in JSON."},
            {"role": "user", "content": "Hello."},
        ],
        "temperature": 0.0,
        "seed": 0,
    }


def test_a_schema_is_sent_and_the_reply_is_a_value_of_it(endpoint):
    endpoint.answers(says(ANN))
    assert endpoint.llm().complete(ASK, Facts).parsed == Facts(facts=["Ann sings."])
    form = endpoint.asked[0]["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["name"] == "Facts"
    assert form["json_schema"]["schema"]["required"] == ["facts"]
    assert endpoint.asked[0]["max_tokens"] == 2048


def test_what_else_the_endpoint_wants_to_be_told_is_told(endpoint):
    endpoint.llm(temperature=0.5, seed=None, extra_body={"top_k": 1}).complete(ASK, max_tokens=9)
    (body,) = endpoint.asked
    assert (body["temperature"], body["top_k"], body["max_tokens"]) == (0.5, 1, 9)
    assert "seed" not in body


@pytest.mark.parametrize(
    "reply",
    [
        f"```json\n{ANN}\n```",
        f"Here you are:\n{ANN}\nAnything else?",
        "{'facts': ['Ann sings.']}",
        '["Ann sings."]',
        f"<think>They sing [la la].</think>\n{ANN}",
        '{"facts": ["Ann sings.",]}',
    ],
)
def test_a_model_that_ignores_the_form_is_understood(endpoint, reply):
    endpoint.answers(says(reply))
    found, calls = recorded(endpoint.llm(), Facts)
    assert found.parsed.facts == ["Ann sings."]
    assert [call.outcome for call in calls] == ["ok"]


def test_another_language_is_no_error(endpoint):
    endpoint.answers(says('{"facts": ["安妮唱歌。", "Анна поёт."]}'))
    assert endpoint.llm().complete(ASK, Facts).parsed.facts == ["安妮唱歌。", "Анна поёт."]


def test_an_empty_array_is_a_reply(endpoint):
    endpoint.answers(says("[]"))
    assert endpoint.llm().complete(ASK, Facts).parsed.facts == []
    assert len(endpoint.asked) == 1


def test_a_truncated_array_is_asked_for_with_more_room(endpoint):
    endpoint.answers(
        says('["Ann sings.", "Bob dan', "length"), says('["Ann sings.", "Bob dances."]')
    )
    assert endpoint.llm().complete(ASK, Facts, max_tokens=8).parsed.facts == [
        "Ann sings.",
        "Bob dances.",
    ]
    assert [body["max_tokens"] for body in endpoint.asked] == [8, 16]


def test_more_room_than_the_model_has_keeps_what_was_whole(endpoint):
    too_long = fails(400, "This model's maximum context length is 16 tokens.")
    endpoint.answers(says('["Ann sings.", "Bob dan', "length"), too_long)
    found, calls = recorded(endpoint.llm(), Facts, max_tokens=8)
    assert found.parsed.facts == ["Ann sings."]
    assert found.truncated
    assert [call.outcome for call in calls] == ["truncated", "provider"]


def test_a_bound_that_the_model_cannot_have_is_left_out_once(endpoint):
    def respond(body):
        if body.get("max_tokens", 0) > 100:
            return fails(400, "max_tokens is too large: 2048. This model supports at most 100.")
        return says(ANN)

    endpoint.answers(respond)
    llm = endpoint.llm()
    llm.complete(ASK, Facts)
    llm.complete(ASK, Facts, max_tokens=50)
    assert [body.get("max_tokens") for body in endpoint.asked] == [2048, None, 50]


@pytest.mark.parametrize("reply", ["I cannot do that.", "", None, "<html></html>", '{"facts": 3}'])
def test_garbage_twice_is_an_extraction_error_with_the_raw_text(endpoint, reply):
    endpoint.answers(says(reply))
    calls = []
    with pytest.raises(ExtractionError, match="'tiny-chat'") as caught:
        endpoint.llm().complete(ASK, Facts, occasion=Occasion(record=calls.append))
    assert caught.value.raw == (reply or "")
    assert [(call.retry, call.outcome) for call in calls] == [(0, "unparsable"), (1, "unparsable")]


@pytest.mark.parametrize("status", [400, 422])
def test_a_form_that_is_refused_is_not_asked_for_again(endpoint, status):
    def respond(body):
        if "response_format" in body:
            return fails(status, "response_format: this server takes none")
        return says(ANN)

    endpoint.answers(respond)
    llm = endpoint.llm()
    for _ in range(2):
        assert llm.complete(ASK, Facts).parsed.facts == ["Ann sings."]
    forms = [body.get("response_format", {}).get("type") for body in endpoint.asked]
    assert forms == ["json_schema", "json_object", None, None]
    assert llm.structured_by == "none"


def test_a_server_that_takes_json_but_no_schema_gets_that(endpoint):
    def respond(body):
        if body["response_format"]["type"] == "json_schema":
            return fails(500, "cannot compile grammar")
        return says(ANN)

    endpoint.answers(respond)
    llm = endpoint.llm()
    llm.complete(ASK, Facts)
    assert llm.structured_by == "json_object"


def test_one_bad_request_does_not_make_the_others_worse(endpoint):
    endpoint.answers(fails(400, "schema? temperature? json? seed? I refuse this prompt."))
    llm = endpoint.llm()
    with pytest.raises(ProviderError, match=r"400: .*I refuse"):
        llm.complete(ASK, Facts)
    endpoint.asked.clear()
    endpoint.answers(says(ANN))
    llm.complete(ASK, Facts)
    assert endpoint.asked[0]["response_format"]["type"] == "json_schema"
    assert endpoint.asked[0]["temperature"] == 0
    assert llm.structured_by == "json_schema"


def test_options_that_a_model_refuses_are_left_out(endpoint):
    def respond(body):
        for name in ("temperature", "seed"):
            if name in body:
                return fails(400, f"Unsupported value: '{name}' is not supported with this model.")
        if "max_tokens" in body:
            return fails(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")
        return says("Hello.")

    endpoint.answers(respond)
    llm = endpoint.llm()
    llm.complete(ASK, max_tokens=9)
    llm.complete(ASK, max_tokens=9)
    assert len(endpoint.asked) == 5
    assert endpoint.asked[-1]["max_completion_tokens"] == 9
    assert endpoint.asked[-1].keys() == {"model", "messages", "max_completion_tokens"}


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_unauthorised_and_not_tried_again(endpoint, status):
    endpoint.answers(fails(status, "bad key sk-secret"))
    error, (call,) = recorded(endpoint.llm(max_retries=3, api_key="sk-secret"))
    assert isinstance(error, Unauthorised)
    assert "'tiny-chat'" in str(error)
    assert "Give it one that it accepts" in str(error)
    assert "secret" not in str(error)
    assert len(endpoint.asked) == 1
    assert (call.outcome, call.attempts) == ("unauthorised", 1)


def test_the_client_waits_as_long_as_it_is_asked_to(endpoint):
    times = []

    def respond(body):
        times.append(time.monotonic())
        return fails(429, headers={"Retry-After": "0.6"}) if len(times) == 1 else says("Hello.")

    endpoint.answers(respond)
    found, (call,) = recorded(endpoint.llm(max_retries=2))
    assert found.text == "Hello."
    # Its own first back-off would be half a second at most.
    assert times[1] - times[0] >= 0.6
    assert (call.outcome, call.attempts) == ("ok", 2)


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ({"Retry-After": "7"}, 7, 7),
        ({"Retry-After": formatdate(time.time() + 3600, usegmt=True)}, 3000, 3600),
    ],
)
def test_a_rate_limit_says_how_long_to_wait(endpoint, header, least, most):
    endpoint.answers(fails(429, headers=header))
    error, (call,) = recorded(endpoint.llm())
    assert isinstance(error, RateLimited)
    assert least <= error.retry_after_s <= most
    assert call.outcome == "rate_limited"


def test_a_rate_limit_may_not_say_how_long(endpoint):
    endpoint.answers(fails(429))
    error, _ = recorded(endpoint.llm())
    assert error.retry_after_s is None


def test_a_wait_of_minutes_is_left_to_the_caller(endpoint):
    endpoint.answers(fails(429, headers={"Retry-After": "600"}))
    error, _ = recorded(endpoint.llm(max_retries=3))
    assert error.retry_after_s == 600
    assert len(endpoint.asked) == 1


def test_a_passing_failure_is_tried_again(endpoint):
    endpoint.answers(fails(500, headers={"Retry-After": "0.01"}), says("Hello."))
    found, (call,) = recorded(endpoint.llm(max_retries=1))
    assert found.text == "Hello."
    assert call.attempts == 2


def test_a_lasting_failure_says_what_the_endpoint_said(endpoint):
    endpoint.answers(fails(503, "out of memory", {"Retry-After": "0.01"}))
    error, (call,) = recorded(endpoint.llm(max_retries=2))
    assert "503" in str(error)
    assert "out of memory" in str(error)
    assert (call.outcome, call.attempts) == ("provider", 3)
    assert len(endpoint.asked) == 3


def test_a_model_that_is_not_there_is_named(endpoint):
    endpoint.answers(fails(404, "model not found"))
    error, _ = recorded(endpoint.llm("big-chat"))
    assert "'big-chat'" in str(error)
    assert "404" in str(error)


def test_a_hanging_endpoint_times_out(endpoint):
    released = threading.Event()

    def respond(body):
        released.wait(5)
        return says("Hello.")

    endpoint.answers(respond)
    error, (call,) = recorded(endpoint.llm(timeout_s=0.1))
    released.set()
    assert isinstance(error, TimedOut)
    assert "give it longer" in str(error)
    assert (call.outcome, call.attempts) == ("timed_out", 1)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "nowhere", "http://no.invalid/v1"])
def test_an_endpoint_that_is_not_there_is_a_provider_error(url):
    llm = OpenAILLM("tiny-chat", ChatEndpoint(base_url=url, max_retries=0))
    with pytest.raises(ProviderError, match=r"cannot be reached.*its URL"):
        llm.complete(ASK)


def test_an_answer_that_breaks_off_is_a_provider_error(endpoint):
    endpoint.answers((200, {"Content-Length": "1000", "Connection": "close"}, b'{"choices": ['))
    error, _ = recorded(endpoint.llm(timeout_s=1))
    assert isinstance(error, ProviderError)


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>welcome</html>",
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        {},
        [],
        {"choices": []},
        {"choices": None},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": {"content": 3}}]},
        {"error": {"message": "upstream is down"}},
    ],
)
def test_what_is_no_completion_is_a_provider_error_that_shows_it(endpoint, answer):
    endpoint.answers((200, {}, answer))
    error, _ = recorded(endpoint.llm())
    assert isinstance(error, ProviderError)
    assert "no chat completion" in str(error)
    assert "OpenAI-compatible" in str(error)


@pytest.mark.parametrize("usage", [None, (None, 3), (-1, 3), ("a", "b")])
def test_tokens_are_estimated_where_the_endpoint_does_not_count(endpoint, usage):
    endpoint.answers(says("12345", usage=usage))
    found, _ = recorded(endpoint.llm())
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (5, 2)
    assert found.usage.counted_by == "estimate"


def test_halves_of_characters_are_neither_sent_nor_taken(endpoint):
    endpoint.answers((200, {}, b'{"choices": [{"message": {"content": "a \\ud83d b"}}]}'))
    found = endpoint.llm().complete([Message(role="user", content="half \ud83d")])
    assert endpoint.asked[0]["messages"][0]["content"] == "half \ufffd"
    assert found.text == "a \ufffd b"


def test_no_more_requests_than_allowed_are_under_way_at_once(endpoint):
    lock, both = threading.Lock(), threading.Barrier(2, timeout=5)
    under_way, most = 0, 0

    def respond(body):
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        both.wait()
        with lock:
            under_way -= 1
        return says("Hello.")

    endpoint.answers(respond)
    llm = endpoint.llm(concurrency=2)
    threads = [threading.Thread(target=llm.complete, args=(ASK,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(endpoint.asked) == 6
    assert most == 2


def test_a_reply_streams(endpoint):
    usage = {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 3}}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    endpoint.answers(streams("<think>Hm.", "</think>", "Hel", "lo.", end, usage))
    calls = []
    pieces = endpoint.llm().stream(ASK, occasion=Occasion(record=calls.append))
    assert list(pieces) == ["Hel", "lo."]
    assert endpoint.asked[0]["stream"] is True
    assert [(call.prompt_tokens, call.completion_tokens, call.outcome) for call in calls] == [
        (11, 3, "ok")
    ]


def test_a_stream_without_a_count_is_estimated(endpoint):
    def respond(body):
        if "stream_options" in body:
            return fails(400, "stream_options is not known")
        return streams("12345")

    endpoint.answers(respond)
    calls = []
    assert list(endpoint.llm().stream(ASK, occasion=Occasion(record=calls.append))) == ["12345"]
    assert [(call.prompt_tokens, call.completion_tokens) for call in calls] == [(5, 2)]


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"Content-Type": "text/html"}, b"<html>welcome</html>"),
        streams(),
        streams("Hel", b"{garbage"),
        streams("Hel", b"[1, 2]"),
        streams("Hel", {"choices": 3}),
        streams("Hel", {"choices": [{"delta": {"content": 3}}]}),
        streams("Hel", {"error": {"message": "upstream is down"}}),
        fails(500, "down"),
    ],
)
def test_a_stream_of_garbage_is_a_provider_error(endpoint, answer):
    endpoint.answers(answer)
    calls = []
    with pytest.raises(ProviderError, match="'tiny-chat'"):
        list(endpoint.llm().stream(ASK, occasion=Occasion(record=calls.append)))
    assert [call.outcome for call in calls] == ["provider"]


def test_a_stream_that_breaks_off_is_an_error_after_its_pieces(endpoint):
    status, headers, body = streams("Hel", done=False)
    endpoint.answers((status, {**headers, "Content-Length": "9999", "Connection": "close"}, body))
    stream = endpoint.llm(timeout_s=1).stream(ASK)
    assert next(stream) == "Hel"
    with pytest.raises(ProviderError):
        next(stream)


def test_a_stream_that_is_left_frees_its_place(endpoint):
    endpoint.answers(streams("Hel", "lo."))
    llm = endpoint.llm(concurrency=1)
    stream = llm.stream(ASK)
    next(stream)
    stream.close()
    assert list(llm.stream(ASK)) == ["Hel", "lo."]


def test_a_key_of_the_environment_is_not_sent_to_another_endpoint(endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    endpoint.llm().complete(ASK)
    assert endpoint.headers[0]["Authorization"] == "Bearer none"


def test_the_key_is_sent_and_never_shown(endpoint):
    endpoint.llm(api_key="sk-secret").complete(ASK)
    assert endpoint.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "secret" not in repr(ChatEndpoint(api_key="sk-secret"))


def test_the_default_endpoint_without_a_key_is_unauthorised(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Unauthorised, match="needs a key"):
        OpenAILLM("gpt-5-mini").complete(ASK)


@pytest.mark.parametrize("key", ["ключ", "sk-two\nlines"])
def test_what_cannot_be_a_key_is_unauthorised(endpoint, key):
    with pytest.raises(Unauthorised, match="no key has") as caught:
        endpoint.llm(api_key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [{"timeout_s": 0}, {"concurrency": 0}, {"max_retries": -1}, {"extra_body": {"a": {1}}}],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InvalidInput):
        ChatEndpoint(**options)


def test_the_model_must_be_named():
    with pytest.raises(InvalidInput, match="named"):
        OpenAILLM(" ", ChatEndpoint(base_url="http://127.0.0.1:9/v1"))


def test_without_the_client_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"combray\[openai\]"):
        OpenAILLM("tiny-chat")


def test_the_edge_is_imported_without_what_only_a_call_needs(tmp_path):
    code = (
        "import sys, combray.llm, combray.llm.doubles, combray.llm.openai\n"
        "found = {'openai', 'pydantic', 'json_repair'} & sys.modules.keys()\n"
        f"open({str(Path(tmp_path) / 'found')!r}, 'w').write(' '.join(found))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "found").read_text() == ""

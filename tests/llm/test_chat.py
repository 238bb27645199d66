"""What all models share, over functions instead of a model."""

import json
from datetime import UTC, datetime

import pytest
from tests.llm.conftest import Facts

from combray.errors import ConfigError, ExtractionError, NotFound, ProviderError, RateLimited
from combray.llm import FunctionLLM, Message, Occasion, ReplayLLM
from combray.llm.base import Usage
from combray.llm.chat import DEFAULT_MAX_TOKENS, Chat, Reply

AT = datetime(2023, 5, 8, tzinfo=UTC)
ASK = [Message(role="system", content="Reply in JSON."), Message(role="user", content="Hello.")]


class Script(Chat):
    """Gives replies in turn; keeps what it was asked."""

    def __init__(self, *replies):
        super().__init__("script")
        self.replies = list(replies)
        self.asked = []

    def request(self, ask):
        self.asked.append(ask)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        text, finish = reply if isinstance(reply, tuple) else (reply, "stop")
        usage = Usage(prompt_tokens=10, completion_tokens=3)
        return Reply(text=text, usage=usage, model="script-1", finish=finish, latency_ms=2.0)


class Kept(dict):
    def put(self, key, value):
        self[key] = value


class Desk:
    """An occasion with what it has recorded."""

    def __init__(self, replies=None):
        self.calls = []
        self.occasion = Occasion(
            phase="facts",
            method="anchor",
            run="r1",
            record=self.calls.append,
            replies=replies,
            clock=lambda: AT,
        )


def test_plain_text_is_stripped_of_thoughts():
    found = Script("<think>Hm.</think> Hello. ").complete(ASK)
    assert (found.text, found.parsed, found.truncated) == ("Hello.", None, False)


def test_a_call_is_a_row_that_holds_no_text():
    desk = Desk()
    Script('["a"]').complete(ASK, Facts, occasion=desk.occasion)
    (call,) = desk.calls
    assert (call.run, call.phase, call.method, call.model) == ("r1", "facts", "anchor", "script")
    assert (call.prompt_tokens, call.completion_tokens, call.latency_ms) == (10, 3, 2.0)
    assert (call.retry, call.attempts, call.outcome, call.cached) == (0, 1, "ok", False)
    assert call.at == AT
    assert "Hello" not in repr(call)


def test_an_unreadable_reply_is_shown_to_the_model_once():
    llm, desk = Script("I am sorry.", '{"facts": ["a"]}'), Desk()
    found = llm.complete(ASK, Facts, occasion=desk.occasion)
    assert found.parsed == Facts(facts=["a"])
    assert found.usage == Usage(prompt_tokens=20, completion_tokens=6)
    assert found.latency_ms == 4.0
    *before, shown, told = llm.asked[1].messages
    assert before == ASK
    assert shown == Message(role="assistant", content="I am sorry.")
    assert "no JSON" in told.content
    assert [(call.retry, call.outcome) for call in desk.calls] == [(0, "unparsable"), (1, "ok")]


def test_a_long_unreadable_reply_is_shown_in_part():
    llm = Script("x" * 100_000, "[]")
    llm.complete(ASK, Facts)
    assert len(llm.asked[1].messages[2].content) < 5_000


def test_what_stays_unreadable_is_an_error_with_the_raw_text():
    desk = Desk()
    with pytest.raises(ExtractionError, match=r"'script'.*no JSON.*Try again") as caught:
        Script("I am sorry.", "Really.").complete(ASK, Facts, occasion=desk.occasion)
    assert caught.value.raw == "Really."
    assert [call.outcome for call in desk.calls] == ["unparsable", "unparsable"]


def test_a_reply_that_broke_off_gets_twice_the_room():
    llm, desk = Script(('["a", "b', "length"), '["a", "b", "c"]'), Desk()
    found = llm.complete(ASK, Facts, occasion=desk.occasion)
    assert found.parsed.facts == ["a", "b", "c"]
    assert not found.truncated
    assert [ask.max_tokens for ask in llm.asked] == [DEFAULT_MAX_TOKENS, 2 * DEFAULT_MAX_TOKENS]
    assert llm.asked[1].messages == llm.asked[0].messages
    assert [call.outcome for call in desk.calls] == ["truncated", "ok"]


def test_a_reply_that_breaks_off_again_keeps_its_whole_elements():
    found = Script(('["a", "b', "length"), ('["a", "b", "c', "length")).complete(ASK, Facts)
    assert found.parsed.facts == ["a", "b"]
    assert found.truncated


def test_a_second_reply_that_is_worse_does_not_lose_the_first():
    found = Script(('["a", "b', "length"), "I am sorry.").complete(ASK, Facts)
    assert found.parsed.facts == ["a"]
    assert found.truncated
    assert found.text == '["a", "b'


def test_more_room_than_the_model_has_does_not_lose_the_first_reply():
    desk = Desk()
    llm = Script(('["a", "b', "length"), ProviderError("too long"))
    assert llm.complete(ASK, Facts, occasion=desk.occasion).parsed.facts == ["a"]
    assert [call.outcome for call in desk.calls] == ["truncated", "provider"]


def test_a_passing_failure_of_the_second_request_is_raised():
    with pytest.raises(RateLimited):
        Script(('["a", "b', "length"), RateLimited("wait", 3)).complete(ASK, Facts)


def test_a_reply_that_breaks_off_before_anything_is_whole_is_not_taken_for_an_empty_one():
    with pytest.raises(ExtractionError, match="breaks off"):
        Script(('["a', "length"), ('["a', "length")).complete(ASK, Facts)


def test_an_empty_list_is_taken_at_its_word():
    llm = Script("[]")
    assert llm.complete(ASK, Facts).parsed.facts == []


def test_a_missing_bracket_is_asked_for():
    llm = Script('["a", "b"', '["a", "b"]')
    assert llm.complete(ASK, Facts).parsed.facts == ["a", "b"]
    assert "breaks off" in llm.asked[1].messages[-1].content


def test_a_failed_request_is_a_row_too():
    desk = Desk()
    with pytest.raises(ProviderError):
        Script(ProviderError("down")).complete(ASK, Facts, occasion=desk.occasion)
    assert [(call.outcome, call.prompt_tokens) for call in desk.calls] == [("provider", 0)]


def test_a_kept_reply_is_not_asked_for_again():
    llm, desk = Script('["a"]'), Desk(Kept())
    first = llm.complete(ASK, Facts, occasion=desk.occasion)
    again = llm.complete(ASK, Facts, occasion=desk.occasion)
    assert again.parsed == first.parsed
    assert again.cached
    assert not first.cached
    assert again.usage == first.usage
    assert [(call.cached, call.attempts, call.prompt_tokens) for call in desk.calls] == [
        (False, 1, 10),
        (True, 0, 0),
    ]


def test_a_reply_kept_after_the_second_round_is_found_under_the_first_request():
    llm, desk = Script("Sorry.", '["a"]'), Desk(Kept())
    llm.complete(ASK, Facts, occasion=desk.occasion)
    assert llm.complete(ASK, Facts, occasion=desk.occasion).parsed.facts == ["a"]


def test_a_kept_reply_that_broke_off_is_read_as_before():
    replies = (('["a", "He "is" [x]', "length"), ('["a", "He is [x]', "length"))
    llm, desk = Script(*replies), Desk(Kept())
    first = llm.complete(ASK, Facts, occasion=desk.occasion)
    again = llm.complete(ASK, Facts, occasion=desk.occasion)
    assert (again.parsed, again.truncated) == (first.parsed, True)


@pytest.mark.parametrize("value", ["", "null", "[]", "{}", '{"text": "Sorry.", "usage": {}}'])
def test_a_damaged_kept_reply_is_asked_for_again(value):
    kept = Kept()
    desk = Desk(kept)
    llm = Script('["a"]', '["b"]')
    llm.complete(ASK, Facts, occasion=desk.occasion)
    kept.update(dict.fromkeys(kept, value))
    assert llm.complete(ASK, Facts, occasion=desk.occasion).parsed.facts == ["b"]


def test_nothing_is_kept_of_a_call_that_failed():
    kept = Kept()
    with pytest.raises(ExtractionError):
        Script("Sorry.", "Sorry.").complete(ASK, Facts, occasion=Desk(kept).occasion)
    assert kept == {}


def test_replies_are_kept_apart_by_all_that_they_depend_on():
    kept = Kept()

    def ask(name="m", messages=ASK, **options):
        occasion = Occasion(replies=kept)
        FunctionLLM(lambda *_: "[]", name).complete(messages, occasion=occasion, **options)

    ask()
    ask()
    assert len(kept) == 1
    ask(name="n")
    ask(messages=ASK[1:])
    ask(max_tokens=5)
    ask(schema=Facts)
    assert len(kept) == 5


def test_a_streamed_reply_comes_piece_by_piece_without_thoughts():
    class Streaming(Script):
        def pieces(self, ask):
            yield from ["<think>Hm", ".</think>", "Hel", "lo."]
            yield self.request(ask)

    desk = Desk()
    assert list(Streaming("Hello.").stream(ASK, occasion=desk.occasion)) == ["Hel", "lo."]
    assert [(call.prompt_tokens, call.outcome) for call in desk.calls] == [(10, "ok")]


def test_a_stream_that_nobody_reads_to_the_end_is_closed_and_recorded():
    closed = []

    class Streaming(Script):
        def pieces(self, ask):
            try:
                yield "Hel"
                yield "lo."
            finally:
                closed.append(True)

    desk = Desk()
    stream = Streaming().stream(ASK, occasion=desk.occasion)
    assert next(stream) == "Hel"
    stream.close()
    assert closed == [True]
    assert [call.outcome for call in desk.calls] == ["truncated"]


def test_a_function_may_give_text_or_json_and_sees_the_schema():
    seen = []

    def reply(messages, schema):
        seen.append((messages[-1].content, schema and schema["title"]))
        return ["a"] if schema else "Hello."

    llm = FunctionLLM(reply, "f")
    assert llm.complete(ASK).text == "Hello."
    assert llm.complete(ASK, Facts).parsed.facts == ["a"]
    assert seen == [("Hello.", None), ("Hello.", "Facts")]
    assert "".join(llm.stream(ASK)) == "Hello."


def test_what_a_function_raises_is_raised():
    def reply(*_):
        raise RateLimited("wait", 3)

    with pytest.raises(RateLimited):
        FunctionLLM(reply).complete(ASK)


def test_tokens_are_estimated_where_nobody_counts():
    usage = FunctionLLM(lambda *_: "12345").complete(ASK).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.counted_by) == (5, 2, "estimate")


def test_recorded_replies_are_replayed(tmp_path):
    path = tmp_path / "replies.jsonl"
    rows = [{"prompt": "Hello.", "reply": "Line\u2028two"}, {"prompt": "x", "reply": "y"}]
    path.write_text("\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    llm = ReplayLLM.load(path, "gpt")
    assert llm.name == "gpt"
    assert llm.complete(ASK).text == "Line\u2028two"


def test_a_reply_that_was_not_recorded_is_not_found():
    with pytest.raises(NotFound, match="Hello"):
        ReplayLLM({}).complete(ASK)


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"prompt": "a", "reply": 1}', "3"])
def test_recordings_that_are_none_are_refused_by_line(tmp_path, line):
    path = tmp_path / "replies.jsonl"
    path.write_text(f'{{"prompt": "a", "reply": "b"}}\n{line}\n', "utf-8")
    with pytest.raises(ConfigError, match="line 2"):
        ReplayLLM.load(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        ReplayLLM.load(tmp_path / "none.jsonl")

import json

import pytest

from combray.errors import ConfigError, InvalidInput, TimedOut, Unauthorised
from combray.eval.qa.judges import JUDGES, Judge, Judgement, Label, judge, read_label
from combray.llm.base import Occasion
from combray.llm.doubles import FunctionLLM

ASKED = ("When did Caroline go?", "7 May 2023", "on the 7th of May")


class Replies:
    """Gives scripted replies, the last one for ever, and keeps what it was asked."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.asked = []

    def __call__(self, messages, schema):
        self.asked.append(messages)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply


def asking(name, *replies, tries=3):
    script = Replies(*replies)
    return Judge(name=name, llm=FunctionLLM(script), tries=tries), script


@pytest.mark.parametrize("name", JUDGES)
def test_a_judge_shows_question_gold_and_answer_and_nothing_of_the_category(name):
    asked, script = asking(name, {"reason": "same day", "label": "CORRECT"})
    verdict = asked(*ASKED)
    assert (verdict.label, verdict.reason, verdict.tries) == (Label.CORRECT, "same day", 1)
    text = "\n".join(message.content for message in script.asked[0])
    assert all(part in text for part in ASKED)
    assert not any(word in text for word in ("multi_hop", "temporal", "adversarial"))


def test_the_two_judges_have_prompts_of_their_own():
    strict, lenient = (judge(name, FunctionLLM(Replies("x"))) for name in JUDGES)
    assert strict.identity["prompt"] != lenient.identity["prompt"]
    assert strict.identity["model"] == strict.llm.name


@pytest.mark.parametrize("name", JUDGES)
def test_braces_in_an_answer_are_shown_as_they_are(name):
    asked, script = asking(name, {"label": "WRONG"})
    asked("What {question}?", "{gold}", "{answer} {0} {{x}}")
    text = "\n".join(message.content for message in script.asked[0])
    assert all(part in text for part in ("What {question}?", "{gold}", "{answer} {0} {{x}}"))


@pytest.mark.parametrize(
    "reply",
    [
        {"label": "wrong"},
        {"label": "Incorrect", "reason": "another day"},
        '```json\n{"label": "WRONG"}\n```',
        'Let me see. {"reason": "no", "label": "WRONG"} Done.',
        "[[no]]",
        "The answer is incorrect.",
    ],
)
def test_a_label_is_found_however_it_is_wrapped(reply):
    asked, _ = asking("strict", reply)
    assert asked(*ASKED).label is Label.WRONG


def test_a_reply_without_a_label_is_asked_for_again():
    asked, _ = asking("lenient", "Hmm.", "Hmm.", {"label": "CORRECT"})
    verdict = asked(*ASKED)
    assert verdict.label is Label.CORRECT
    assert verdict.tries > 1


def test_a_judge_that_never_says_it_has_failed_and_is_not_wrong():
    asked, _ = asking("strict", "It depends: CORRECT or WRONG?")
    verdict = asked(*ASKED)
    assert (verdict.label, verdict.tries) == (Label.FAILED, 3)
    assert verdict.raw == "It depends: CORRECT or WRONG?"
    assert verdict.error.startswith("extraction: ")


def test_a_provider_that_fails_is_asked_again_and_then_the_verdict_has_failed():
    asked, script = asking("strict", TimedOut("no answer within 60 s."))
    verdict = asked(*ASKED)
    assert (verdict.label, verdict.error) == (Label.FAILED, "timed_out: no answer within 60 s.")
    assert len(script.asked) == 3
    mended, _ = asking("strict", TimedOut("no answer within 60 s."), {"label": "CORRECT"})
    assert mended(*ASKED).label is Label.CORRECT


def test_a_refused_key_is_not_a_verdict():
    asked, script = asking("strict", Unauthorised("the key was refused."))
    with pytest.raises(Unauthorised):
        asked(*ASKED)
    assert len(script.asked) == 1


def test_every_call_is_told_as_judging():
    calls = []
    asked, _ = asking("strict", {"label": "CORRECT"})
    asked(*ASKED, Occasion(run="r", record=calls.append))
    assert [(call.run, call.phase, call.method) for call in calls] == [("r", "judge", "strict")]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ('{"label": "CORRECT"}', Label.CORRECT),
        ("{'label': 'correct', 'reason': 'not wrong'}", Label.CORRECT),
        ('<think>WRONG? [[no]]</think>{"label": "CORRECT"}', Label.CORRECT),
        ("<think>CORRECT", None),
        ('{"label": "CORRECT"} or {"label": "WRONG"}', None),
        ('{"label": "maybe"}', None),
        ("Rating: [[Yes]]", Label.CORRECT),
        ("correct", Label.CORRECT),
        ("Not correct!", Label.WRONG),
        ("incorrect", Label.WRONG),
        ("correctly", None),
        ("", None),
    ],
)
def test_labels_are_read_from_tolerant_text(text, label):
    assert read_label(text) is label


def test_the_schema_asks_for_the_reason_first():
    assert list(Judgement.model_json_schema()["properties"]) == ["reason", "label"]
    assert json.loads(Judgement(label="CORRECT").model_dump_json())["label"] == "CORRECT"


def test_an_unknown_judge_lists_the_known():
    with pytest.raises(ConfigError, match=r"no judge 'kind' \(there are: strict, lenient\)"):
        judge("kind", FunctionLLM(Replies("x")))
    with pytest.raises(InvalidInput, match="tries must be at least 1"):
        Judge(name="strict", llm=FunctionLLM(Replies("x")), tries=0)

import json
from contextlib import suppress
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.llm.conftest import Facts

from combray.llm.structured import Unreadable, parse


class Verdict(BaseModel):
    reason: str = ""
    label: Literal["CORRECT", "WRONG"]


def facts(text, **options):
    return parse(text, Facts, **options).value.facts


def nothing_in(text):
    try:
        return parse(text, Facts).hollow
    except Unreadable:
        return True


WHOLE = '{"facts": ["Ann sings.", "Bob\'s dog [Rex] barks."]}'
BOTH = ["Ann sings.", "Bob's dog [Rex] barks."]


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"```\n{WHOLE}```",
        f"```json\n{WHOLE}",
        f"Sure! Here are the facts [as asked]:\n\n{WHOLE}\n\nI hope [this] helps {{you}}!",
        f"Of the 3 turns [1] says {WHOLE}",
        f"For the [12 people] in it: {WHOLE}",
        '["Ann sings.", "Bob\'s dog [Rex] barks."]',
        "['Ann sings.', 'Bob's dog [Rex] barks.']",
        '["Ann sings.", "Bob\'s dog [Rex] barks.",]',
        '{"statements": ["Ann sings.", "Bob\'s dog [Rex] barks."]}',
        '{facts: ["Ann sings.", "Bob\'s dog [Rex] barks."]}',
        '["Ann sings." "Bob\'s dog [Rex] barks."] As you wished.',
        '[{"facts": ["Ann sings."]}, {"facts": ["Bob\'s dog [Rex] barks."]}]',
        f'{{"facts": ["Ann sings.", "Bob\'s dog [Rex] barks."], "tags": ["music"]}} {WHOLE}',
        "{“facts”: [“Ann sings.”, “Bob's dog [Rex] barks.”]}",
    ],
)
def test_facts_are_found_however_they_are_wrapped(text):
    found = parse(text, Facts)
    assert found.value.facts == BOTH
    assert not found.truncated


@pytest.mark.parametrize("text", ["[]", '{"facts": []}', "```json\n[]\n```", "None: []"])
def test_an_empty_list_is_a_reply(text):
    found = parse(text, Facts)
    assert found.value.facts == []
    assert not found.truncated
    assert not found.hollow


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I am sorry.",
        "I cannot do this [sorry].",
        "I cannot do this [see",
        "<html><body>{color: red}</body></html>",
        '{"facts": "Ann sings."}',
        '{"facts": [1, 2]}',
        '{"facts": null}',
        '{"label": "CORRECT"}',
        "[[[[[[",
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_what_holds_no_facts_is_unreadable(text):
    assert nothing_in(text)


def test_the_complaint_says_what_is_wrong():
    with pytest.raises(Unreadable, match=r"facts: Field required"):
        parse('{"label": "CORRECT", "reason": ""}', Facts)
    with pytest.raises(Unreadable, match=r"label: Input should be 'CORRECT' or 'WRONG'"):
        parse('{"label": "MAYBE"}', Verdict)


def test_a_list_inside_a_reply_that_breaks_off_is_not_taken_for_it():
    found = parse('{"tags": ["music"], "facts": ["Ann sings.", "Bob', Facts)
    assert found.value.facts == ["Ann sings."]
    assert found.truncated


def test_a_list_beside_a_badly_quoted_one_is_not_taken_for_it():
    text = '{"facts": ["He said "hi" to me", "b"], "tags": ["music"]}'
    assert "music" not in facts(text)


def test_a_fence_inside_a_fact_is_part_of_the_fact():
    text = json.dumps({"facts": ['Ann wrote ```json\n["x"]\n``` once.', "b"]})
    assert facts(text) == ['Ann wrote ```json\n["x"]\n``` once.', "b"]
    assert facts(f"Here:\n```json\n{text}\n```") == ['Ann wrote ```json\n["x"]\n``` once.', "b"]


def test_a_cut_reply_is_never_mended():
    text = '{"facts": ["He said "hi" twice", "b [x]'
    with pytest.raises(Unreadable):
        parse(text, Facts, cut=True)


def test_a_reply_that_broke_off_in_its_first_fact_is_hollow():
    assert parse('{"facts": ["Ann sin', Facts, cut=True).hollow


def test_halves_of_characters_are_replaced():
    assert facts('["a \\ud83d b", "\\ud83d\\ude00"]') == ["a \ufffd b", "\U0001f600"]
    assert facts('["a \\ud83d b", "c') == ["a \ufffd b"]


def test_the_label_of_a_reply_that_broke_off_later_is_kept():
    found = parse('{"label": "WRONG", "reason": "because', Verdict)
    assert found.value.label == "WRONG"
    assert found.truncated


@given(
    st.lists(st.text(max_size=15), max_size=6),
    st.sampled_from(["{list}", '{{"facts": {list}}}', "```json\n{list}\n```", "Here: {list}"]),
    st.booleans(),
    st.data(),
)
def test_any_beginning_of_a_reply_gives_a_beginning_of_its_facts(texts, form, cut, data):
    clean = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
    whole = form.format(list=json.dumps(clean))
    part = whole[: data.draw(st.integers(0, len(whole)))]
    try:
        found = facts(part, cut=cut)
    except Unreadable:
        return
    assert found == clean[: len(found)]


@given(st.text("[]{}\",:a1'“” \\\n`", max_size=60))
def test_any_text_is_read_or_unreadable(text):
    with suppress(Unreadable):
        parse(text, Facts)


@pytest.mark.parametrize(
    "unit", ["[", "{", '["', "['", '["a" b', "{'a':", '"', "```json\n[", "[1 "]
)
def test_long_garbage_is_read_to_an_end(unit):
    assert nothing_in(unit * 50_000)

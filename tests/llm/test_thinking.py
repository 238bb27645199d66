import pytest
from hypothesis import given
from hypothesis import strategies as st

from combray.llm.thinking import spoken, without_thinking


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("Yes.", "Yes."),
        ("  Yes.\n", "Yes."),
        ("<think>Hm.</think>\n\nYes.", "Yes."),
        ("<thinking>Hm.</thinking>Yes.", "Yes."),
        ("<think>a</think><think>b</think>Yes.", "Yes."),
        ("Opened by the template.</think>Yes.", "Yes."),
        ("<think>It never ends", ""),
        ('{"facts": ["Ann typed </think>."]}', '{"facts": ["Ann typed </think>."]}'),
        ("<thin ice", "<thin ice"),
        ("", ""),
    ],
)
def test_the_reply_is_what_comes_after_the_thoughts(text, reply):
    assert without_thinking(text) == reply


@given(st.text("<think>/ aY\n", max_size=40), st.data())
def test_pieces_say_the_same_however_they_are_cut(text, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join(spoken(pieces)) == "".join(spoken([text]))


def test_pieces_come_as_soon_as_they_are_known_to_be_the_reply():
    coming = iter(["<thi", "nk>Hm.</think>", "\n", "Yes", "."])
    reply = spoken(coming)
    assert next(reply) == "Yes"
    assert next(coming) == "."

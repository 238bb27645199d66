import pytest

from combray.pack.clip import asks, clip

STORY = (
    "We left at dawn. The road was empty. Around noon we reached Lyon. The market sold pralines. "
    "We slept by the river. It rained all night."
)


def of_length(n):
    return lambda text: len(text) <= n


def test_sentences_with_query_terms_are_kept_first():
    assert clip(STORY, of_length(40), 40, ["pralin"]) == "… The market sold pralines. …"


def test_more_room_brings_the_sentences_nearby():
    clipped = clip(STORY, of_length(90), 90, ["pralin"])
    assert (
        clipped
        == "… Around noon we reached Lyon. The market sold pralines. We slept by the river. …"
    )


def test_kept_sentences_stay_in_order_with_a_mark_for_each_gap():
    clipped = clip(STORY, of_length(50), 50, ["river", "dawn"])
    assert clipped == "We left at dawn. … We slept by the river. …"


def test_without_terms_the_beginning_is_kept():
    assert clip(STORY, of_length(45), 45) == "We left at dawn. The road was empty. …"


def test_a_text_that_asks_keeps_its_question():
    text = (
        "I have been thinking about the party for weeks. Anna is coming too. Shall we bring a cake?"
    )
    assert clip(text, of_length(40), 40) == "… Shall we bring a cake?"


def test_a_sentence_too_long_is_cut_at_a_word_around_the_term():
    text = "and then " * 40 + "we found the harbour hospital " + "and then " * 40
    clipped = clip(text, of_length(120), 120, ["harbour"])
    assert "harbour hospital" in clipped
    assert clipped.startswith("… ")
    assert clipped.endswith(" …")
    assert set(clipped.replace("…", "").split()) <= set(text.split())


def test_a_text_without_blanks_is_cut_between_characters():
    clipped = clip("漢" * 500, of_length(30), 30)
    assert clipped == "漢" * 28 + " …"


def test_chinese_sentences_are_told_apart():
    text = "我住在上海。我喜欢喝茶。我的狗叫小白。"
    assert clip(text, of_length(12), 12, ["喝茶"]) == "… 我喜欢喝茶。 …"


def test_a_decimal_point_ends_no_sentence():
    assert (
        clip("It costs 3.50 euros. Too much for me.", of_length(24), 24) == "It costs 3.50 euros. …"
    )


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_nothing_is_left_of_an_empty_text(text):
    assert clip(text, of_length(10), 10) == ""


def test_nothing_is_left_where_nothing_fits():
    assert clip(STORY, lambda text: False, 10, ["lyon"]) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Shall we?", True),
        ("Shall we? 😊", True),
        ('He asked, "Shall we?"', True),
        ("你好吗？", True),
        ("Shall we? I think so.", False),
        ("We shall.", False),
        ("", False),
    ],
)
def test_a_text_asks_when_it_ends_in_a_question(text, expected):
    assert asks(text) is expected

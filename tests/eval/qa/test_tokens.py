import pytest

from combray.eval.qa import tokens

TEXT = 'The U.S. ban, an old one: isn\'t it "gone" and buried?'


@pytest.mark.parametrize(
    ("tokeniser", "expected"),
    [
        (tokens.squad, ["us", "ban", "old", "one", "isnt", "it", "gone", "and", "buried"]),
        (tokens.locomo, ["us", "ban", "old", "one", "isnt", "it", "gone", "buri"]),
        (tokens.word, ["the", "u", "s", "ban", "an", "old", "one", "isn", "t", "it", "gone", "and", "buried"]),
        (tokens.simple, ["the", "u", "s", "ban", "an", "old", "one:", "isn't", "it", '"gone"', "and", "buried"]),
        (tokens.treebank, ["the", "u.s.", "ban", ",", "an", "old", "one", ":", "is", "n't", "it", "``", "gone", "''", "and", "buried", "?"]),
    ],
)  # fmt: skip
def test_each_tokeniser_cuts_in_its_own_way(tokeniser, expected):
    assert tokeniser(TEXT) == expected


@pytest.mark.parametrize(
    "tokeniser", [tokens.squad, tokens.locomo, tokens.word, tokens.simple, tokens.treebank]
)
def test_no_text_has_no_words(tokeniser):
    assert tokeniser("") == []
    assert tokeniser(" \n") == []


def test_an_article_within_a_word_stays():
    assert tokens.squad("theatre a1 an-the") == ["theatre", "a1", "anthe"]


def test_a_full_stop_within_a_text_stays_on_its_word():
    assert tokens.treebank("One. Two.") == ["one.", "two", "."]

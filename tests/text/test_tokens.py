import time

import pytest

from combray.text.tokens import MAX_TOKEN_CHARS, bounded, fold_accents, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("Mel's dog", ["mel", "dog"]),
        ("Mel’s dog", ["mel", "dog"]),
        ("James' dog", ["james", "dog"]),
        ("I'm sure they've won, don't you?", ["i", "sure", "they", "won", "dont", "you"]),
        ("O'Brien", ["obrien"]),
        ("self-care", ["self", "care"]),
        ("snake_case", ["snake", "case"]),
        ("e-mail", ["e", "mail", "email"]),
        ("QX-4471", ["qx", "4471", "qx4471"]),
        ("QX4471", ["qx4471"]),
        ("555-0101", ["555", "0101", "5550101"]),
        ("$1,200", ["1200"]),
        ("1,234,567.89", ["1234567.89"]),
        ("3.5 kg", ["3.5", "kg"]),
        ("one,two;three", ["one", "two", "three"]),
        ("end.Then", ["end", "then"]),
        ("12:30", ["12", "30", "12:30"]),
        ("192.168.0.1", ["192", "168", "0", "1", "192.168.0.1"]),
        ("ＱＸ４４７１", ["qx4471"]),
        ("José Ångström", ["jose", "angstrom"]),
        ("Łódź Øre Straße", ["lodz", "ore", "strasse"]),
        ("Άλφα ёлка", ["αλφα", "елка"]),
        ("İstanbul", ["istanbul"]),
        ("हिन्दी की", ["हिन्दी", "की"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
        ("東京都", ["東京", "京都"]),
        ("猫", ["猫"]),
        ("iPhone買った", ["iphone", "買っ", "った"]),
        ("한국어 책", ["한국", "국어", "책"]),
        ("カタカナ", ["カタ", "タカ", "カナ"]),
        ("party 🎉🎉", ["party", "🎉", "🎉"]),
        ("👍🏽", ["👍"]),
        ("🇫🇷", ["🇫🇷"]),
        ("see https://www.a-b.org/path?q=1 now", ["see", "a", "b", "org", "path", "q", "1", "now"]),
        ("bell@example.org", ["bell", "example", "org"]),
    ],
)
def test_a_text_gives_these_tokens(text, expected):
    assert tokens(text) == expected


def test_thai_gives_pairs_of_characters():
    assert tokens("แมว") == ["แม", "มว"]


def test_a_decomposed_accent_gives_the_same_token_as_a_composed_one():
    assert tokens("Jose\u0301") == tokens("José") == ["jose"]


def test_accents_of_other_scripts_keep_their_meaning():
    assert fold_accents("が") == "が"
    assert tokens("दिन") != tokens("दीन")


def test_a_very_long_token_is_cut_and_hashed_so_that_two_of_them_differ():
    (first,), (second,) = tokens("x" * 5000), tokens("x" * 5000 + "y")
    assert len(first) == len(second) == MAX_TOKEN_CHARS
    assert first != second


def test_a_key_at_the_bound_is_left_as_it_is():
    assert bounded("x" * MAX_TOKEN_CHARS) == "x" * MAX_TOKEN_CHARS


def test_lone_surrogates_do_not_break_anything():
    assert tokens("a \ud800 b") == ["a", "b"]
    assert len(bounded("\ud800" * 100)) == MAX_TOKEN_CHARS


def test_a_long_url_gives_a_bounded_number_of_tokens():
    assert len(tokens("https://example.org/" + "a/" * 10_000)) < 150


@pytest.mark.parametrize(
    "unit",
    [
        "word ",
        "x",
        "a-",
        "a'",
        "1,",
        "1.",
        "東京",
        "हिन्दी ",
        "🎉",
        "é",
        "\u0301",
        "https://",
        "_",
        "A1-",
    ],
)
def test_a_megabyte_is_read_in_about_a_second(unit):
    text = unit * (1_000_000 // len(unit.encode()))
    start = time.process_time()
    tokens(text)
    assert time.process_time() - start < 2

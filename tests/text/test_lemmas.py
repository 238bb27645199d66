from concurrent.futures import ThreadPoolExecutor

import Stemmer

from combray.text.lemmas import keyword, stem, stop_words


def test_english_inflections_share_a_stem():
    assert stem("paintings") == stem("painted") == stem("painting")


def test_other_scripts_and_codes_are_left_unstemmed():
    assert [stem(t) for t in ("кошки", "東京", "qx4471s", "3.5")] == [
        "кошки",
        "東京",
        "qx4471s",
        "3.5",
    ]


def test_stop_words_are_written_as_the_tokeniser_writes_them():
    assert {"the", "dont", "what"} <= stop_words()
    assert "cat" not in stop_words()


def test_keywords_are_content_words_only():
    assert [keyword(t) for t in ("the", "a", "x", "2023", "qx4471", "🎉", "")] == [""] * 7
    assert keyword("paintings") == "paint"
    assert keyword("हिन्दी") == "हिन्दी"


def test_threads_get_the_same_stems_as_one():
    words = [
        f"{a}{b}"
        for a in ("walk", "run", "paint", "hope")
        for b in ("", "s", "ing", "ed", "er", "ers")
    ]
    words = [word + tail for word in words for tail in ("", "ness", "ful", "ly", "ation")]
    stem.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(stem, words * 20))
    assert found == Stemmer.Stemmer("english").stemWords(words * 20)

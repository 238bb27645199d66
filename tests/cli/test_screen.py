"""Stored text is other people's text: nothing in it may act on a terminal or be read as markup."""

import json

import pytest

from combray.cli.screen import clipped, count, to_json, visible

HOSTILE = "[red]not red[/red] \x1b[2J\x1b]0;owned\x07 \x9b31m back\x08space \r over :smile:"


@pytest.mark.parametrize("char", ["\x00", "\x07", "\x08", "\x0b", "\r", "\x1b", "\x7f", "\x9b"])
def test_control_characters_are_shown_as_escapes(char):
    assert visible(f"a{char}b") == f"a\\x{ord(char):02x}b"


def test_line_feeds_and_tabs_stay():
    assert visible("a\n\tb\r\nc") == "a\n\tb\nc"


def test_json_has_no_raw_control_character_and_loses_none():
    text = to_json({"text": HOSTILE + "\u2028\x85\ud800é"})
    assert all(ord(char) >= 32 and not 0x7F <= ord(char) <= 0x9F for char in text)
    assert "é" in text
    assert json.loads(text)["text"] == HOSTILE + "\u2028\x85\ud800é"


def test_numbers_that_json_lacks_are_null():
    assert to_json([float("nan"), float("inf"), 1.5]) == "[null, null, 1.5]"


def test_clipping_and_counting_read_well():
    assert clipped("a  b\nc", 10) == "a b c"
    assert len(clipped("word " * 50, 20)) == 20
    assert (count(0, "turn"), count(1, "turn"), count(2, "turn")) == (
        "0 turns",
        "1 turn",
        "2 turns",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("recall", "mira", "red", "--no-abstain"),
        ("explain", "mira", "red", "--no-abstain"),
        ("forget", "mira", "--session", "s", "--yes"),
    ],
)
def test_no_stored_text_acts_on_a_terminal(cli, terminal, arguments):
    cli("remember", "mira", HOSTILE, "--speaker", "M[bold]", "--session", "s")
    shown = terminal(*arguments)
    assert shown.code == 0
    assert "\x1b[2J" not in shown.out
    assert "\x1b]0" not in shown.out
    for char in ("\x07", "\x08", "\x9b", "\r over"):
        assert char not in shown.out


def test_markup_and_emoji_codes_in_stored_text_are_literal(cli, terminal):
    cli("remember", "mira", HOSTILE, "--speaker", "M[bold]", "--session", "s[blue]")
    for shown in (
        cli("explain", "mira", "red", "--no-abstain").out,
        terminal("explain", "mira", "red", "--no-abstain").out,
    ):
        assert "[red]not red[/red]" in shown
        assert "M[bold]" in shown
        assert "s[blue]" in shown


def test_names_of_banks_are_literal_in_tables(cli, terminal):
    cli("remember", "[red]bank[/red]", "Words.")
    assert "[red]bank[/red]" in cli("banks").out
    assert "[red]bank[/red]" in terminal("banks").out


def test_an_error_shows_control_characters_of_what_was_typed_as_escapes(cli):
    done = cli("import", "mira", "/nowhere/\x1b[31m")
    assert "\x1b" not in done.err
    assert "\\x1b[31m" in done.err


def test_a_query_that_is_no_unicode_is_normalised(process):
    process("remember", "mira", "Words about bread.")
    done = process("recall", "mira", "bread \udcff", "--no-abstain", "--json")
    assert done.code == 0
    assert json.loads(done.out)["items"]


@pytest.mark.parametrize("char", "\u202e\u202a\u2066\u2069\u200b\u2028\ufeff\u061c")
def test_what_turns_or_hides_text_is_shown_as_an_escape(char):
    assert visible(f"a{char}b") == f"a\\u{ord(char):04x}b"


def test_tag_characters_are_shown_and_joiners_stay():
    assert visible("a\U000e0041b") == "a\\U000e0041b"
    assert visible("\U0001f469\u200d\U0001f680") == "\U0001f469\u200d\U0001f680"

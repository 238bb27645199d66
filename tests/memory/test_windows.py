"""A transcript that is sent again: whole, cut at its beginning, with a prompt before it, or edited."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from combray import Memory, TurnDraft
from combray.importers import from_messages
from combray.memory.alignment import overlap_of

SAID = [
    "Good morning.",
    "Did you sleep?",
    "Like a stone.",
    "There is bread.",
    "And plum jam.",
    "Then I stay.",
    "Take the blue cup.",
    "It is cracked.",
]
PROMPT = {"role": "system", "content": "You are kind."}


@pytest.fixture
def bank(memory):
    return memory.create_bank("mira")


def texts(bank):
    return [turn.text for turn in bank.turns("s")]


def test_a_window_that_has_lost_its_beginning_adds_its_tail_alone(bank):
    bank.remember(SAID[:5], session="s")
    done = bank.remember(SAID[2:6], session="s")
    assert (len(done.stored), len(done.known), done.notes[1:]) == (1, 3, ())
    assert done.known == tuple(turn.id for turn in bank.turns("s"))[2:5]
    assert texts(bank) == SAID[:6]


@pytest.mark.parametrize("size", [3, 4, 6])
def test_a_window_that_slides_turn_by_turn_stores_each_turn_once(bank, size):
    for end in range(1, len(SAID) + 1):
        bank.remember(SAID[max(0, end - size) : end], session="s")
    assert texts(bank) == SAID


@pytest.mark.parametrize("size", [3, 5])
def test_a_system_prompt_before_the_window_is_the_one_that_began_the_session(bank, size):
    for end in range(1, len(SAID) + 1):
        window = SAID[max(0, end - size) : end]
        bank.remember([PROMPT, *({"text": text} for text in window)], session="s")
    assert texts(bank) == ["You are kind.", *SAID]


def test_a_window_that_is_stored_already_is_a_no_op(bank):
    bank.remember(SAID, session="s")
    for window in (SAID, SAID[3:], SAID[-2:], SAID[-1:]):
        assert bank.remember(window, session="s").stored == ()
    assert texts(bank) == SAID


def test_a_window_over_turns_that_were_stored_one_by_one_finds_them(bank):
    for text in SAID[:5]:
        bank.remember(text, session="s")
    assert (
        bank.remember(SAID[2:6], session="s").stored
        == tuple(turn.id for turn in bank.turns("s"))[5:]
    )
    assert (
        bank.remember(SAID[:7], session="s").known == tuple(turn.id for turn in bank.turns("s"))[:6]
    )
    assert texts(bank) == SAID[:7]


def test_a_window_over_turns_that_have_ids_or_times_finds_them(bank):
    drafts = [TurnDraft(text=text, id=f"m{i}") for i, text in enumerate(SAID[:3])]
    bank.remember(drafts, session="s")
    bank.remember(SAID[3:5], session="s", said_at="2024-05-01T09:00")
    bank.remember(SAID[1:6], session="s")
    assert texts(bank) == SAID[:6]


def test_one_turn_in_common_proves_nothing(bank):
    bank.remember(["hi", "ok"], session="s")
    assert len(bank.remember(["ok", "hi", "bye"], session="s").stored) == 3


def test_an_edited_transcript_is_stored_whole_and_says_so(bank):
    bank.remember(SAID[:6], session="s")
    edited = [*SAID[:3], "There is no bread.", *SAID[4:6]]
    done = bank.remember(edited, session="s")
    assert len(done.stored) == 6
    assert "5 of these 6 turns are in session 's' already" in done.notes[-1]
    assert "all of it was stored as new turns" in done.notes[-1]


def test_news_are_no_reason_for_a_note(bank):
    bank.remember(SAID[:4], session="s")
    assert "already" not in " ".join(bank.remember(SAID[4:], session="s").notes)


def test_words_said_again_after_equal_ones_were_forgotten_are_not_lost(bank):
    ids = bank.remember(["ok", "yes", "ok", "fine"], session="s").ids
    bank.forget(turns=[ids[0]])
    assert len(bank.remember(["ok", "so it is"], session="s").stored) == 2
    assert texts(bank) == ["yes", "ok", "fine", "ok", "so it is"]


def test_a_long_list_comes_in_batches_that_are_never_taken_for_one_another(bank):
    said = [f"line {n % 7}" for n in range(100)]
    done = list(bank.remember_in_batches(said, session="s", size=16))
    assert [len(one.stored) for one in done] == [16] * 6 + [4]
    assert texts(bank) == said
    cut_off = [*said, "the end"]
    again = list(bank.remember_in_batches(cut_off, session="s", size=16))
    assert sum(len(one.stored) for one in again) == 1


def test_a_list_that_was_cut_off_between_batches_goes_on(bank):
    said = [f"line {n % 7}" for n in range(100)]
    batches = bank.remember_in_batches(said, session="s", size=16)
    for _ in range(3):
        next(batches)
    batches.close()
    assert len(texts(bank)) == 48
    assert sum(len(one.known) for one in bank.remember_in_batches(said, session="s")) > 0
    assert texts(bank) == said


def test_chat_messages_are_turns_by_their_content(bank):
    bank.remember([PROMPT, {"role": "user", "content": "Good morning."}], session="s")
    assert [(turn.role, turn.text) for turn in bank.turns("s")] == [
        ("system", "You are kind."),
        ("user", "Good morning."),
    ]
    parts = {"role": "user", "content": [{"type": "text", "text": "Look."}]}
    with pytest.raises(ValueError, match=r"combray\.importers\.from_messages"):
        bank.remember([parts], session="s")
    bank.remember(from_messages([parts]), session="s")
    assert texts(bank)[-1] == "Look."


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 25), sizes=st.lists(st.integers(2, 12), min_size=1), step=st.integers(1, 3))
def test_any_windows_that_share_two_turns_end_with_the_transcript(n, sizes, step):
    said = [f"turn {i}" for i in range(n)]
    with Memory.open(":memory:", embedder="none") as memory:
        bank = memory.create_bank("b")
        for at, end in enumerate([*range(1, n, step), n]):
            size = max(sizes[at % len(sizes)], step + 2)
            bank.remember(said[max(0, end - size) : end], session="s")
        assert texts(bank) == said


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_the_overlap_is_the_longest_there_is(before, after):
    lengths = [n for n in range(len(after) + 1) if before.endswith(after[:n])]
    assert overlap_of(before, after) == max(lengths)


@pytest.mark.parametrize("gone", [[0], [1], [0, 1], [1, 2], [0, 3], [0, 2, 4]])
def test_a_transcript_that_is_sent_again_brings_nothing_back_that_was_forgotten(bank, gone):
    ids = bank.remember(SAID[:6], session="s").ids
    bank.forget(turns=[ids[i] for i in gone])
    kept = [text for i, text in enumerate(SAID[:6]) if i not in gone]
    for end in (6, 7, 8):
        done = bank.remember(SAID[:end], session="s")
        assert texts(bank) == [*kept, *SAID[6:end]]
        assert f"{len(gone)} of these turns were forgotten, and are not stored again" in done.notes
    assert (
        bank.remember([text for text in SAID if text in set(texts(bank))], session="s").stored == ()
    )


def test_a_window_over_a_gap_adds_its_tail_alone(bank):
    ids = bank.remember(SAID[:6], session="s").ids
    bank.forget(turns=[ids[3]])
    assert len(bank.remember(SAID[2:7], session="s").stored) == 1
    assert texts(bank) == [*SAID[:3], *SAID[4:7]]


def test_a_prompt_before_a_window_over_a_gap_is_the_one_that_began_the_session(bank):
    ids = bank.remember([PROMPT, *({"text": text} for text in SAID[:6])], session="s").ids
    bank.forget(turns=[ids[5]])
    bank.remember([PROMPT, *({"text": text} for text in SAID[3:7])], session="s")
    assert texts(bank) == ["You are kind.", *SAID[:4], *SAID[5:7]]


def test_what_follows_a_forgotten_last_turn_is_new(bank):
    ids = bank.remember(SAID[:3], session="s").ids
    bank.forget(turns=[ids[2]])
    bank.remember([*SAID[:2], "Something else."], session="s")
    assert texts(bank) == [*SAID[:2], "Something else."]


def test_a_transcript_that_brings_forgotten_last_turns_back_says_so_once(bank):
    ids = bank.remember(SAID[:5], session="s").ids
    bank.forget(turns=ids[3:])
    assert bank.remember(SAID[:3], session="s").notes[1:] == ()
    done = bank.remember(SAID[:6], session="s")
    assert texts(bank) == SAID[:6]
    (told,) = done.notes[1:]
    assert "end of session 's' had been forgotten; 2 of these turns" in told
    assert bank.remember(SAID[:7], session="s").notes[1:] == ()


def test_a_window_and_a_list_over_a_gap_say_it_too(bank):
    ids = bank.remember(SAID[:6], session="s").ids
    bank.forget(turns=ids[5:])
    assert any("1 of these turns follow" in n for n in bank.remember(SAID[3:6], session="s").notes)
    ids = bank.remember(SAID[:6], session="t").ids
    bank.forget(turns=[ids[1], ids[5]])
    done = bank.remember(SAID[:6], session="t")
    assert any("1 of these turns follow" in note for note in done.notes)
    assert any("1 of these turns were forgotten" in note for note in done.notes)


def test_new_turns_alone_and_turns_with_ids_say_nothing_of_a_forgotten_end(bank):
    ids = bank.remember(SAID[:3], session="s").ids
    bank.forget(turns=[ids[2]])
    assert bank.remember(["Never said before."], session="s").notes[1:] == ()
    assert bank.remember([{"text": "By id.", "id": "u"}], session="s").notes[1:] == ()


def test_two_gaps_of_which_one_was_filled_again_double_nothing(bank):
    ids = bank.remember(SAID[:3], session="s").ids
    bank.forget(turns=[ids[2]])
    bank.remember(SAID[:4], session="s")
    bank.forget(turns=[ids[1]])
    bank.remember(SAID[:5], session="s")
    assert texts(bank) == [SAID[0], *SAID[2:5]]


def test_another_beginning_after_a_deletion_is_not_taken_for_the_transcript(bank):
    ids = bank.remember(SAID[:4], session="s").ids
    bank.forget(turns=[ids[1]])
    bank.remember(["Hello.", "Again."], session="s")
    assert texts(bank)[-2:] == ["Hello.", "Again."]

"""Notes: what a model made of turns, after the turns and within a share of the budget."""

from dataclasses import replace

import pytest

from combray.errors import InvalidInput
from combray.pack import MIN_BUDGET_TOKENS, ApproximateCounter, PackParams, pack, rendered
from combray.pack.render import CLOSE, MAX_CITES, NOTES, OPEN

COUNTER = ApproximateCounter()
SENTENCE = "Mira and Tom looked for a house by the river for most of that summer. "


@pytest.fixture
def packed(beside, ranked, proposed):
    def make(turns=(), records=(), *, budget_tokens=1024, **options):
        return pack(
            ranked(*turns),
            beside(*turns),
            records=proposed(*records),
            budget_tokens=budget_tokens,
            counter=options.pop("counter", COUNTER),
            **options,
        )

    return make


def cuts(result):
    return [(cut.hit.id, cut.reason) for cut in result.cut]


def test_notes_stand_after_the_turns_and_name_the_shown_lines_they_come_from(packed, said, learnt):
    turns = [said("I moved to Leith."), said("And I bought a boat."), said("It leaks.")]
    event = learnt("Mira has a leaking boat.", turns[2], turns[1])
    result = packed(turns, [event])
    (note,) = result.notes
    assert (note.cite, note.record, note.cites) == ("n1", event, (2, 3))
    assert result.text.splitlines()[-3:] == [
        NOTES,
        "[n1] (from 2, 3): Mira has a leaking boat.",
        CLOSE,
    ]
    assert rendered(result.items, notes=result.notes) == result.text


def test_a_note_whose_turns_are_not_shown_says_so(packed, said, learnt):
    result = packed([said("Hello there.")], [learnt("Mira sails.", said("unseen"))])
    assert result.notes[0].cites == ()
    assert "[n1] (from turns not shown): Mira sails." in result.text.splitlines()


def test_a_note_names_no_more_than_some_of_its_lines_but_carries_all(packed, said, learnt):
    turns = [said(f"Boat number {n} leaks.") for n in range(9)]
    result = packed(turns, [learnt("All boats leak.", *turns)])
    assert result.notes[0].cites == tuple(range(1, 10))
    named = ", ".join(str(n) for n in range(1, MAX_CITES + 1))
    assert f"[n1] (from {named}, …): All boats leak." in result.text


def test_without_records_the_pack_is_the_same_whatever_the_share(packed, said):
    turns = [said(f"{SENTENCE} Number {n}.") for n in range(60)]
    whole = packed(turns, params=PackParams(note_share=0.0))
    assert packed(turns, params=PackParams(note_share=1.0)) == whole
    assert whole.notes == ()


def test_notes_alone_make_a_pack(packed, learnt):
    result = packed((), [learnt("Mira sails.")])
    assert result.items == ()
    assert result.text.splitlines() == [
        OPEN,
        NOTES,
        "[n1] (from turns not shown): Mira sails.",
        CLOSE,
    ]
    assert result.n_tokens == COUNTER.count(result.text)


def test_notes_take_at_most_their_share_and_the_turns_what_they_leave(packed, said, learnt):
    turns = [said(f"{SENTENCE} That was week {n}.") for n in range(60)]
    records = [learnt(f"{SENTENCE} They saw house {n}.", turns[0]) for n in range(60)]
    alone, both = packed(turns), packed(turns, records)
    notes = both.text[both.text.index(NOTES) : -len(CLOSE)]
    assert 0.2 * 1024 < COUNTER.count(notes) <= 0.25 * 1024
    assert 0.95 * 1024 < both.n_tokens <= 1024
    few = packed(turns, records[:1])
    assert len(both.items) < len(few.items) <= len(alone.items)
    assert few.n_tokens > 0.95 * 1024


def test_notes_always_leave_room_for_a_turn(packed, said, learnt):
    result = packed(
        [said("I moved to Leith.")],
        [learnt(f"House {n} was too dear.") for n in range(60)],
        budget_tokens=200,
        params=PackParams(note_share=1.0),
    )
    assert result.items
    assert len(result.notes) > 3


def test_the_smallest_budget_has_no_room_for_notes(packed, said, learnt):
    turn, event = said("I moved to Leith."), learnt("Mira moved.")
    result = packed([turn], [event], budget_tokens=MIN_BUDGET_TOKENS)
    assert [item.turn for item in result.items] == [turn]
    assert (result.notes, cuts(result)) == ((), [(event.id, "budget")])


def test_a_long_note_is_clipped_at_a_sentence_that_holds_the_query(packed, learnt):
    text = SENTENCE * 8 + "They found a lighthouse. " + SENTENCE * 8
    (note,) = packed((), [learnt(text)], terms=["lighthous"], budget_tokens=2000).notes
    assert note.clipped
    assert note.text.startswith("… ")
    assert "They found a lighthouse. " in note.text
    assert note.text.endswith("summer. …")
    assert COUNTER.count(note.text) <= PackParams().note_tokens


def test_the_first_note_is_clipped_to_its_share_but_never_to_a_stub(packed, learnt):
    event = learnt(SENTENCE * 8)
    (note,) = packed((), [event], budget_tokens=400).notes
    assert note.clipped
    assert note.text.startswith(SENTENCE.strip())
    assert packed((), [event], budget_tokens=128).notes == ()


def test_a_note_that_does_not_fit_is_passed_over_for_a_shorter_one(packed, learnt):
    records = [learnt(SENTENCE * 6), learnt(SENTENCE * 7), learnt("Mira sails.")]
    result = packed((), records, budget_tokens=600)
    assert [note.record for note in result.notes] == [records[0], records[2]]
    assert [note.cite for note in result.notes] == ["n1", "n2"]
    assert cuts(result) == [(records[1].id, "budget")]


def test_the_same_text_is_no_second_note(packed, said, learnt):
    one, other = said("I sail."), said("I said that I sail.")
    records = [
        learnt("Mira sails.", one),
        learnt("mira \n sails.", other),
        learnt("Mira sails\u200b.", other),
        learnt("Mira sails often.", one),
    ]
    result = packed([one, other], records)
    assert [note.record for note in result.notes] == [records[0], records[3]]
    assert cuts(result) == [(records[1].id, "repeat"), (records[2].id, "repeat")]


@pytest.mark.parametrize("text", ["", " \n", "\x1b\u202e\u200b"])
def test_a_record_of_which_nothing_can_be_shown_is_no_note(packed, learnt, text):
    event = learnt(text)
    assert (packed((), [event]).text, cuts(packed((), [event]))) == ("", [(event.id, "empty")])


def test_records_are_taken_by_rank_whatever_their_order(beside, learnt, proposed):
    records = proposed(*(learnt(f"House {n}.") for n in range(30)))
    options = {"budget_tokens": 300, "counter": COUNTER}
    forwards = pack([], beside(), records=records, **options)
    assert forwards == pack([], beside(), records=records[::-1], **options)
    assert forwards.notes[0].record == records[0].record
    assert cuts(forwards)


def test_cut_turns_stand_before_cut_records(packed, said, learnt):
    turns = [said(f"{SENTENCE} Week {n}.") for n in range(9)]
    result = packed(turns, [learnt(f"{SENTENCE} {n}") for n in range(9)], budget_tokens=200)
    kinds = [type(cut.hit).__name__ for cut in result.cut]
    assert kinds == sorted(kinds)
    assert set(kinds) == {"Hit", "RecordHit"}


def test_where_the_whole_counts_more_than_its_lines_notes_go_before_turns(packed, said, learnt):
    class Dear:
        name = "dear"

        def count(self, text):
            return len(text.split()) + (40 if NOTES in text and OPEN in text else 0)

    turns = [said(f"{SENTENCE} Week {n}.") for n in range(9)]
    event = learnt("Mira sails.", turns[0])
    result = packed(turns, [event], budget_tokens=120, counter=Dear())
    assert result.items
    assert result.notes == ()
    assert (event.id, "budget") in cuts(result)


def test_a_hidden_line_takes_no_cite_of_a_note(packed, said, learnt):
    turns = [said("I sail."), said("I sail.")]
    result = packed(turns, [learnt("Mira sails.", *turns)])
    assert len(result.items) == 1
    assert result.notes[0].cites == (1,)


def test_a_megabyte_of_note_is_clipped(packed, learnt):
    result = packed((), [learnt("word " * 200_000)], budget_tokens=1000)
    assert result.notes[0].clipped
    assert result.n_tokens <= 1000


@pytest.mark.parametrize("wrong", [{"note_share": -0.1}, {"note_share": 1.1}, {"note_tokens": 0}])
def test_a_share_that_is_none_is_refused(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        PackParams(**wrong)


def test_a_share_of_nothing_switches_notes_off(packed, said, learnt):
    turn, event = said("I sail."), learnt("Mira sails.")
    result = packed([turn], [event], params=PackParams(note_share=0))
    assert replace(result, cut=()) == packed([turn])
    assert cuts(result) == [(event.id, "budget")]

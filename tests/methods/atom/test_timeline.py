"""The versions of a statement become intervals that follow each other, whatever order they come in."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from combray.methods.atom.timeline import Version, normalised

days = st.dates(date(2020, 1, 1), date(2021, 6, 1))
partial = st.one_of(
    st.just(""),
    days.map(date.isoformat),
    days.map(lambda day: f"{day:%Y-%m}"),
    days.map(lambda day: f"{day:%Y}"),
)


@st.composite
def timelines(draw):
    """Versions of one statement, each with evidence of its own."""
    made = []
    for n in range(draw(st.integers(0, 6))):
        said = sorted(draw(st.lists(days, max_size=2)))
        first, last = (said[0], said[-1]) if said else (None, None)
        made.append(
            Version(
                id=f"v{n}",
                since=draw(partial),
                until=draw(st.none() | days),
                first_said=first,
                last_said=last,
                evidence=(f"e{n}",),
            )
        )
    return made


def version(name, since="", said=None, until=None):
    day = date.fromisoformat(said) if said else None
    return Version(
        id=name, since=since, until=until, first_said=day, last_said=day, evidence=(name,)
    )


def told(versions):
    return [
        (one.version.id, str(one.start or "-"), str(one.end or "-")) for one in normalised(versions)
    ]


@given(timelines(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_never_matters(versions, random):
    shuffled = list(versions)
    random.shuffle(shuffled)
    assert normalised(shuffled) == normalised(versions)


@given(timelines())
def test_no_two_versions_hold_on_one_day_and_no_evidence_is_lost(versions):
    intervals = normalised(versions)
    for one, after in pairwise(intervals):
        assert one.start < one.end <= after.start
    kept = [id_ for one in intervals for id_ in one.version.evidence]
    assert sorted(kept) == sorted(id_ for one in versions for id_ in one.evidence)


@given(timelines(), days)
def test_on_a_day_at_most_one_version_holds(versions, day):
    assert sum(one.contains(day) for one in normalised(versions)) <= 1


def test_each_version_ends_where_the_next_begins_and_the_last_is_current():
    assert told([version("b", "2023-07-01"), version("c", "2024-02-03"), version("a", "2022")]) == [
        ("a", "2022-01-01", "2023-07-01"),
        ("b", "2023-07-01", "2024-02-03"),
        ("c", "2024-02-03", "-"),
    ]


def test_a_partial_date_begins_on_its_first_day():
    assert told([version("a", "2023"), version("b", "2023-01-01", "2023-05-05")]) == [
        ("b", "2023-01-01", "-")
    ]


def test_of_equal_dates_the_one_said_last_stays_with_the_evidence_of_both():
    (one,) = normalised(
        [version("b", "2023-05-01", "2023-05-02"), version("a", "2023-05", "2023-06-09")]
    )
    assert (one.version.id, one.version.evidence) == ("a", ("b", "a"))


def test_an_undated_version_counts_from_its_evidence_beside_others():
    assert told([version("a", "", "2023-03-03"), version("b", "2023-07", "2023-07-20")]) == [
        ("a", "2023-03-03", "2023-07-01"),
        ("b", "2023-07-01", "-"),
    ]


def test_an_undated_version_alone_stays_undated_and_holds_from_when_it_was_said():
    (one,) = normalised([version("a", "", "2023-03-03")])
    assert (one.start, one.end) == (None, None)
    assert not one.contains(date(2023, 3, 2))
    assert one.contains(date(2023, 3, 3))


def test_what_has_neither_date_nor_evidence_gives_its_records_to_the_current_version():
    first, last = normalised([version("x"), version("a", "2022"), version("b", "2023")])
    assert first.version.evidence == ("a",)
    assert sorted(last.version.evidence) == ["b", "x"]


def test_a_known_end_leaves_a_gap_and_no_current_version():
    ends = [version("a", "2022", until=date(2022, 5, 1)), version("b", "2023")]
    assert told(ends)[0] == ("a", "2022-01-01", "2022-05-01")
    assert told(ends[:1]) == [("a", "2022-01-01", "2022-05-01")]

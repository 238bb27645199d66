"""Which units are put together before a model."""

from datetime import UTC, datetime

import numpy as np

from combray.methods.simple.groups import Member, group_key, groups
from combray.methods.simple.params import SimpleParams
from combray.model import DerivedRecord, MadeBy, RecordKind

PARAMS = SimpleParams()


def member(number, angle, people=("Ann",), n_units=1):
    """A unit whose vector stands at that angle in degrees."""
    turn = np.radians(angle)
    record = DerivedRecord(
        number=number,
        id=f"f{number}",
        kind=RecordKind.FACT,
        method="simple",
        text=f"unit {number}",
        made_by=MadeBy(method="simple"),
        recorded_at=datetime(2023, 5, 8, tzinfo=UTC),
        detail={"people": list(people), "units": n_units},
    )
    return Member(record, (number,), np.array([np.cos(turn), np.sin(turn)], dtype=np.float32))


def numbers(found):
    return [tuple(one.number for one in group) for group in found]


def test_units_near_each_other_about_the_same_are_a_group():
    found = groups([member(1, 0), member(2, 20), member(3, 90), member(4, 95)], [], PARAMS)
    assert numbers(found) == [(1, 2), (3, 4)]


def test_units_about_other_people_are_none():
    assert groups([member(1, 0), member(2, 5, people=("Bob",))], [], PARAMS) == []


def test_a_group_has_no_more_than_its_size_and_takes_the_nearest():
    some = [member(1, 0), *(member(n, 30 - n) for n in range(2, 12))]
    found = groups(some, [], PARAMS)
    assert numbers(found)[0] == (1, 8, 9, 10, 11)
    assert all(len(group) <= PARAMS.group_size for group in found)


def test_units_that_were_together_are_not_put_together_again():
    some = [member(1, 0), member(2, 5), member(3, 10)]
    assert numbers(groups(some, [(1, 2)], PARAMS)) == [(1, 3)]
    assert groups(some, [(1, 2, 3)], PARAMS) == []


def test_merged_units_wait_until_no_others_can_be_merged_and_count_as_many():
    some = [member(1, 0, n_units=3), member(2, 5), member(3, 6), member(4, 7)]
    assert numbers(groups(some, [], PARAMS)) == [(2, 3, 4)]
    after = [member(1, 0, n_units=3), member(5, 6, n_units=3), member(6, 60)]
    assert groups(after, [], PARAMS) == []
    assert numbers(groups([member(1, 0, n_units=3), member(2, 5)], [], PARAMS)) == [(1, 2)]


def test_units_without_vectors_stay_apart():
    zero = np.zeros(2, dtype=np.float32)
    some = [Member(member(n, 0).record, (n,), zero) for n in (1, 2)]
    assert groups(some, [], PARAMS) == []


def test_the_key_of_a_group_does_not_depend_on_order():
    assert group_key(["a", "b"]) == group_key(["b", "a"]) != group_key(["a", "c"])

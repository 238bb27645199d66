import pytest

from combray.errors import InvalidInput
from combray.methods.anchor.params import AnchorParams


@pytest.mark.parametrize(
    "wrong",
    [
        {"stride": 4},
        {"stride": 0},
        {"similarity": 1.0},
        {"similarity": 0.0},
        {"n_neighbours": 0},
        {"min_new": 0},
        {"n_facts": 0},
        {"n_events": -1},
        {"max_fact_chars": 0},
        {"pruning": "majority"},
    ],
)
def test_a_number_that_makes_no_sense_is_named(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong)).removesuffix("s")):
        AnchorParams(**wrong)


@pytest.mark.parametrize(("n", "half"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_a_kept_event_brings_half_of_its_neighbours_rounded_up(n, half):
    assert AnchorParams(n_neighbours=n).least_new == half
    assert AnchorParams(n_neighbours=n, min_new=3).least_new == 3

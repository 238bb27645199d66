import numpy as np
import pytest
from scipy.sparse import csr_array

from combray.errors import InvalidInput
from combray.methods.atom.grouping import GroupingParams, grouped, nearest


def sets(rows, n_columns=3):
    """Ones where a row has a column."""
    dense = np.zeros((len(rows), n_columns), dtype=np.float32)
    for row, columns in enumerate(rows):
        dense[row, list(columns)] = 1
    return csr_array(dense)


def at(*degrees):
    """Unit vectors in the plane."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def groups(vectors, keywords=None, people=None, **params):
    n = len(vectors)
    return list(
        grouped(
            vectors,
            sets(keywords or [()] * n),
            sets(people or [()] * n),
            GroupingParams(**params),
        )
    )


def test_facts_that_are_alike_are_an_event_with_the_most_central_one_first():
    assert groups(at(0, 10, 20, 90), similarity=0.65) == [(1, 0, 2)]


def test_a_fact_between_two_centres_is_in_the_events_of_both():
    assert groups(at(0, 20, 40, 60, 80), similarity=0.65, max_facts=3) == [(1, 0, 2), (3, 2, 4)]


def test_facts_about_different_people_are_no_event():
    vectors = at(0, 1, 2)
    assert groups(vectors, people=[{0}, {1}, {1}]) == [(1, 2)]
    assert groups(vectors, people=[{0}, {1}, {2}]) == []


def test_a_fact_about_nobody_may_go_with_any():
    assert groups(at(0, 1), people=[{0}, ()]) == [(0, 1)]


def test_keywords_in_common_bring_facts_together_that_their_vectors_do_not():
    vectors = at(0, 40)
    assert groups(vectors, similarity=0.7) == []
    assert groups(vectors, keywords=[{0, 1}, {0, 1}], similarity=0.7) == [(0, 1)]


def test_an_event_has_its_nearest_facts_and_no_more_than_are_allowed():
    assert groups(at(0, 3, 1, 2, 4), similarity=0.6, max_facts=3)[0] == (1, 3, 4)


def test_the_blocks_that_facts_are_compared_in_do_not_show():
    vectors = np.random.default_rng(0).normal(size=(600, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    keywords = sets([{i % 3} for i in range(600)])
    people = sets([{i % 2} for i in range(600)])
    params = GroupingParams(similarity=0.5, max_facts=4)
    found = nearest(vectors, keywords, people, params)
    for row in (0, 255, 256, 599):
        same = np.arange(600) % 3 == row % 3
        score = 0.7 * vectors @ vectors[row] + 0.3 * same
        score[(np.arange(600) % 2 != row % 2) | (np.arange(600) == row)] = 0
        best = [i for i in np.argsort(-score)[:3] if score[i] >= 0.5]
        assert found[[row]].indices.tolist() == best


def test_no_facts_are_no_events():
    assert groups(np.zeros((0, 2), dtype=np.float32)) == []


@pytest.mark.parametrize("wrong", [{"similarity": 0}, {"similarity": 1.1}, {"max_facts": 1}])
def test_numbers_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidInput):
        GroupingParams(**wrong)

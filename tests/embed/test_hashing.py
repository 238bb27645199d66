import numpy as np
import pytest

from combray.embed.hashing import HashEmbedder
from combray.errors import InvalidInput


def test_the_same_text_has_these_vectors_on_every_machine():
    vector = HashEmbedder(16).embed(["Hello, world"]).vectors[0]
    assert np.sign(vector).astype(int).tolist() == [
        1,
        0,
        0,
        -1,
        1,
        0,
        0,
        -1,
        1,
        1,
        0,
        0,
        0,
        1,
        -1,
        1,
    ]


def test_texts_that_share_words_are_nearer_than_texts_that_do_not():
    first, near, far = HashEmbedder(256).embed(["red apple pie", "apple pie", "blue car"]).vectors
    assert first @ near > 0.6
    assert abs(first @ far) < 0.3


def test_all_vectors_have_unit_norm_and_the_dimension():
    made = HashEmbedder(64).embed(["one two", "", "?!", "\ud83d"])
    np.testing.assert_allclose(np.linalg.norm(made.vectors, axis=1), 1, atol=1e-6)
    assert made.vectors.shape == (4, 64)
    assert [tokens.shape for tokens in made.tokens] == [(2, 64), (0, 64), (0, 64), (0, 64)]
    np.testing.assert_allclose(np.linalg.norm(made.tokens[0], axis=1), 1, atol=1e-6)


def test_no_texts_give_no_rows():
    made = HashEmbedder(64).embed([])
    assert made.vectors.shape == (0, 64)
    assert made.tokens == ()


def test_id_carries_version_and_dimension():
    assert HashEmbedder(128).id == "hash@1-128"


def test_words_that_cancel_out_still_give_a_unit_vector():
    # In 8 dimensions some two words of these point in opposite directions.
    embedder = HashEmbedder(8)
    words = [f"w{i}" for i in range(600)]
    vectors = embedder.embed(words).vectors
    opposite = np.argwhere(np.isclose(vectors @ vectors.T, -1))
    assert len(opposite)
    pair = " ".join(words[i] for i in opposite[0])
    assert np.linalg.norm(embedder.embed([pair]).vectors[0]) == pytest.approx(1)


@pytest.mark.parametrize("dimension", [0, -8, 7, 520])
def test_a_dimension_that_cannot_be_hashed_is_refused(dimension):
    with pytest.raises(InvalidInput, match="multiple of 8"):
        HashEmbedder(dimension)

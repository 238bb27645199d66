from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from combray.embed.base import Embeddings
from combray.embed.cache import CachedEmbedder
from combray.embed.hashing import HashEmbedder
from combray.errors import InvalidInput


class Counting:
    """An embedder that keeps what it was asked."""

    def __init__(self, inner, with_tokens=True):
        self.inner = inner
        self.with_tokens = with_tokens
        self.asked = []

    @property
    def id(self):
        return self.inner.id

    @property
    def dimension(self):
        return self.inner.dimension

    def embed(self, texts):
        self.asked.append(list(texts))
        made = self.inner.embed(texts)
        return made if self.with_tokens else Embeddings(vectors=made.vectors)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    assert found.vectors.dtype == expected.vectors.dtype
    assert len(found.tokens) == len(expected.tokens)
    for own, other in zip(found.tokens, expected.tokens, strict=True):
        np.testing.assert_array_equal(own, other)


TEXTS = ["where is it", "", "who said so", "where is it", "\ud83d", "no word twice"]


def test_embeddings_are_those_of_the_wrapped_embedder():
    plain = HashEmbedder(32)
    cached = CachedEmbedder(HashEmbedder(32))
    for texts in (TEXTS, TEXTS[::-1], TEXTS[1:3], []):
        assert_same(cached.embed(texts), plain.embed(texts))
    assert (cached.id, cached.dimension) == (plain.id, plain.dimension)


def test_embeddings_of_the_real_model_are_the_same_too(minilm):
    cached = CachedEmbedder(minilm)
    cached.embed(TEXTS[2:])
    assert_same(cached.embed(TEXTS), minilm.embed(TEXTS))


def test_a_text_is_embedded_once():
    inner = Counting(HashEmbedder(32))
    cached = CachedEmbedder(inner)
    cached.embed(["a", "b", "a"])
    cached.embed(["b", "c"])
    cached.embed(["a", "c"])
    assert inner.asked == [["a", "b"], ["c"]]


def test_an_embedder_without_tokens_stays_without():
    cached = CachedEmbedder(Counting(HashEmbedder(32), with_tokens=False))
    for _ in range(2):
        assert cached.embed(["a", "b"]).tokens is None


def test_memory_stays_within_the_bound_and_the_oldest_goes_first():
    inner = Counting(HashEmbedder(64))
    cached = CachedEmbedder(inner, capacity_bytes=5000)
    for i in range(50):
        cached.embed([f"text {i}", "kept fresh"])
        assert cached.n_bytes <= 5000
    inner.asked.clear()
    cached.embed(["text 49", "kept fresh"])
    assert inner.asked == []
    cached.embed(["text 0"])
    assert inner.asked == [["text 0"]]


def test_a_text_larger_than_the_bound_is_answered_and_not_kept():
    cached = CachedEmbedder(HashEmbedder(64), capacity_bytes=2000)
    assert len(cached.embed(["word " * 1000]).tokens[0]) == 1000
    assert cached.n_bytes == 0


def test_capacity_zero_keeps_nothing():
    inner = Counting(HashEmbedder(32))
    cached = CachedEmbedder(inner, capacity_bytes=0)
    cached.embed(["a"])
    cached.embed(["a"])
    assert inner.asked == [["a"], ["a"]]


def test_negative_capacity_is_refused():
    with pytest.raises(InvalidInput, match="negative"):
        CachedEmbedder(HashEmbedder(32), capacity_bytes=-1)


def test_what_is_kept_cannot_be_changed_by_the_caller():
    cached = CachedEmbedder(HashEmbedder(32))
    first = cached.embed(["a b"])
    first.vectors[:] = 0
    with pytest.raises(ValueError, match="read-only"):
        first.tokens[0][:] = 0
    assert_same(cached.embed(["a b"]), HashEmbedder(32).embed(["a b"]))


def test_threads_get_the_same_and_the_bound_holds():
    cached = CachedEmbedder(HashEmbedder(32), capacity_bytes=20_000)
    plain = HashEmbedder(32)

    def work(seed):
        texts = [f"word{(seed * 7 + i) % 60} and more" for i in range(20)]
        assert_same(cached.embed(texts), plain.embed(texts))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(100)))
    assert 0 < cached.n_bytes <= 20_000

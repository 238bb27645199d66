import json

import numpy as np
import pytest
from rich.console import Console

from combray.embed.hashing import HashEmbedder
from combray.errors import InvalidInput
from combray.eval.speed import SpeedSetup, peak_mb, resident_mb, run_speed
from combray.eval.synthetic import ClusteredEmbedder, Synthetic, word
from combray.model import Role


def test_synthetic_turns_follow_from_the_seed():
    first = list(Synthetic(seed=1, n_turns=70).sessions())
    assert first == list(Synthetic(seed=1, n_turns=70).sessions())
    assert first != list(Synthetic(seed=2, n_turns=70).sessions())
    assert [len(item.turns) for item in first] == [30, 30, 10]
    assert {turn.role for turn in first[0].turns} == {Role.USER, Role.ASSISTANT}


def test_synthetic_words_are_zipfian_and_distinct():
    texts = list(Synthetic(seed=0, n_turns=2000).texts())
    words = [token for text in texts for token in text.split()]
    assert 19 < len(words) / len(texts) < 21
    assert words.count(word(0)) > 1.5 * words.count(word(1)) > 0
    assert len({word(rank) for rank in range(50_000)}) == 50_000


def test_a_question_shares_its_words_with_a_turn():
    made = Synthetic(seed=0, n_turns=50)
    texts = [set(text.split()) for text in made.texts()]
    questions = made.questions(5)
    assert len(questions) == 5
    assert all(any(set(q.split()) <= text for text in texts) for q in questions)


def test_there_must_be_turns():
    with pytest.raises(InvalidInput):
        Synthetic(seed=0, n_turns=0)


def test_clustered_vectors_are_unit_stable_and_uneven():
    embedder = ClusteredEmbedder(0)
    texts = list(Synthetic(seed=0, n_turns=3000).texts())
    made = embedder.embed(texts)
    assert made.vectors.shape == (3000, 384)
    assert np.allclose(np.linalg.norm(made.vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(embedder.embed(texts[5:6]).vectors[0], made.vectors[5])
    assert [len(t) for t in made.tokens] == [len(text.split()) for text in texts]
    nearest = np.sort(made.vectors[:200] @ made.vectors.T, axis=1)[:, -2]
    assert (
        np.median(nearest) > 0.5
    )  # independent directions of 384 dimensions would stay below 0.25
    assert embedder.embed([]).vectors.shape == (0, 384)


def test_a_text_alone_is_also_run_through_the_encoder():
    class Counting(HashEmbedder):
        n = 0

        def embed(self, texts):
            self.n += 1
            return super().embed(texts)

    encoder = Counting()
    embedder = ClusteredEmbedder(0, encoder=encoder)
    embedder.embed(["a", "b"])
    assert encoder.n == 0
    embedder.embed(["a"])
    assert encoder.n == 1


def test_memory_is_measured_in_megabytes():
    assert 10 < peak_mb() < 100_000
    assert resident_mb() is None or 10 < resident_mb() <= peak_mb() * 1.01


def test_speeds_json_has_the_shape_that_others_parse(tmp_path):
    setup = SpeedSetup(
        sizes=(60, 120), n_queries=5, n_singles=3, n_batch=50, n_embedded=10, encoder=HashEmbedder()
    )
    result = run_speed("bm25", setup=setup)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    for by_size in (document["recall_latency_ms"], document["search_latency_ms"]):
        assert list(by_size) == ["60", "120"]
        assert all(0 < value["p50"] <= value["p95"] for value in by_size.values())
    assert set(document["encoder_latency_ms"]) == {"p50", "p95"}
    assert set(document["floor"]) == {"60", "120"}
    assert document["floor"]["60"]["numpy_ms"]["p50"] > 0
    assert document["floor"]["60"]["bm25s_ms"]["p50"] > 0
    assert all(rate > 0 for rate in document["write_per_s"].values())
    console = Console(width=200)
    with console.capture() as shown:
        console.print(result.table())
    assert "120" in shown.get()
    assert [file.name for file in result.save(tmp_path)] == ["speed-bm25.json", "speed-bm25.png"]

"""The graph against BERT written out in double precision."""

import json
import math
import struct

import numpy as np
import pytest

from combray.embed.encoder import Encoder
from combray.embed.wordpieces import WordPieces

LAYERS, HEADS, EPSILON = 6, 12, 1e-12
erf = np.vectorize(math.erf)


@pytest.fixture(scope="module")
def weight(minilm_folder):
    raw = (minilm_folder / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])

    def read(name):
        entry = header[name]
        start, end = (8 + size + offset for offset in entry["data_offsets"])
        flat = np.frombuffer(raw[start:end], "<f4").astype(np.float64)
        return flat.reshape(entry["shape"])

    return read


def bert(ids, weight):
    """Last hidden state of one text, shape (t, d).

    Source: Devlin et al. 2019, BERT; Vaswani et al. 2017, Attention Is All You Need, section 3.
    """

    def dense(x, name):
        return x @ weight(f"{name}.weight").T + weight(f"{name}.bias")

    def normalise(x, name):
        centred = x - x.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
        return scaled * weight(f"{name}.weight") + weight(f"{name}.bias")

    def heads(x):
        return x.reshape(len(x), HEADS, -1).transpose(1, 0, 2)

    x = weight("embeddings.word_embeddings.weight")[ids]
    x = x + weight("embeddings.position_embeddings.weight")[: len(ids)]
    x = normalise(x + weight("embeddings.token_type_embeddings.weight")[0], "embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        query, key, value = (
            heads(dense(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = (shares @ value).transpose(1, 0, 2).reshape(x.shape)
        x = normalise(
            x + dense(mixed, f"{layer}.attention.output.dense"),
            f"{layer}.attention.output.LayerNorm",
        )
        inner = dense(x, f"{layer}.intermediate.dense")
        inner = inner * (1 + erf(inner / np.sqrt(2))) / 2
        x = normalise(x + dense(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return x


def test_hidden_states_are_those_of_bert_in_double_precision(minilm_folder, weight):
    pieces = WordPieces(minilm_folder / "tokenizer.json", punctuation=False)
    texts = ["", "Caroline: I went to an LGBTQ support group yesterday!", "so far " * 60]
    ids = [pieces.windows(text, 1)[0] for text in texts]
    for own, found in zip(ids, Encoder(minilm_folder, threads=1).encode(ids), strict=True):
        np.testing.assert_allclose(found, bert(own, weight), atol=2e-5)


def test_the_number_of_threads_does_not_change_a_bit(minilm_folder):
    ids = [np.arange(1000, 1000 + n) for n in (3, 80, 200)]
    one = Encoder(minilm_folder, threads=1).encode(ids)
    two = Encoder(minilm_folder, threads=2).encode(ids)
    for own, other in zip(one, two, strict=True):
        np.testing.assert_array_equal(own, other)


def test_no_texts_give_no_states(minilm_folder):
    assert Encoder(minilm_folder, threads=1).encode([]) == []

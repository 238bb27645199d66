import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from combray.embed.onnx import DEFAULT_WINDOWS, MiniLM, MiniLMOptions
from combray.errors import InvalidInput, WeightsUnavailable

QUICK_START = [
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
]
MIXED = [
    "Yes.",
    "I went to the adoption agency on Friday, and they were so kind to me!",
    "",
    "word " * 400,
    "Melanie painted a lake sunrise last year.",
    "¿Qué? 日本語 🙂",
]


def test_similarities_are_those_of_the_published_quick_start(minilm):
    # Source: the quick start of sbert.net for all-MiniLM-L6-v2.
    vectors = minilm.embed(QUICK_START).vectors
    found = vectors @ vectors.T
    assert found[0, 1] == pytest.approx(0.6660, abs=1e-4)
    assert found[0, 2] == pytest.approx(0.1046, abs=1e-4)
    assert found[1, 2] == pytest.approx(0.1411, abs=1e-4)


def test_id_names_the_model_and_its_revision(minilm):
    assert minilm.id == "all-MiniLM-L6-v2@1110a243"
    assert minilm.dimension == 384


def test_options_that_change_vectors_change_the_id():
    assert MiniLM(options=MiniLMOptions(windows=3)).id == "all-MiniLM-L6-v2@1110a243+windows3"
    assert MiniLM(options=MiniLMOptions(punctuation=True)).id.endswith("+punctuation")
    assert MiniLM(options=MiniLMOptions(threads=1)).id == "all-MiniLM-L6-v2@1110a243"


@pytest.mark.parametrize("options", [{"windows": 0}, {"threads": 0}])
def test_options_below_one_are_refused(options):
    with pytest.raises(InvalidInput, match="at least 1"):
        MiniLMOptions(**options)


def test_all_vectors_have_unit_norm(minilm):
    made = minilm.embed(MIXED)
    assert made.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(made.vectors, axis=1), 1, atol=1e-6)
    for tokens in made.tokens:
        np.testing.assert_allclose(np.linalg.norm(tokens, axis=1), 1, atol=1e-6)


def test_a_text_has_the_same_vectors_whatever_it_is_embedded_with(minilm):
    together = minilm.embed(MIXED * 40)
    for i, text in enumerate(MIXED):
        alone = minilm.embed([text])
        np.testing.assert_array_equal(alone.vectors[0], together.vectors[i + 6 * 39])
        np.testing.assert_array_equal(alone.tokens[0], together.tokens[i + 6 * 39])


def test_no_texts_give_no_rows(minilm):
    made = minilm.embed([])
    assert made.vectors.shape == (0, 384)
    assert made.tokens == ()


def test_empty_text_has_a_unit_vector_and_no_tokens(minilm):
    made = minilm.embed(["", " \n\t"])
    np.testing.assert_array_equal(made.vectors[0], made.vectors[1])
    assert np.linalg.norm(made.vectors[0]) == pytest.approx(1)
    assert [len(tokens) for tokens in made.tokens] == [0, 0]


def test_tokens_leave_out_marks_and_punctuation(minilm):
    # it ' s so sunny outside !
    assert len(minilm.embed([QUICK_START[1]]).tokens[0]) == 5
    assert len(minilm.embed(["?!… — $"]).tokens[0]) == 0


def test_punctuation_can_have_tokens(minilm_folder):
    embedder = MiniLM(minilm_folder, MiniLMOptions(punctuation=True, threads=1))
    assert len(embedder.embed([QUICK_START[1]]).tokens[0]) == 7


def test_long_text_is_cut_after_the_last_window(minilm):
    made = minilm.embed(["word " * 254, "word " * 5000])
    np.testing.assert_allclose(made.vectors[0], made.vectors[1], atol=1e-6)
    assert len(made.tokens[1]) == DEFAULT_WINDOWS * 254


def test_tokens_know_their_words(minilm):
    (words,) = minilm.embed(["Caroline's kickboxing!"]).words
    assert words == ("caroline", "s", "kickboxing", "kickboxing", "kickboxing")


def test_windows_read_on_and_average(minilm, minilm_folder):
    embedder = MiniLM(minilm_folder, MiniLMOptions(windows=3))
    stretches = ["one " * 254, "two " * 254, "three " * 100]
    whole = embedder.embed(["".join(stretches)])
    parts = minilm.embed(stretches)
    mean = parts.vectors.sum(axis=0)
    np.testing.assert_allclose(whole.vectors[0], mean / np.linalg.norm(mean), atol=1e-6)
    np.testing.assert_array_equal(whole.tokens[0], np.concatenate(parts.tokens))
    assert len(embedder.embed(["one " * 5000]).tokens[0]) == 3 * 254


def test_one_window_reads_short_texts_as_many_windows_do(minilm, minilm_folder):
    many = MiniLM(minilm_folder, MiniLMOptions(windows=4)).embed(MIXED[:3])
    np.testing.assert_array_equal(many.vectors, minilm.embed(MIXED[:3]).vectors)


@pytest.mark.parametrize(
    "text",
    ["a" * 1_000_000, " " * 1_000_000, "word " * 200_000, "日" * 300_000, "\x00" * 1000],
    ids=["one word", "white space", "words", "ideographs", "control characters"],
)
def test_a_megabyte_of_text_is_read_quickly_and_gives_a_unit_vector(minilm, text):
    made = minilm.embed([text])
    assert np.linalg.norm(made.vectors[0]) == pytest.approx(1)
    assert len(made.tokens[0]) <= DEFAULT_WINDOWS * 254


def test_words_after_much_white_space_are_still_read(minilm):
    far = minilm.embed(["hello" + " " * 50_000 + "world"])
    near = minilm.embed(["hello world"])
    np.testing.assert_array_equal(far.vectors, near.vectors)


def test_lone_surrogates_are_read_as_unknown_characters(minilm):
    made = minilm.embed(["half \ud83d a smile", "half \ufffd a smile"])
    np.testing.assert_array_equal(made.vectors[0], made.vectors[1])


def test_threads_share_one_embedder(minilm_folder):
    embedder = MiniLM(minilm_folder)
    expected = MiniLM(minilm_folder).embed(MIXED).vectors
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: embedder.embed(MIXED).vectors, range(12)))
    assert all(np.array_equal(vectors, expected) for vectors in made)


def test_weights_behind_a_symbolic_link_are_run(minilm, minilm_folder, tmp_path):
    for file in minilm_folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    found = MiniLM(tmp_path).embed(QUICK_START).vectors
    np.testing.assert_array_equal(found, minilm.embed(QUICK_START).vectors)


def test_nothing_is_loaded_before_the_first_text(tmp_path):
    embedder = MiniLM(tmp_path / "nothing here", offline=True)
    assert embedder.dimension == 384


def test_offline_without_weights_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    code = (
        "from combray.embed.onnx import DEFAULT_WINDOWS, MiniLM\n"
        "from combray.errors import WeightsUnavailable\n"
        "try: MiniLM(offline=True).load()\n"
        "except WeightsUnavailable as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "COMBRAY_MODELS" in done.stdout
    assert "model.safetensors and tokenizer.json" in done.stdout


FORK = """
import json, os, sys
from combray.embed.onnx import DEFAULT_WINDOWS, MiniLM, MiniLMOptions
embedder = MiniLM(options=MiniLMOptions(threads=2))
before = embedder.embed(["a sentence that was said"]).vectors
read, write = os.pipe()
child = os.fork()
if child == 0:
    after = embedder.embed(["a sentence that was said"]).vectors
    os.write(write, b"1" if (before == after).all() else b"0")
    os._exit(0)
os.waitpid(child, 0)
print(json.dumps(os.read(read, 1).decode()))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_loads_its_own_copy(minilm_folder):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout) == "1"


def test_damaged_weights_are_never_loaded(minilm_folder, tmp_path):
    for file in minilm_folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"\xff")
    with pytest.raises(WeightsUnavailable, match=r"model\.safetensors: wrong content"):
        MiniLM(tmp_path).load()

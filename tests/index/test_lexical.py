"""BM25 from postings against another implementation, and against itself after changes."""

import random
from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pytest

from combray import Memory
from combray.index.lexical import bm25_sessions, bm25_turns, matches

WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}x" for i in range(120)]
START = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "m.db", embedder="none") as opened:
        yield opened


def filled(memory, name, n=300, seed=0):
    rng = random.Random(seed)
    bank = memory.bank(name, create=True)
    texts = [
        " ".join(rng.choices(WORDS, weights=range(120, 0, -1), k=rng.randint(1, 30)))
        for _ in range(n)
    ]
    for start in range(0, n, 30):
        batch = [
            {"text": text, "id": f"{start + i}"} for i, text in enumerate(texts[start : start + 30])
        ]
        bank.remember(batch, session=f"s{start // 30}", said_at=START)
    return bank, texts


def view_and_reader(memory, name):
    store = memory.store
    return memory._parts.views.view(name), lambda kind, terms: store.postings(name, kind, terms)


def test_bm25_agrees_with_bm25s_to_a_millionth(memory):
    bm25s = pytest.importorskip("bm25s")
    _, texts = filled(memory, "a")
    view, read = view_and_reader(memory, "a")
    corpus = [
        memory._parts.analyser_for(memory.bank("a").bank).analyse([t], [START])[0].terms
        for t in texts
    ]
    oracle = bm25s.BM25(method="lucene", k1=1.2, b=0.75, dtype="float64")
    oracle.index([list(terms) for terms in corpus], show_progress=False)
    for query in (["wabx"], ["wabx", "wcdx", "wdfx"], ["wdpx", "nosuchword", "waax"]):
        ours = bm25_turns(matches(read, "term", query, view), view, k1=1.2, b=0.75)
        known = [term for term in query if term in oracle.vocab_dict]
        theirs = oracle.get_scores(known)
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_document_frequencies_match_an_oracle_after_random_adds_and_deletes(memory):
    bank, _ = filled(memory, "a")
    rng = random.Random(1)
    turns = list(bank.turns())
    bank.forget(turns=[turn.id for turn in rng.sample(turns, 120)])
    bank.remember([{"text": "wabx wabx wcdx", "id": "late"}], session="s0", said_at=START)
    bank.forget(session="s3")
    left = list(bank.turns())
    df = Counter(word for turn in left for word in set(turn.text.split()))
    view, read = view_and_reader(memory, "a")
    found = matches(read, "term", WORDS, view)
    assert found.df.tolist() == [df[word] for word in WORDS]
    assert view.n == len(left)


def test_another_banks_words_move_no_score(memory):
    filled(memory, "a")
    view, read = view_and_reader(memory, "a")
    before = bm25_turns(matches(read, "term", ["wabx", "wcdx"], view), view, k1=1.2, b=0.75)
    filled(memory, "b", seed=7)
    view, read = view_and_reader(memory, "a")
    after = bm25_turns(matches(read, "term", ["wabx", "wcdx"], view), view, k1=1.2, b=0.75)
    np.testing.assert_array_equal(before, after)


def test_a_session_scores_as_one_document(memory):
    bank = memory.create_bank("s")
    bank.remember(
        [{"text": "harbour lights"}, {"text": "harbour bells"}], session="one", said_at=START
    )
    bank.remember(
        [{"text": "quiet hills"}, {"text": "harbour far away"}], session="two", said_at=START
    )
    view, read = view_and_reader(memory, "s")
    terms = memory._parts.analyser_for(bank.bank).analyse(["harbour"], [START])[0].terms
    scores = dict(
        zip(
            view.session_names,
            bm25_sessions(matches(read, "term", terms, view), view, k1=1.2, b=0.75),
            strict=True,
        )
    )
    assert scores["one"] > scores["two"] > 0


@pytest.mark.parametrize("n", [0, 1, 2])
def test_tiny_banks_are_searched_without_trouble(memory, n):
    bank = memory.create_bank("tiny")
    for i in range(n):
        bank.remember(f"the {WORDS[i]} harbour", session="s")
    recall = bank.recall("harbour", abstain=False)
    assert len(recall.hits) == n

import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from combray.model import Session
from combray.store import SqliteStore
from combray.store.base import Selection
from combray.testing.store_rows import NOON, Saying, analysed, new_bank, vector_row

SECRET_VECTOR = vector_row(99, n_tokens=9)

SECRETS = {
    "text": b"Zanzibarian",
    "term": b"zanzibarian",
    "long text": b"overflowpage overflowpage",
    "speaker": b"Quentinella",
    "caption": b"photograph-of-a-quokka",
    "tag": b"tagged-by-quentin",
    "metadata": b"metadatum-of-quentin",
    "client id": b"client-id-of-quentin",
    "session": b"session-of-quentin",
    "title": b"title-of-quentin",
    "source": b"source-of-quentin",
    "vector": SECRET_VECTOR.vector,
    "part of the vector": SECRET_VECTOR.vector[:12],
    "tokens": SECRET_VECTOR.tokens,
}


def secret(n: int) -> Saying:
    return Saying(
        text=f"Zanzibarian {n} " + "overflowpage " * 3000,
        id=f"client-id-of-quentin-{n}",
        session="session-of-quentin",
        speaker="Quentinella",
        caption="photograph-of-a-quokka",
        tags=["tagged-by-quentin"],
        metadata={"key": "metadatum-of-quentin"},
        vectors=SECRET_VECTOR,
        minute=n,
    )


def left_in(folder: Path) -> set[str]:
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert "evidence.db" in files
    return {name for name, raw in SECRETS.items() if any(raw in file for file in files.values())}


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "evidence.db") as store:
        for name in ("alpha", "beta-of-quentin"):
            store.create_bank(new_bank(name, embedder="m:1"))
            for n in range(40):
                # Others before, between and after, so that pages are shared and split.
                rows = [
                    Saying(text=f"Common words {n} {m}", id=f"{n}.{m}", vectors=vector_row(n)).row()
                    for m in range(5)
                ]
                store.put(name, Session(name="s1"), rows)
        yield store


@pytest.fixture
def with_secrets(store):
    session = Session(
        name="session-of-quentin",
        title="title-of-quentin",
        source="source-of-quentin",
        metadata={"key": "metadatum-of-quentin"},
    )
    store.put("alpha", session, [secret(n).row() for n in range(30)])
    return store


def ids_of(store: SqliteStore, session: str) -> list[str]:
    return [turn.id for _, turn in store.scan("alpha", session=session)]


def test_the_secrets_are_in_the_file_to_begin_with(with_secrets, tmp_path):
    assert left_in(tmp_path) == set(SECRETS)


def test_no_byte_of_forgotten_turns_is_left(with_secrets, tmp_path):
    selection = Selection(turns=ids_of(with_secrets, "session-of-quentin"))
    assert with_secrets.forget("alpha", selection, NOON).erased
    assert left_in(tmp_path) == set()
    assert with_secrets.state("alpha").n_turns == 200


def test_no_byte_of_turns_forgotten_one_by_one_is_left(with_secrets, tmp_path):
    for id_ in ids_of(with_secrets, "session-of-quentin"):
        assert with_secrets.forget("alpha", Selection(turns=[id_]), NOON).erased
    assert left_in(tmp_path) == set()


def test_no_byte_of_a_forgotten_session_is_left(with_secrets, tmp_path):
    assert with_secrets.forget("alpha", Selection(session="session-of-quentin"), NOON).erased
    assert left_in(tmp_path) == set()
    assert with_secrets.check()[0].severity == "ok"


def test_no_byte_of_a_forgotten_bank_is_left(with_secrets, tmp_path):
    assert with_secrets.forget("alpha", Selection(whole_bank=True), NOON).erased
    assert left_in(tmp_path) == set()
    with_secrets.forget("beta-of-quentin", Selection(whole_bank=True), NOON)
    assert b"of-quentin" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_no_byte_of_an_unfinished_reindex_is_left(with_secrets, tmp_path):
    found = with_secrets.scan("alpha", session="session-of-quentin")
    rows = {doc: analysed(turn, suffix="-zanzibarian") for doc, turn in found}
    with_secrets.replace_analysis("alpha", "words:2", rows, final=False)
    with_secrets.put_vectors("alpha", "m:2", 16, {doc: SECRET_VECTOR for doc, _ in found})
    assert with_secrets.forget("alpha", Selection(session="session-of-quentin"), NOON).erased
    assert left_in(tmp_path) == set()


def test_replaced_vectors_are_gone_after_the_next_erasure(with_secrets, tmp_path):
    with_secrets.use_embedder("alpha", None, 0)
    with_secrets.forget("alpha", Selection(session="session-of-quentin"), NOON)
    assert left_in(tmp_path) == set()


@pytest.mark.parametrize("seed", range(3))
def test_no_copy_is_left_of_what_was_moved_about_in_the_file(tmp_path, seed):
    chance = random.Random(seed)
    numbers = list(range(400))
    chance.shuffle(numbers)
    with SqliteStore(tmp_path / "evidence.db") as store:
        store.create_bank(new_bank("alpha", embedder="m:1"))
        ids: dict[str, str] = {}
        for n in numbers:
            # Of odd lengths, in random order of key, so that pages are split, joined and rebuilt.
            marker = f"<{n:03}{chance.randbytes(4).hex()}>" * chance.randint(1, 30)
            said = Saying(
                text=f"{marker} {'filler ' * chance.randint(0, 400)}",
                id=marker[:13],
                session=f"s{n % 7}",
                speaker=marker[:13],
                tags=[marker[:13]],
                vectors=vector_row(n, n_tokens=chance.randint(0, 60)),
            )
            (id_,) = store.put("alpha", Session(name=said.session), [said.row()]).ids
            ids[id_] = marker[1:12]
        gone = chance.sample(sorted(ids), 250)
        for first in range(0, 250, 25):
            assert store.forget("alpha", Selection(turns=gone[first : first + 25]), NOON).erased
        raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert [id_ for id_ in gone if ids[id_].encode() in raw] == []
        assert all(ids[id_].encode() in raw for id_ in ids if id_ not in gone)
        assert store.check()[0].severity == "ok"
        # What a connection remembers of the file must not bring it back.
        for n in range(60):
            said = Saying(text=f"later {n} " + "more " * chance.randint(0, 300), speaker=f"P{n}")
            store.put("alpha", Session(name="s1"), [said.row()])
        raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert [id_ for id_ in gone if ids[id_].encode() in raw] == []


class Reader:
    """Another connection that holds an old view, as another process does."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT count(*) FROM turn").fetchone()

    def let_go(self) -> None:
        self._connection.close()


def test_a_reader_with_an_older_view_keeps_an_erasure_pending(with_secrets, tmp_path):
    reader = Reader(tmp_path / "evidence.db")
    receipt = with_secrets.forget("alpha", Selection(session="session-of-quentin"), NOON)
    assert not receipt.erased
    assert len(receipt.turns) == 30
    assert with_secrets.state("alpha").n_turns == 200
    assert not with_secrets.erase()
    (finding,) = with_secrets.check()
    assert (finding.severity, finding.n) == ("warning", 1)
    reader.let_go()
    assert with_secrets.erase()
    assert left_in(tmp_path) == set()
    assert with_secrets.check()[0].severity == "ok"


def test_a_later_deletion_finishes_an_earlier_one(with_secrets, tmp_path):
    first, *rest = ids_of(with_secrets, "session-of-quentin")
    reader = Reader(tmp_path / "evidence.db")
    assert not with_secrets.forget("alpha", Selection(turns=[first]), NOON).erased
    reader.let_go()
    assert with_secrets.forget("alpha", Selection(turns=rest), NOON).erased
    assert with_secrets.check()[0].severity == "ok"


KILLED_BEFORE_ERASING = """
import os, signal, sys
from combray.store import SqliteStore
from combray.store.base import Selection
from combray.testing.store_rows import NOON
store = SqliteStore(sys.argv[1])
store._connections.erasing = lambda wait_ms: os.kill(os.getpid(), signal.SIGKILL)
store.forget("alpha", Selection(session="session-of-quentin"), NOON)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_an_erasure_that_was_cut_short_is_finished_when_the_store_is_opened(with_secrets, tmp_path):
    path = tmp_path / "evidence.db"
    with_secrets.close()
    reader = Reader(path)
    done = subprocess.run([sys.executable, "-c", KILLED_BEFORE_ERASING, str(path)], check=False)
    assert done.returncode == -9
    reader.let_go()
    with SqliteStore(path) as again:
        assert again.state("alpha").n_turns == 200
        assert again.check()[0].severity == "ok"
        assert left_in(tmp_path) == set()

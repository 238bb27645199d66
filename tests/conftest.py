from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from combray import Memory


class TickingClock:
    """Starts on a fixed day and moves a second a call."""

    def __init__(self) -> None:
        self.now = datetime(2024, 5, 1, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()


@pytest.fixture
def memory(tmp_path, clock) -> Iterator[Memory]:
    """A lexical memory on a real file: what needs no encoder is tested without one."""
    with Memory.open(tmp_path / "memory.db", embedder="none", clock=clock) as opened:
        yield opened


@pytest.fixture
def hashed(tmp_path, clock) -> Iterator[Memory]:
    """A memory with vectors of the deterministic test embedder."""
    with Memory.open(tmp_path / "hashed.db", embedder="hash", clock=clock) as opened:
        yield opened

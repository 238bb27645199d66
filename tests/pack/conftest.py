from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from combray.model import DerivedRecord, Hit, MadeBy, RecordHit, RecordKind, Role, Turn, record_id
from combray.model.ids import content_key, turn_id_from_content


class Beside:
    """Neighbours by session and position, as a store would give them."""

    def __init__(self, turns):
        self._turns = {(turn.session, turn.position): turn for turn in turns}

    def previous(self, turn):
        return self._turns.get((turn.session, turn.position - 1))

    def next(self, turn):
        return self._turns.get((turn.session, turn.position + 1))


@pytest.fixture
def beside() -> Callable[..., Beside]:
    return lambda *turns: Beside(turns)


@pytest.fixture
def said() -> Callable[..., Turn]:
    """Makes turns; without a position each comes after the one before."""
    positions = count()

    def make(text, speaker="Mira", *, session="s1", day=8, **others):
        position = others.pop("position", None)
        position = next(positions) if position is None else position
        role = others.pop("role", Role.USER)
        caption = others.pop("caption", None)
        said_at = others.pop(
            "said_at", datetime(2023, 5, day, 13, tzinfo=UTC) + timedelta(seconds=position)
        )
        content = content_key(speaker, role, text, caption)
        return Turn(
            id=turn_id_from_content(session, content, said_at.isoformat(), position),
            session=session,
            position=position,
            speaker=speaker,
            role=role,
            text=text,
            said_at=said_at,
            caption=caption,
            content=content,
            stored_at=said_at,
            **others,
        )

    return make


@pytest.fixture
def ranked() -> Callable[..., list[Hit]]:
    return lambda *turns: [
        Hit(turn=turn, rank=rank, score=1.0 / rank) for rank, turn in enumerate(turns, 1)
    ]


@pytest.fixture
def learnt() -> Callable[..., DerivedRecord]:
    """Makes events; each comes from the turns it is given."""
    numbers = count(1)

    def make(text, *sources):
        return DerivedRecord(
            number=next(numbers),
            id=record_id(RecordKind.EVENT, "anchor", text),
            kind=RecordKind.EVENT,
            method="anchor",
            text=text,
            sources=tuple(turn.id for turn in sources),
            made_by=MadeBy(method="anchor", model="double"),
            recorded_at=datetime(2023, 6, 1, tzinfo=UTC),
        )

    return make


@pytest.fixture
def proposed() -> Callable[..., list[RecordHit]]:
    return lambda *records: [
        RecordHit(record=record, rank=rank, score=1.0 / rank)
        for rank, record in enumerate(records, 1)
    ]

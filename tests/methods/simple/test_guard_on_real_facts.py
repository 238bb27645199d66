"""The guard on 6,316 facts that a model drew from LoCoMo (AtomMem's release), as they are and with one thing made wrong."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from combray.methods.simple.guard import Grounds, missing_names, violations
from combray.model import Role, Turn
from combray.text.light import LightAnalyser

FOLDERS = [os.environ.get("COMBRAY_DATA"), Path(__file__).parents[4] / "shared" / "data"]
FILES = [Path(folder) / "locomo_facts_atommem" for folder in FOLDERS if folder]
FOUND = next((folder for folder in FILES if folder.is_dir()), None)
LOCOMO = FOUND.parent / "locomo" / "locomo10.json" if FOUND else None
ANALYSER = LightAnalyser()
DAY = re.compile(
    r"(January|February|March|April|May|June|July|August|September|October|November|December) (\d{1,2})(?=, 20)"
)
NUMBER = re.compile(r"\b(\d{1,4})\b(?!,? 20\d\d)")

pytestmark = pytest.mark.skipif(
    LOCOMO is None or not LOCOMO.exists(),
    reason="LoCoMo and AtomMem's facts are not here (COMBRAY_DATA)",
)


def captions():
    samples = json.loads(LOCOMO.read_text(encoding="utf-8"))
    return {
        (sample["sample_id"], turn["dia_id"]): turn.get("blip_caption")
        for sample in samples
        for turns in sample["conversation"].values()
        if isinstance(turns, list)
        for turn in turns
    }


def drawn():
    """Each fact with what its turn and, where it points back, the turns before it say."""
    shown = captions()
    for path in sorted(FOUND.glob("conv-*.json")):
        rows = json.loads(path.read_text(encoding="utf-8"))["results"]
        speakers = tuple(dict.fromkeys(row["speaker"] for row in rows))
        before, session = [], None
        for row in rows:
            if row["session"] != session:
                before, session = [], row["session"]
            turn = turn_of(row, shown.get((path.stem, row["dia_id"])))
            for fact in row["facts"]:
                yield fact, grounds_of(fact, turn, before, speakers)
            before.append(turn)


def turn_of(row, caption):
    at = datetime.strptime(row["session_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    return Turn(
        id=row["dia_id"],
        session="s",
        speaker=row["speaker"],
        role=Role.USER,
        text=row["text"],
        said_at=at,
        caption=caption,
        content="",
        stored_at=at,
    )


def grounds_of(fact, turn, before, speakers):
    grounds = Grounds((turn,), ANALYSER, speakers)
    if not grounds.points_back:
        return grounds
    found = []
    for name in missing_names(fact, grounds):
        for earlier in reversed(before[-20:]):
            if not missing_names(name, Grounds((earlier,), ANALYSER, speakers)):
                found.append(earlier)
                break
    return Grounds((*found, turn), ANALYSER, speakers) if found else grounds


def shifted(fact):
    return DAY.sub(lambda day: f"{day[1]} {(int(day[2]) + 8) % 28 + 1}", fact, count=1)


def miscounted(fact):
    bare = DAY.search(fact)
    return fact if bare else NUMBER.sub(lambda number: str(int(number[1]) + 1011), fact, count=1)


def renamed(fact):
    return re.sub(r"^\w+", "Zoltan", fact, count=1)


@pytest.mark.slow
def test_nearly_all_facts_pass_and_nearly_all_wrong_ones_do_not():
    n = n_refused = 0
    made, caught = (
        dict.fromkeys(("day", "number", "name"), 0),
        dict.fromkeys(("day", "number", "name"), 0),
    )
    for fact, grounds in drawn():
        n += 1
        if violations(fact, grounds):
            n_refused += 1
            continue
        for kind, wrong in (("day", shifted), ("number", miscounted), ("name", renamed)):
            if (other := wrong(fact)) != fact:
                made[kind] += 1
                caught[kind] += bool(violations(other, grounds))
    assert n == 6316
    assert n_refused / n < 0.025
    assert min(made.values()) > 80
    assert all(caught[kind] / made[kind] > 0.98 for kind in made)

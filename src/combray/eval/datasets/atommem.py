"""AtomMem's released facts of LoCoMo: texts alone, by the turn that each was drawn from.

Turns are keyed as `locomo` keys them. The release has no people, keywords, times, events or profiles. In 140 turns with an image the
extractor was shown the words that the image was searched by, which no participant saw; so recall over these facts is not
comparable with that over turns and captions alone.

Source:
    AtomMem: the repository's extracted facts (MIT licence).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from combray.errors import NotFound
from combray.eval.datasets.base import TurnKey, locate
from combray.importers.base import Place, kind, mapping, read_document, text_field

MODEL = "Qwen3-14B, fine-tuned"

_FOLDER = "locomo_facts_atommem"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    """What was drawn from a turn.

    Attributes:
        turn: its key.
        facts: texts in the order of the reply, white space as single spaces; there may be none.
    """

    turn: TurnKey
    facts: tuple[str, ...]


def atommem(path: Path | str | None = None) -> dict[str, tuple[TurnFacts, ...]]:
    """The released facts by conversation, in order of their names; the turns in order.

    Args:
        path: its folder, or a data folder that holds it.

    Raises:
        NotFound: there is no such folder, or no conversation in it.
        BadImport: a file is not laid out as the release; names the place.
    """
    folder = locate(path, _FOLDER, ".")
    files = sorted(folder.glob("conv-*.json"))
    if not files:
        raise NotFound("released facts of AtomMem", str(folder))
    return {file.stem: _turns(file.stem, read_document(file), Place(path=file)) for file in files}


def _turns(bank: str, value: object, place: Place) -> tuple[TurnFacts, ...]:
    results = mapping(value, place, "a conversation").get("results")
    if not isinstance(results, list):
        place.fail(f"'results' must be an array, not {kind(results)}.")
    turns: dict[TurnKey, TurnFacts] = {}
    for n, item in enumerate(results, 1):
        at = place.within(f"turn {n}")
        found = _turn(bank, item, at)
        if found.turn in turns:
            at.fail(f"the turn {found.turn[1]!r} stands there twice.")
        turns[found.turn] = found
    return tuple(turns.values())


def _turn(bank: str, value: object, place: Place) -> TurnFacts:
    record = mapping(value, place, "a turn")
    facts = record.get("facts")
    if not isinstance(facts, list) or not all(isinstance(fact, str) for fact in facts):
        place.fail("'facts' must be an array of texts.")
    bare = (" ".join(fact.split()) for fact in facts)
    return TurnFacts(
        # The importer of LoCoMo puts the conversation in front: sessions of two are never the same.
        turn=(
            f"{bank}/{text_field(record, 'session', place)}",
            text_field(record, "dia_id", place),
        ),
        facts=tuple(fact for fact in dict.fromkeys(bare) if fact),
    )

r"""Notes in a pack: what a model made of turns, shown after the turns and never in their place.

    notes (written by a model from earlier turns; where they differ, the turns hold)
    [n1] (from 2, 5): Caroline went to the support group and …

Notes take a bounded share of the budget, and what they leave goes to the turns. Their text is escaped as that of turns is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from combray.model import Hit, Note, PackItem, RecordHit
from combray.pack.budget import TokenCounter
from combray.pack.clip import clip
from combray.pack.render import CLOSE, OPEN, shown
from combray.pack.select import MIN_BUDGET_TOKENS, Neighbours, Packed, pack

HEADING = "notes (written by a model from earlier turns; where they differ, the turns hold)"

MAX_CITES = 6
"""At most so many lines are named that a note comes from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteParams:
    """How much room notes get.

    Attributes:
        share: most of the budget that all notes together may take.
        most_tokens: what one note may take; a longer one is clipped at the end of a sentence.
    """

    share: float = 0.3
    most_tokens: int = 160


def pack_with_notes(
    hits: Sequence[Hit],
    neighbours: Neighbours,
    *,
    records: Sequence[RecordHit] = (),
    budget_tokens: int,
    counter: TokenCounter,
    params: NoteParams | None = None,
    terms: Collection[str] = (),
) -> Packed:
    """As `pack`, with the best records as notes; without records it is the same.

    Args:
        hits: see `pack`.
        neighbours: see `pack`.
        records: best first.
        budget_tokens: most tokens of the whole.
        counter: see `pack`.
        params: how much room notes get.
        terms: see `pack`.
    """
    drafts = _drafts(records, budget_tokens, counter, params or NoteParams(), terms)
    reserved = _cost(drafts, counter)
    packed = pack(
        hits,
        neighbours,
        budget_tokens=budget_tokens - reserved,
        counter=counter,
        terms=terms,
    )
    while drafts:
        notes = _cited(drafts, packed.items)
        text = _joined(packed.text, notes)
        n_tokens = counter.count(text)
        if n_tokens <= budget_tokens:
            return replace(packed, notes=notes, text=text, n_tokens=n_tokens)
        drafts = drafts[:-1]
    return packed


def _drafts(
    records: Sequence[RecordHit],
    budget_tokens: int,
    counter: TokenCounter,
    params: NoteParams,
    terms: Collection[str],
) -> list[Note]:
    """The notes that their share of the budget holds, without cites; none says what another one says."""
    room = min(int(params.share * budget_tokens), budget_tokens - MIN_BUDGET_TOKENS)
    drafts: list[Note] = []
    said: set[str] = set()
    for hit in records:
        mark = " ".join(hit.record.text.casefold().split())
        if mark in said:
            continue
        said.add(mark)
        note = _fitted(hit, len(drafts) + 1, counter, params, terms)
        if note is None or _cost([*drafts, note], counter) > room:
            continue
        drafts.append(note)
    return drafts


def _fitted(
    hit: RecordHit, number: int, counter: TokenCounter, params: NoteParams, terms: Collection[str]
) -> Note | None:
    def fits(text: str) -> bool:
        return counter.count(shown(text)) <= params.most_tokens

    whole = hit.record.text
    text = whole if fits(whole) else clip(whole, fits, params.most_tokens, terms)
    if not text.strip():
        return None
    return Note(cite=f"n{number}", record=hit.record, text=text, clipped=text != whole)


def _cost(drafts: Sequence[Note], counter: TokenCounter) -> int:
    """Tokens of the notes with their heading, whatever lines they will cite."""
    if not drafts:
        return 0
    widest = (999_999,) * MAX_CITES
    lines = [_line(replace(note, cites=widest)) for note in drafts]
    return sum(counter.count(line + "\n") for line in (HEADING, *lines))


def _cited(drafts: Sequence[Note], items: Sequence[PackItem]) -> tuple[Note, ...]:
    cite_of = {item.turn.id: item.cite for item in items}
    return tuple(
        replace(
            note,
            cites=tuple(sorted(cite_of[id_] for id_ in note.record.sources if id_ in cite_of)),
        )
        for note in drafts
    )


def _line(note: Note) -> str:
    named = ", ".join(map(str, note.cites[:MAX_CITES]))
    source = f"from {named}" if named else "from turns not shown"
    return f"[{note.cite}] ({source}): {shown(note.text)}".rstrip()


def _joined(text: str, notes: Sequence[Note]) -> str:
    before = text.removesuffix(CLOSE) if text else f"{OPEN}\n"
    return "\n".join([before + HEADING, *map(_line, notes), CLOSE])

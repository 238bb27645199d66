"""Choosing what goes into the pack, in the order of rank."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from combray.errors import InvalidInput
from combray.model import Cut, Hit, Note, PackItem, Part, RecordHit, Turn
from combray.pack.budget import TokenCounter
from combray.pack.clip import CHARS_PER_TOKEN, asks, clip
from combray.pack.draft import Draft, Line
from combray.pack.notes import NoteDraft
from combray.pack.repeats import Prints, print_of

MIN_BUDGET_TOKENS = 48
"""The smallest budget that is accepted: the fence, a date line and one short line."""


class Neighbours(Protocol):
    """Gives the turns beside a turn in its session.

    A turn that may not be shown (expired, or outside the filters of the query) must be given as None.
    """

    def previous(self, turn: Turn) -> Turn | None:
        """The turn before it, or None at the start of the session."""

    def next(self, turn: Turn) -> Turn | None:
        """The turn after it, or None at the end of the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackParams:
    """What a pack is made by.

    Attributes:
        turn_share: most of the budget that one turn may take; a longer one is clipped.
        turn_floor_tokens: what one turn may take however small its share is.
        context_tokens: what a line of context may take.
        repeat_similarity: least Jaccard index of word triples at which long texts are repeats.
        question_words: a hit of at most so many words brings the question it answers; 0 for never.
        answer_words: a hit that asks, of at most so many words, brings the answer it got; 0 for never.
        session_hits: hits of one session beyond these wait until the others have been tried; 0 for no limit.
        neighbours: whether the turns beside the hits fill what is left of the budget.
        note_share: most of the budget that all notes with their heading may take; what they do not take goes to the
            turns, and they always leave `MIN_BUDGET_TOKENS`. 0 for no notes.
        note_tokens: what one note may take; a longer one is clipped.
    """

    turn_share: float = 0.25
    turn_floor_tokens: int = 128
    context_tokens: int = 64
    repeat_similarity: float = 0.9
    question_words: int = 8
    answer_words: int = 30
    session_hits: int = 0
    neighbours: bool = False
    note_share: float = 0.25
    note_tokens: int = 160

    def __post_init__(self) -> None:
        for name in ("turn_share", "repeat_similarity"):
            if not 0 < getattr(self, name) <= 1:
                raise InvalidInput(
                    f"{name} must be above 0 and at most 1, not {getattr(self, name)}."
                )
        if not 0 <= self.note_share <= 1:
            raise InvalidInput(f"note_share must be between 0 and 1, not {self.note_share}.")
        for name in ("turn_floor_tokens", "context_tokens", "note_tokens"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} must be at least 1, not {getattr(self, name)}.")
        for name in ("question_words", "answer_words", "session_hits"):
            if getattr(self, name) < 0:
                raise InvalidInput(f"{name} must not be negative, but is {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Evidence that fits.

    Attributes:
        items: in rendered order; the n-th carries the number n.
        text: as a model should see it; empty without items and notes.
        n_tokens: of `text`, by the counter.
        cut: hits that are neither items nor notes: turns, then records, each best first.
        notes: derived texts after the turns.
    """

    items: tuple[PackItem, ...]
    text: str
    n_tokens: int
    cut: tuple[Cut, ...]
    notes: tuple[Note, ...] = ()


def pack(
    hits: Sequence[Hit],
    neighbours: Neighbours,
    *,
    records: Sequence[RecordHit] = (),
    budget_tokens: int,
    counter: TokenCounter,
    params: PackParams | None = None,
    terms: Collection[str] = (),
) -> Packed:
    """The best hits that fit the budget, with the question beside a short answer, and the best records as notes.

    Hits are tried best first. One that does not fit is passed over for later, smaller ones; while nothing has
    fitted yet, it is clipped instead, so a pack is empty only if no line of any hit fits at all. Records become notes
    in the same way within a share of the budget; they stand after the turns and never in their place.

    Args:
        hits: any order, ranked by `Hit.rank` (ties by turn id).
        neighbours: of the turns.
        records: any order, ranked by `RecordHit.rank` (ties by record id).
        budget_tokens: most tokens of the rendered text, by the counter; at least `MIN_BUDGET_TOKENS`.
        counter: counts tokens.
        params: see there.
        terms: query words or their stems, lower case: a clipped turn keeps the sentences that hold them.

    Returns:
        the pack; every hit is an item, a note or in `cut`.

    Raises:
        InvalidInput: the budget is below `MIN_BUDGET_TOKENS`.

    Source:
        Own work: greedy filling by rank; defaults measured on LoCoMo's tuning half and confirmed on the other.
    """
    if budget_tokens < MIN_BUDGET_TOKENS:
        raise InvalidInput(
            f"budget_tokens is {budget_tokens}; a pack needs at least {MIN_BUDGET_TOKENS}."
        )
    chosen = _Selection(
        draft=Draft(budget_tokens, counter, len(hits)),
        neighbours=neighbours,
        params=params or PackParams(),
        terms=tuple(terms),
    )
    chosen.note(records)
    ordered = sorted(hits, key=_by_rank)
    for hit in _spread(ordered, chosen.params.session_hits):
        chosen.take(hit)
    if chosen.params.neighbours:
        chosen.fill()
    return chosen.packed()


def _by_rank(hit: Hit | RecordHit) -> tuple[int, str]:
    return hit.rank, hit.id


def _turns_first(cut: Cut) -> tuple[bool, int, str]:
    return isinstance(cut.hit, RecordHit), *_by_rank(cut.hit)


def _spread(hits: Sequence[Hit], session_hits: int) -> Iterator[Hit]:
    """The hits with those beyond `session_hits` of their session moved to the end, each part in order."""
    waiting: list[Hit] = []
    n_of: dict[str, int] = {}
    for hit in hits:
        n_of[hit.turn.session] = n_of.get(hit.turn.session, 0) + 1
        if session_hits and n_of[hit.turn.session] > session_hits:
            waiting.append(hit)
        else:
            yield hit
    yield from waiting


def _fewest_tokens(turn: Turn) -> int:
    """A line of the turn has no fewer tokens: no token reaches across a space, and four stand around the text."""
    return turn.text.count(" ") + 5


class _Selection:
    """Takes hits one by one into a draft."""

    def __init__(
        self, *, draft: Draft, neighbours: Neighbours, params: PackParams, terms: Collection[str]
    ) -> None:
        self.draft = draft
        self.params = params
        self._neighbours = neighbours
        self._terms = terms
        self._prints = Prints(params.repeat_similarity)
        self._cut: list[Cut] = []
        budget = draft.budget_tokens
        self._notes = NoteDraft(
            room_tokens=min(int(params.note_share * budget), budget - MIN_BUDGET_TOKENS),
            most_tokens=params.note_tokens,
            widest_cite=draft.widest_cite,
            counter=draft.counter,
            terms=terms,
        )

    def note(self, records: Sequence[RecordHit]) -> None:
        """Choose the notes, and keep their room."""
        for hit in sorted(records, key=_by_rank):
            self._notes.take(hit)
        self.draft.reserve(self._notes.n_tokens)

    def take(self, hit: Hit) -> None:
        """Add the hit with what it brings, or record why not."""
        present = self.draft.lines.get(hit.turn.id)
        if present is not None:
            self._promote(present, hit)
            return
        if self.draft.lines and _fewest_tokens(hit.turn) > self.draft.room < self._most:
            self._cut.append(Cut(hit=hit, reason="budget"))
            return
        mark = print_of(hit.turn)
        twin = self._prints.twin(mark)
        if twin is not None:
            self.draft.add_repeat(self.draft.lines[twin], hit.turn)
            self._cut.append(Cut(hit=hit, reason="repeat"))
            return
        line = self._line_of(hit)
        if line is None:
            self._cut.append(Cut(hit=hit, reason="budget"))
            return
        self._prints.add(mark, hit.turn.id)
        self._companions(hit)

    def fill(self) -> None:
        """Add the turns beside the hits, best hit first, previous turn first, while they fit."""
        for hit in [line.hit for line in self.draft.lines.values() if line.part is Part.HIT]:
            for turn in (self._neighbours.previous(hit.turn), self._neighbours.next(hit.turn)):
                if turn is not None:
                    self._add_context(turn, hit)

    def packed(self) -> Packed:
        """The result; notes, then lines are dropped, last first, should the whole count more than its lines."""
        notes = self._noted()
        text = self.draft.text(notes)
        n_tokens = self.draft.counter.count(text)
        while text and n_tokens > self.draft.budget_tokens:
            self._drop_last()
            notes = self._noted()
            text = self.draft.text(notes)
            n_tokens = self.draft.counter.count(text)
        cut = sorted([*self._cut, *self._notes.cut], key=_turns_first)
        return Packed(
            items=self.draft.items(),
            text=text,
            n_tokens=n_tokens,
            cut=tuple(cut),
            notes=notes,
        )

    def _noted(self) -> tuple[Note, ...]:
        return self._notes.notes(self.draft.cites()) if len(self._notes) else ()

    def _drop_last(self) -> None:
        if len(self._notes):
            self._notes.drop_last()
            return
        line = self.draft.drop_last()
        if line.part is Part.HIT:
            self._cut.append(Cut(hit=line.hit, reason="budget"))

    def _promote(self, line: Line, hit: Hit) -> None:
        if line.part is Part.HIT:
            self._cut.append(Cut(hit=hit, reason="repeat"))
            return
        line.part = Part.HIT
        line.hit = hit

    @property
    def _most(self) -> int:
        """Tokens that one turn may take; a longer one is clipped."""
        share = int(self.params.turn_share * self.draft.budget_tokens)
        return max(share, self.params.turn_floor_tokens)

    def _line_of(self, hit: Hit) -> Line | None:
        """The hit's line, added; while nothing has fitted yet, clipped to whatever room there is."""
        draft, most = self.draft, self._most
        if draft.lines and min(len(hit.turn.text), most * CHARS_PER_TOKEN) > (
            draft.room * CHARS_PER_TOKEN
        ):
            return None
        line = self._fitted(hit, hit.turn, Part.HIT, most)
        if line is not None and draft.add(line):
            return line
        if draft.lines:
            return None
        line = self._fitted(hit, hit.turn, Part.HIT, draft.room - draft.heading_tokens(hit.turn))
        return line if line is not None and draft.add(line) else None

    def _fitted(self, hit: Hit, turn: Turn, part: Part, most: int) -> Line | None:
        """The turn as a line of at most so many tokens, clipped if need be; None if nothing of it fits."""
        text = turn.spoken
        if len(text) <= most * CHARS_PER_TOKEN:
            n_tokens = self.draft.line_tokens(turn, text)
            if n_tokens <= most:
                return Line(turn=turn, part=part, hit=hit, text=text, n_tokens=n_tokens)
        text = clip(
            text, lambda part: self.draft.line_tokens(turn, part) <= most, most, self._terms
        )
        if not text:
            return None
        n_tokens = self.draft.line_tokens(turn, text)
        return Line(turn=turn, part=part, hit=hit, text=text, clipped=True, n_tokens=n_tokens)

    def _companions(self, hit: Hit) -> None:
        """Add the question before a short answer, and the answer after a question."""
        n_words = len(hit.turn.text.split(maxsplit=100))
        if asks(hit.turn.text):
            if n_words <= self.params.answer_words:
                self._add_other_speaker(self._neighbours.next(hit.turn), hit)
        elif n_words <= self.params.question_words:
            question = self._neighbours.previous(hit.turn)
            if question is not None and asks(question.text):
                self._add_other_speaker(question, hit)

    def _add_other_speaker(self, turn: Turn | None, hit: Hit) -> None:
        if turn is not None and turn.speaker != hit.turn.speaker:
            self._add_context(turn, hit)

    def _add_context(self, turn: Turn, hit: Hit) -> None:
        if turn.id in self.draft.lines:
            return
        line = self._fitted(hit, turn, Part.CONTEXT, self.params.context_tokens)
        if line is not None and self.draft.add(line):
            self._prints.add(print_of(turn), turn.id)

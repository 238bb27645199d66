"""Notes in the making: derived texts that stand after the turns of a pack, within a share of its budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from combray.model import Cut, Note, RecordHit
from combray.pack.budget import TokenCounter
from combray.pack.clip import CHARS_PER_TOKEN, clip
from combray.pack.render import MAX_CITES, NOTES, note_line, shown

_LEAST_CLIPPED_TOKENS = 32
"""A note is not clipped to fewer: a stub says less than the turns that could stand there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteLine:
    """One note in the making.

    Attributes:
        hit: the record it is.
        text: what is shown of it.
        key: what another note must not say again.
        n_tokens: of the line with its newline, whatever lines it will name.
    """

    hit: RecordHit
    text: str
    key: str
    n_tokens: int


class NoteDraft:
    """Takes records one by one, best first.

    They are chosen before the turns, and what they leave of their share goes to the turns; which lines they come from
    is known only after. So each is counted with as many and as wide numbers as it may name.
    """

    def __init__(
        self,
        *,
        room_tokens: int,
        most_tokens: int,
        widest_cite: int,
        counter: TokenCounter,
        terms: Collection[str],
    ) -> None:
        """Start without notes.

        Args:
            room_tokens: most tokens of all notes with their heading.
            most_tokens: most tokens of one note.
            widest_cite: no line of the pack has a number with more digits.
            counter: counts tokens.
            terms: query words or their stems, lower case.
        """
        self.cut: list[Cut] = []
        self._lines: list[NoteLine] = []
        self._room = room_tokens
        self._most = most_tokens
        self._widest_cite = widest_cite
        self._counter = counter
        self._terms = terms

    def __len__(self) -> int:
        """The number of notes."""
        return len(self._lines)

    @property
    def n_tokens(self) -> int:
        """Of the notes with their heading; 0 without notes."""
        if not self._lines:
            return 0
        return self._heading + sum(line.n_tokens for line in self._lines)

    def take(self, hit: RecordHit) -> None:
        """Add the record as a note, or record why not."""
        key = " ".join(shown(hit.record.text).casefold().split())
        if not key:
            self.cut.append(Cut(hit=hit, reason="empty"))
        elif any(line.key == key for line in self._lines):
            self.cut.append(Cut(hit=hit, reason="repeat"))
        else:
            line = self._fitted(hit, key)
            if line is None:
                self.cut.append(Cut(hit=hit, reason="budget"))
            else:
                self._lines.append(line)

    def drop_last(self) -> None:
        """Take out the last note for want of room."""
        self.cut.append(Cut(hit=self._lines.pop().hit, reason="budget"))

    def notes(self, cites: Mapping[str, int]) -> tuple[Note, ...]:
        """The notes as values, numbered as rendered.

        Args:
            cites: number of each line of the pack, by the id of its turn.
        """
        return tuple(
            Note(
                cite=f"n{number}",
                record=line.hit.record,
                text=line.text,
                clipped=line.text != line.hit.record.text,
                cites=tuple(
                    sorted({cites[id_] for id_ in line.hit.record.sources if id_ in cites})
                ),
            )
            for number, line in enumerate(self._lines, start=1)
        )

    @property
    def _heading(self) -> int:
        return self._counter.count(NOTES + "\n")

    def _fitted(self, hit: RecordHit, key: str) -> NoteLine | None:
        """The record as a note, clipped if it is too long for any; the first one also to what room there is."""
        room = self._room - (self.n_tokens or self._heading)
        most = self._most if self._lines else min(self._most, room)
        text = hit.record.text
        if len(text) <= most * CHARS_PER_TOKEN:
            n_tokens = self._line_tokens(hit, text)
            if n_tokens <= most:
                return self._within(room, hit, text, key, n_tokens)
        if most < _LEAST_CLIPPED_TOKENS:
            return None
        text = clip(text, lambda part: self._line_tokens(hit, part) <= most, most, self._terms)
        if not shown(text):
            return None
        return self._within(room, hit, text, key, self._line_tokens(hit, text))

    def _within(
        self, room: int, hit: RecordHit, text: str, key: str, n_tokens: int
    ) -> NoteLine | None:
        return (
            NoteLine(hit=hit, text=text, key=key, n_tokens=n_tokens) if n_tokens <= room else None
        )

    def _line_tokens(self, hit: RecordHit, text: str) -> int:
        cite = f"n{10 ** len(str(len(self._lines) + 1)) - 1}"
        # One more than are named costs the ellipsis too.
        widest = [self._widest_cite] * min(len(hit.record.sources), MAX_CITES + 1)
        return max(
            self._counter.count(note_line(cite, text, cites) + "\n") for cites in (widest, ())
        )

"""What a method has noted about its records as arrays, in step with its `RecordView`.

Details are read once: what was read stays in buffers in order of record number, and a view picks the rows of the records that are
there. Which names are one person depends on all names of the bank, so that is worked out anew when a name comes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from combray.index.records import KINDS, Grown, MethodViews, RecordView
from combray.index.view import Buffer, rows_of
from combray.index.vocabulary import Persons, Words
from combray.model import RecordKind, span_of
from combray.model.time import from_stored, to_micros
from combray.store.base import Store
from combray.store.derived import RecordDetails

if TYPE_CHECKING:
    from scipy.sparse import csr_array

UNDATED_START, UNDATED_END = np.iinfo(np.int64).max, np.iinfo(np.int64).min
"""Where a record tells of no time: it ends before it starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactView:
    """The records of one method in a bank with what is noted of them; row for row those of `records`.

    Attributes:
        records: numbers, kinds, vectors, and whether they hold.
        keywords: ones, shape (n, V); rows are sets.
        by_keyword: the same turned round, shape (V, n).
        words: the keywords; those with a column beyond V came later.
        people: ones, shape (n, P); column by person, whatever name a record has for them.
        by_person: the same turned round.
        persons: their names.
        about_start: when what it tells was so, in microseconds since 1970 by the calendar, in no zone, shape (n,); of a profile statement
            the day from which it holds; `UNDATED_START` where that is not known.
        about_end: likewise, excluded.
        timeline: which versions of a profile statement belong together, -1 for what is no version, shape (n,).
        doc: document that a record comes from, the first one, 0 for none, shape (n,).
        doc_order: rows in order of document, then of row, shape (n,).
        members: ones, shape (n, n): which records were read to make that of the row.
        member_of: the same turned round.
    """

    records: RecordView
    keywords: csr_array
    by_keyword: csr_array
    words: Words
    people: csr_array
    by_person: csr_array
    persons: Persons
    about_start: NDArray[np.int64]
    about_end: NDArray[np.int64]
    timeline: NDArray[np.int64]
    doc: NDArray[np.int64]
    doc_order: NDArray[np.int64]
    members: csr_array
    member_of: csr_array

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.records.n

    @property
    def is_fact(self) -> NDArray[np.bool_]:
        """Whether the record is a fact, shape (n,)."""
        found: NDArray[np.bool_] = self.records.kind == KINDS.index(RecordKind.FACT)
        return found

    def columns_of(self, keywords: Iterable[str]) -> NDArray[np.int64]:
        """Columns of those of the keywords that the records have, ascending."""
        found = [self.words.columns.get(keyword, self.keywords.shape[1]) for keyword in keywords]
        return np.array(sorted({c for c in found if c < self.keywords.shape[1]}), dtype=np.int64)

    def people_of(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Columns of the people that the names may mean, ascending."""
        found: set[int] = set()
        for name in names:
            found.update(self.persons.meant_by(name))
        return np.array(sorted(found), dtype=np.int64)

    def with_people(self, columns: NDArray[np.int64] | NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether the record names any of these people, shape (n,)."""
        found = np.zeros(self.n, dtype=np.bool_)
        for column in columns.tolist():
            found[row_of(self.by_person, column)] = True
        return found

    @property
    def n_bytes(self) -> int:
        """Memory held beside the records' own, in bytes."""
        matrices = (
            *(self.keywords, self.by_keyword, self.people, self.by_person),
            *(self.members, self.member_of),
        )
        held: list[NDArray[Any]] = [self.about_start, self.about_end, self.timeline]
        held += [self.doc, self.doc_order]
        held += [part for one in matrices for part in (one.indptr, one.indices, one.data)]
        return sum(array.nbytes for array in held)


def row_of(matrix: csr_array, row: int) -> NDArray[np.int32]:
    """Columns that the row has; without the cost of slicing a matrix."""
    columns: NDArray[np.int32] = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
    return columns


class _Ragged:
    """Rows of integers of any length, appended."""

    def __init__(self) -> None:
        self._ends = Buffer(np.int64)
        self._values = Buffer(np.int64)
        self._ends.append(np.zeros(1, dtype=np.int64))

    def append(self, lengths: list[int], values: list[int]) -> None:
        ends = self._ends.rows[-1] + np.cumsum(np.array(lengths, dtype=np.int64))
        self._ends.append(ends)
        self._values.append(np.array(values, dtype=np.int64))

    def taken(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Index pointers and values of these rows; a row of -1 is empty."""
        ends, there = self._ends.rows, rows >= 0
        at = np.where(there, rows, 0)
        starts = ends[at] if len(ends) > 1 else np.zeros(len(at), dtype=np.int64)
        lengths = np.where(there, ends[np.minimum(at + 1, len(ends) - 1)] - starts, 0)
        pointers = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=pointers[1:])
        within = np.arange(pointers[-1]) - np.repeat(pointers[:-1], lengths)
        return pointers, self._values.rows[np.repeat(starts, lengths) + within]


class _Grower:
    """All details that were read in an epoch."""

    def __init__(self) -> None:
        self._number = Buffer(np.int64)
        self._doc = Buffer(np.int64)
        self._about = Buffer(np.int64, 2)
        self._timeline = Buffer(np.int64)
        self._timelines: dict[str, int] = {}
        self._keywords, self._names = _Ragged(), _Ragged()
        self._member = Buffer(np.int64, 2)
        self._words = Words()
        self._name_at: dict[str, int] = {}
        self._persons: tuple[tuple[str, ...], Persons] = ((), Persons.of(()))
        self.speakers: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        numbers = self._number.rows
        return int(numbers[-1]) if len(numbers) else 0

    def extend(self, new: RecordDetails) -> None:
        details = json.loads(f"[{','.join(new.detail)}]")
        keywords = [
            sorted({self._words.add(word) for word in _texts(detail.get("keywords"))})
            for detail in details
        ]
        at = self._name_at
        names = [
            sorted({at.setdefault(name, len(at)) for name in _texts(detail.get("people"))})
            for detail in details
        ]
        self._keywords.append(list(map(len, keywords)), [c for row in keywords for c in row])
        self._names.append(list(map(len, names)), [c for row in names for c in row])
        about = [_about(detail) for detail in details]
        self._about.append(np.array(about, dtype=np.int64).reshape(-1, 2))
        self._timeline.append(
            np.array([self._timeline_of(detail) for detail in details], dtype=np.int64)
        )
        self._number.append(new.number)
        self._doc.append(new.doc)
        self._member.append(new.member.reshape(-1, 2))

    def view(self, records: RecordView, speakers: tuple[str, ...]) -> FactView:
        self.speakers = speakers
        rows = rows_of(self._number.rows, records.number)
        n = records.n
        keywords = _ones(*self._keywords.taken(rows), (n, len(self._words.columns)))
        persons = self._people(speakers)
        known_people = self._people_of(rows, persons)
        doc = _taken(self._doc.rows, rows, 0)
        members = self._members(records)
        return FactView(
            records=records,
            keywords=keywords,
            by_keyword=keywords.T.tocsr(),
            words=self._words,
            people=known_people,
            by_person=known_people.T.tocsr(),
            persons=persons,
            about_start=_taken(self._about.rows[:, 0], rows, UNDATED_START),
            about_end=_taken(self._about.rows[:, 1], rows, UNDATED_END),
            timeline=_taken(self._timeline.rows, rows, -1),
            doc=doc,
            doc_order=np.argsort(doc, kind="stable"),
            members=members,
            member_of=members.T.tocsr(),
        )

    def _timeline_of(self, detail: Mapping[str, Any]) -> int:
        name = detail.get("timeline")
        if not isinstance(name, str):
            return -1
        return self._timelines.setdefault(name, len(self._timelines))

    def _people(self, speakers: tuple[str, ...]) -> Persons:
        names = (*speakers, *self._name_at)
        if self._persons[0] != names:
            self._persons = (names, Persons.of(names))
        return self._persons[1]

    def _people_of(self, rows: NDArray[np.int64], persons: Persons) -> csr_array:
        pointers, names = self._names.taken(rows)
        person = np.array([persons.numbers[name] for name in self._name_at], dtype=np.int64)
        found = _ones(pointers, person[names] if len(person) else names, (len(rows), persons.n))
        # Two names of one person in a record are one.
        found.sum_duplicates()
        found.data[:] = 1
        return found

    def _members(self, records: RecordView) -> csr_array:
        from scipy.sparse import csr_array

        pairs = self._member.rows
        made, read = records.rows(pairs[:, 0]), records.rows(pairs[:, 1])
        there = (made >= 0) & (read >= 0)
        ones = np.ones(int(there.sum()), dtype=np.float32)
        found = csr_array((ones, (made[there], read[there])), shape=(records.n, records.n))
        found.data[:] = 1
        return found


def _taken(values: NDArray[np.int64], rows: NDArray[np.int64], none: int) -> NDArray[np.int64]:
    """The values at these rows, `none` for a row of -1."""
    taken = np.full(len(rows), none, dtype=np.int64)
    there = rows >= 0
    taken[there] = values[rows[there]]
    return taken


def _ones(
    pointers: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]
) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(columns), dtype=np.float32), columns, pointers), shape=shape)


def _texts(value: object) -> list[str]:
    """As `FactNotes` has them, without making one for each record of the bank."""
    if not isinstance(value, list):
        return []
    return [text for one in value if isinstance(one, str) and (text := one.strip())]


def _about(detail: Mapping[str, Any]) -> tuple[int, int]:
    """Start and end of what the record tells of: a fact's time, a statement's first day, an event's stretch; what cannot be read counts as undated."""
    date = detail.get("about") or detail.get("valid_from")
    if isinstance(date, str):
        return _stretch(date.strip())
    start, end = detail.get("from"), detail.get("to")
    if isinstance(start, str) and isinstance(end, str):
        try:
            return to_micros(from_stored(start)), to_micros(from_stored(end))
        except (TypeError, ValueError):
            pass
    return UNDATED_START, UNDATED_END


@lru_cache(maxsize=1 << 14)
def _stretch(date: str) -> tuple[int, int]:
    span = span_of(date)
    if span is None:
        return UNDATED_START, UNDATED_END
    return to_micros(span.start), to_micros(span.end)


class Views(Protocol):
    """Where record views come from."""

    def view(self, bank: str, method: str) -> RecordView:
        """The method's records in the bank as they are now."""


_Grown = Grown[_Grower, FactView]


class FactCache(MethodViews[_Grower, FactView]):
    """The most recently used fact views of a store's banks.

    Args:
        store: where the details are.
        records: where the record views come from.
        speakers: the names of those who speak in a bank.
        max_bytes: bound on the memory of all views; the view in use is always kept.
    """

    def __init__(
        self,
        store: Store,
        records: Views,
        speakers: Callable[[str], tuple[str, ...]],
        max_bytes: int,
    ) -> None:
        self._store = store
        self._records = records
        self._speakers = speakers
        super().__init__(self._refreshed, max_bytes)

    def _refreshed(self, key: tuple[str, str], old: _Grown | None) -> _Grown:
        records, speakers = self._records.view(*key), self._speakers(key[0])
        if old is not None and old.view.records is records and old.grower.speakers == speakers:
            return old
        same = old is not None and old.view.records.state.epoch == records.state.epoch
        grower = old.grower if old is not None and same else _Grower()
        grower.extend(self._store.record_details(*key, after=grower.last))
        return Grown(grower, grower.view(records, speakers))

"""What holds of a person, or held on a day, read from the profile records of a bank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo

from combray import registry
from combray.errors import NotFound
from combray.index.facts import FactView
from combray.index.records import KINDS
from combray.memory.parts import Parts
from combray.memory.persons import fullness, names_of
from combray.methods.atom.timeline import Interval, Version, normalised
from combray.model import (
    DerivedRecord,
    Profile,
    ProfileEntry,
    RecordKind,
    Status,
    Turn,
    span_of,
)
from combray.model.time import aware, zone

_PROFILES = "atom"
"""The method that is named to somebody whose bank has no profiles."""


def profile(parts: Parts, bank: str, subject: str, at: datetime | date | str | None) -> Profile:
    """What holds of the person; see `BankMemory.profile`."""
    where = zone(parts.store.bank(bank).zone)
    day = None if at is None else _day(at, where)
    views = _views(parts, bank)
    if not views:
        raise NotFound("profile", subject, _why_none(parts, bank))
    names = names_of(views.values(), subject)
    known = _known(parts, bank, _records(parts, bank, views, names))
    entries = [
        entry
        for timeline in known.timelines().values()
        if (entry := known.entry(timeline, day)) is not None
    ]
    return Profile(
        subject=max(names, key=fullness),
        at=day,
        entries=tuple(sorted(entries, key=_since)),
    )


def _since(entry: ProfileEntry) -> tuple[date, str, str]:
    """Orders entries by time; an undated one by its earliest turn."""
    return entry.valid_from or entry.turns[0].said_at.date(), entry.text, entry.id


def _day(at: datetime | date | str, where: tzinfo) -> date:
    """The day in that zone; of a partial date its first one."""
    span = span_of(at.strip()) if isinstance(at, str) else None
    return span.start.date() if span else aware(at, where).astimezone(where).date()


def _views(parts: Parts, bank: str) -> dict[str, FactView]:
    """The records of each method that has profile statements."""
    methods = dict.fromkeys([*parts.store.bank(bank).methods, *registry.DERIVING])
    having = [name for name in methods if parts.records.view(bank, name).all_of_kind(RecordKind.PROFILE).size]  # fmt: skip
    views = {name: parts.facts.view(bank, name) for name in having}
    return {name: view for name, view in views.items() if (view.timeline >= 0).any()}


def _why_none(parts: Parts, bank: str) -> str:
    if _PROFILES not in parts.store.bank(bank).methods:
        return (
            f"Bank {bank!r} has no profiles, because no method derives them: `combray enrich {bank} "
            f"--method {_PROFILES}` and then `combray work` make them, with a language model."
        )
    n = len([job for job in parts.store.jobs(bank) if job.method == _PROFILES])
    if not n:
        return (
            f"Bank {bank!r} has no profiles: nothing that was said lasts, as {_PROFILES} reads it."
        )
    left = (
        "1 job is left: `combray work` does it"
        if n == 1
        else f"{n} jobs are left: `combray work` does them"
    )
    return f"Bank {bank!r} has no profiles yet, {left}."


def _records(
    parts: Parts, bank: str, views: Mapping[str, FactView], names: Sequence[str]
) -> list[DerivedRecord]:
    """The person's profile records: versions and candidates, closed ones too."""
    numbers: list[int] = []
    for view in views.values():
        own = view.people_of(name for name in names if name in view.persons.numbers)
        is_profile = view.records.kind == KINDS.index(RecordKind.PROFILE)
        numbers += view.records.number[is_profile & view.with_people(own)].tolist()
    return list(parts.store.records(bank, numbers).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is known of a person.

    Attributes:
        records: versions of statements by id.
        merged: by id of a version, the records of which it has the evidence, itself first.
        facts: of each of those, by its id.
        turns: that may be shown, by id.
        where: the bank's zone.
        today: there.
    """

    records: Mapping[str, DerivedRecord]
    merged: Mapping[str, Sequence[DerivedRecord]]
    facts: Mapping[str, Sequence[DerivedRecord]]
    turns: Mapping[str, Turn]
    where: tzinfo
    today: date

    def timelines(self) -> dict[tuple[str, str], list[Version]]:
        """The versions that may be shown, by method and statement."""
        found: dict[tuple[str, str], list[Version]] = defaultdict(list)
        for record in self.records.values():
            if _seen(record, self.turns):
                place = record.method, str(record.detail["timeline"])
                found[place].append(self._version(record))
        return found

    def entry(self, versions: Sequence[Version], day: date | None) -> ProfileEntry | None:
        """The version that holds on the day (that is current, where none is given) with those before it; None where none does."""
        intervals = normalised(versions)
        for at, one in enumerate(intervals):
            current = at == len(intervals) - 1 and (one.end is None or one.end > self.today)
            if current if day is None else one.contains(day):
                earlier = tuple(self._told(before) for before in intervals[:at])
                return replace(self._told(one), earlier=earlier)
        return None

    def _version(self, record: DerivedRecord) -> Version:
        said = [self.turns[id_].said_at.astimezone(self.where).date() for id_ in record.sources]
        since = record.detail.get("valid_from")
        return Version(
            id=record.id,
            since=since.strip() if isinstance(since, str) else "",
            until=None if record.valid_to is None else record.valid_to.astimezone(UTC).date(),
            first_said=min(said, default=None),
            last_said=max(said, default=None),
            evidence=(record.id,),
        )

    def _told(self, interval: Interval) -> ProfileEntry:
        record = self.records[interval.version.id]
        behind = [one for id_ in interval.version.evidence for one in self.merged[id_]]
        facts = {fact.id: fact for one in behind for fact in self.facts[one.id]}
        turns = {id_: self.turns[id_] for one in behind for id_ in one.sources if id_ in self.turns}
        keywords = record.detail.get("keywords")
        return ProfileEntry(
            id=record.id,
            method=record.method,
            text=record.text,
            keywords=tuple(map(str, keywords)) if isinstance(keywords, list) else (),
            valid_from=interval.start,
            valid_to=interval.end,
            facts=tuple(sorted(facts.values(), key=self._order)),
            turns=tuple(sorted(turns.values(), key=_said)),
        )

    def _order(self, fact: DerivedRecord) -> tuple[tuple[datetime, str, int], str]:
        return min(_said(self.turns[id_]) for id_ in fact.sources), fact.id


def _said(turn: Turn) -> tuple[datetime, str, int]:
    return turn.said_at, turn.session, turn.position


def _seen(record: DerivedRecord, turns: Mapping[str, Turn]) -> bool:
    """Whether every turn behind the record may be shown; what tells of a hidden one must not be."""
    return bool(record.sources) and all(id_ in turns for id_ in record.sources)


def _known(parts: Parts, bank: str, records: Sequence[DerivedRecord]) -> _Known:
    versions = {
        record.id: record
        for record in records
        if isinstance(record.detail.get("timeline"), str)
        and record.status in (Status.CURRENT, Status.SUPERSEDED)
    }
    merged = {id_: [version] for id_, version in versions.items()}
    for record in records:
        if record.status is Status.MERGED and record.superseded_by in merged:
            merged[record.superseded_by].append(record)
    ids = _fact_ids(records)
    found = parts.store.find_records(bank, list({id_ for one in ids.values() for id_ in one}))
    turns = _turns(parts, bank, [*records, *found.values()])
    where = zone(parts.store.bank(bank).zone)
    return _Known(
        records=versions,
        merged=merged,
        facts={
            record: [
                found[id_]
                for id_ in dict.fromkeys(own)
                if id_ in found and found[id_].kind is RecordKind.FACT and _seen(found[id_], turns)
            ]
            for record, own in ids.items()
        },
        turns=turns,
        where=where,
        today=parts.clock().astimezone(where).date(),
    )


def _fact_ids(records: Sequence[DerivedRecord]) -> dict[str, list[str]]:
    """By id of each record, the facts that it names, or else those that it and its candidates were made from."""
    by_id = {record.id: record for record in records}

    def of(record: DerivedRecord) -> list[str]:
        named = record.detail.get("facts")
        if isinstance(named, list):
            return [id_ for id_ in named if isinstance(id_, str)]
        found: list[str] = []
        for id_ in record.members:
            member = by_id.get(id_)
            if member is None:
                found.append(id_)
            elif member.detail.get("candidate"):
                found += of(member)
        return found

    return {record.id: of(record) for record in records}


def _turns(parts: Parts, bank: str, records: Iterable[DerivedRecord]) -> dict[str, Turn]:
    """The turns behind the records that are there and have not expired, by id."""
    docs = parts.store.docs(bank, list({id_ for record in records for id_ in record.sources}))
    now = parts.clock()
    return {
        turn.id: turn
        for turn in parts.store.turns_by_doc(bank, docs).values()
        if turn.expires_at is None or turn.expires_at > now
    }

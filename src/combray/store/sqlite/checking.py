"""Looking for damage, and for derived rows that do not fit their turns."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime

from combray.errors import ConfigError, NotOurFile
from combray.model.ids import content_key, turn_id_from_client
from combray.model.time import zone
from combray.store.base import Finding
from combray.store.rows import (
    LAST,
    SESSION_COLUMNS,
    SHIFT,
    TURN_COLUMNS,
    session_of,
    tags_of,
    terms_of,
    turn_of,
)
from combray.store.sqlite import checking_derived
from combray.store.sqlite.banks import BankKey, find, find_space
from combray.store.sqlite.deleting import editions
from combray.store.sqlite.writing import token_bytes

_COUNTERS = (
    "SELECT count(*) FROM bank WHERE number = :bank AND ("
    "n_turns <> (SELECT count(*) FROM turn WHERE bank = :bank) "
    "OR n_sessions <> (SELECT count(*) FROM session WHERE bank = :bank) "
    "OR n_terms <> (SELECT total(n_terms) FROM turn WHERE bank = :bank) "
    "OR last_turn < coalesce((SELECT max(doc) FROM turn WHERE bank = :bank), 0) & 4294967295)"
)
_SESSION_COUNTERS = (
    "SELECT count(*) FROM session LEFT JOIN (SELECT session, count(*) AS n, total(n_terms) AS terms, "
    "max(position) AS last FROM turn WHERE bank = :bank GROUP BY session) AS real "
    "ON real.session = session.number WHERE session.bank = :bank AND ("
    "session.n_turns IS NOT real.n OR session.n_terms <> real.terms OR next_position <= real.last)"
)
_UNREAD = (
    "SELECT count(*) FROM turn LEFT JOIN analysis ON analysis.bank = turn.bank "
    "AND analysis.edition = :edition AND analysis.doc = turn.doc "
    "WHERE turn.bank = :bank AND (analysis.doc IS NULL OR analysis.n_terms <> turn.n_terms "
    "OR analysis.question <> turn.question)"
)
_ORPHANS = (
    "SELECT count(*) FROM analysis WHERE bank = :bank AND NOT EXISTS "
    "(SELECT 1 FROM turn WHERE turn.doc = analysis.doc AND turn.bank = analysis.bank)"
)
_MISFITS = (
    "SELECT total(length(v) IS NOT :vector_bytes OR bits IS NULL OR length(bits) % :token_bytes <> 0), "
    "total(turn.doc IS NULL) FROM ("
    "SELECT id FROM vector WHERE id BETWEEN :first AND :last UNION "
    "SELECT id FROM vector_tokens WHERE id BETWEEN :first AND :last) AS embedded "
    "LEFT JOIN vector ON vector.id = embedded.id "
    "LEFT JOIN vector_tokens ON vector_tokens.id = embedded.id "
    "LEFT JOIN turn ON turn.doc = embedded.id + :to_doc"
)

_SESSIONS = f"SELECT {SESSION_COLUMNS} FROM session WHERE bank = ?"  # noqa: S608 (constants)
_TURNS = (
    f"SELECT {TURN_COLUMNS} FROM turn JOIN session ON session.number = turn.session "  # noqa: S608
    "WHERE turn.bank = ?"
)

_Check = Callable[[sqlite3.Connection, BankKey], Iterator[Finding]]


def check(connection: sqlite3.Connection, bank: str | None, now: datetime | None) -> list[Finding]:
    """Findings about one bank, or about the file and all its banks; one ``ok`` where there are none."""
    names = [bank] if bank is not None else _names(connection)
    findings = list(_file(connection)) if bank is None else []
    n_turns = 0
    for name in names:
        key = find(connection, name)
        n_turns += _count(connection, "SELECT n_turns FROM bank WHERE number = :bank", key)
        for step in _CHECKS:
            findings += [_named(name, finding) for finding in _taken(step, connection, key)]
        findings += [_named(name, found) for found in checking_derived.jobs(connection, key, now)]
    if not findings:
        what = f"no damage found in {len(names)} banks with {n_turns} turns."
        findings.append(Finding(severity="ok", what=what, n=n_turns))
    return findings


def _taken(step: _Check, connection: sqlite3.Connection, bank: BankKey) -> list[Finding]:
    try:
        return list(step(connection, bank))
    except NotOurFile as damage:
        return [_error(str(damage).removesuffix("."), 1, "put back a copy")]


def _file(connection: sqlite3.Connection) -> Iterator[Finding]:
    damage = [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
    if damage:
        yield _error(f"the file is damaged: {damage[0]}", len(damage), "put back a copy")
    loose = connection.execute("PRAGMA foreign_key_check").fetchall()
    if loose:
        yield _error(f"rows of {loose[0][0]} point at rows that do not exist", len(loose))
    (waiting,) = connection.execute("SELECT count(*) FROM erasure").fetchone()
    if waiting:
        yield _warning(
            "bytes of a deletion may still be in the file, since a reader held an older view",
            waiting,
            "close other readers and erase again",
        )


def _counters(connection: sqlite3.Connection, bank: BankKey) -> Iterator[Finding]:
    if _count(connection, _COUNTERS, bank):
        yield _error("the bank's counters are wrong", 1)
    if n := _count(connection, _SESSION_COUNTERS, bank):
        yield _error("counters of sessions are wrong", n)


def _settings(connection: sqlite3.Connection, bank: BankKey) -> Iterator[Finding]:
    (name,) = connection.execute(
        "SELECT zone FROM bank WHERE number = ?", (bank.number,)
    ).fetchone()
    try:
        zone(name)
    except ConfigError:
        yield _error(f"its zone {name!r} is not a time zone", 1, "put back a copy")
    made = connection.execute(
        "SELECT analyser FROM edition WHERE bank = ? AND number = ?", (bank.number, bank.edition)
    ).fetchone()
    if made != (bank.analyser,):
        by = repr(made[0]) if made else "none that is known"
        what = f"its analyser is {bank.analyser!r}, but the one that made its postings is {by}"
        # No more than advice: without the name, reindexing would ask for the analyser that may not exist.
        remedy = f"put back a copy, or combray reindex {bank.name} --analyser NAME"
        yield _error(what, 1, remedy)


def _analysis(connection: sqlite3.Connection, bank: BankKey) -> Iterator[Finding]:
    if n := _count(connection, _UNREAD, bank):
        yield _error("turns have no analysis, or one that does not fit them", n, _reindex(bank))
    if n := _count(connection, _ORPHANS, bank):
        yield _error("analyses are of turns that do not exist", n, _reindex(bank))
    for edition in editions(connection, bank):
        if n := _unlike_postings(connection, bank, edition):
            yield _error("turns have other postings than their analysis says", n, _reindex(bank))
        if edition != bank.edition:
            yield _warning("another analysis was begun and not finished", 1, _reindex(bank))


def _unlike_postings(connection: sqlite3.Connection, bank: BankKey, edition: int) -> int:
    # A sum of hashes does not depend on order, so that neither side needs to be in memory.
    sums: Counter[int] = Counter()
    key = (bank.number, edition)
    for doc, session, length, text in connection.execute(
        "SELECT analysis.doc, turn.session, analysis.n_terms, analysis.terms FROM analysis "
        "LEFT JOIN turn ON turn.doc = analysis.doc WHERE analysis.bank = ? AND analysis.edition = ?",
        key,
    ):
        for kind, counts in terms_of(text).items():
            for term, tf in counts.items():
                sums[doc] += hash((kind, term, session, tf, length))
    for doc, *row in connection.execute(
        "SELECT doc, kind, term, session, tf, len FROM posting WHERE bank = ? AND edition = ?", key
    ):
        sums[doc] -= hash(tuple(row))
    return sum(1 for total in sums.values() if total)


def _tags(connection: sqlite3.Connection, bank: BankKey) -> Iterator[Finding]:
    sums: Counter[int] = Counter()
    for doc, text in connection.execute(
        "SELECT doc, tags FROM turn WHERE bank = ? AND tags <> '[]'", (bank.number,)
    ):
        for tag in tags_of(text):
            sums[doc] += hash(tag)
    for doc, tag in connection.execute(
        "SELECT doc, tag FROM turn_tag WHERE bank = ?", (bank.number,)
    ):
        sums[doc] -= hash(tag)
    if n := sum(1 for total in sums.values() if total):
        yield _error("turns cannot be filtered by their tags", n)


def _vectors(connection: sqlite3.Connection, bank: BankKey) -> Iterator[Finding]:
    rows = connection.execute(
        "SELECT number, embedder, dimension FROM space WHERE bank = ?", (bank.number,)
    )
    for space, embedder, dimension in rows.fetchall():
        misfits, loose = connection.execute(
            _MISFITS,
            {
                "first": space << SHIFT,
                "last": space << SHIFT | LAST,
                "vector_bytes": 2 * dimension,
                "token_bytes": token_bytes(dimension),
                "to_doc": (bank.number - space) << SHIFT,
            },
        ).fetchone()
        if misfits:
            yield _error(
                "vectors have another size than their embedder's", int(misfits), _reindex(bank)
            )
        if loose:
            yield _error("vectors are of turns that do not exist", int(loose), _reindex(bank))
        if embedder != bank.embedder:
            yield _warning(f"vectors of {embedder} were begun and not finished", 1, _reindex(bank))


def _bare(connection: sqlite3.Connection, bank: BankKey) -> Iterator[Finding]:
    if bank.embedder is None:
        if bank.dimension:
            yield _error("the bank has a dimension and no embedder", 1, _reindex(bank))
        return
    space, dimension = find_space(connection, bank.number, bank.embedder) or (0, 0)
    if dimension != bank.dimension:
        yield _error("the bank's embedder has no vectors of its dimension", 1, _reindex(bank))
    (n,) = connection.execute(
        "SELECT count(*) FROM turn WHERE bank = ? "
        "AND NOT EXISTS (SELECT 1 FROM vector WHERE vector.id = turn.doc + ?)",
        (bank.number, (space - bank.number) << SHIFT),
    ).fetchone()
    if n:
        yield _warning("turns have no vectors yet", n, _reindex(bank))


def _unreadable(connection: sqlite3.Connection, bank: BankKey) -> Iterator[Finding]:
    for what, read, query in (
        ("sessions", session_of, _SESSIONS),
        ("turns", turn_of, _TURNS),
    ):
        n = 0
        for row in connection.execute(query, (bank.number,)):
            try:
                read(row)
            except NotOurFile:
                n += 1
        if n:
            yield _error(f"{what} cannot be read", n, "put back a copy")


def _contents(connection: sqlite3.Connection, bank: BankKey) -> Iterator[Finding]:
    n_contents = n_ids = 0
    for id_, content, client_id, session, speaker, role, text, caption in connection.execute(
        "SELECT turn.id, turn.content, turn.client_id, session.name, turn.speaker, turn.role, "
        "turn.text, turn.caption FROM turn JOIN session ON session.number = turn.session "
        "WHERE turn.bank = ?",
        (bank.number,),
    ):
        n_contents += content != content_key(speaker, role, text, caption)
        n_ids += client_id is not None and id_ != turn_id_from_client(session, client_id)
    if n_contents:
        yield _error("turns are not what was stored: their content hash differs", n_contents)
    if n_ids:
        yield _error("turns are not under the id that their client gave", n_ids)


_CHECKS: tuple[_Check, ...] = (
    _counters,
    _settings,
    _analysis,
    _tags,
    _vectors,
    _bare,
    _contents,
    _unreadable,
    checking_derived.units,
    checking_derived.vectors,
)


def _names(connection: sqlite3.Connection) -> list[str]:
    return [
        name for (name,) in connection.execute("SELECT name FROM bank ORDER BY name").fetchall()
    ]


def _count(connection: sqlite3.Connection, query: str, bank: BankKey) -> int:
    row = connection.execute(query, {"bank": bank.number, "edition": bank.edition}).fetchone()
    return int(row[0])


def _reindex(bank: BankKey) -> str:
    return f"combray reindex {bank.name}"


def _error(what: str, n: int, remedy: str = "") -> Finding:
    return Finding(severity="error", what=what, n=n, remedy=remedy)


def _warning(what: str, n: int, remedy: str) -> Finding:
    return Finding(severity="warning", what=what, n=n, remedy=remedy)


def _named(bank: str, finding: Finding) -> Finding:
    what = f"bank {bank!r}: {finding.what}."
    return Finding(severity=finding.severity, what=what, n=finding.n, remedy=finding.remedy)

"""Many rows as arrays.

SQLite joins a column into one text and numpy parses it: three times faster than a Python tuple a row.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from combray.store.base import Columns, Postings, Vectors
from combray.store.rows import LAST, SHIFT, decoding, terms_of
from combray.store.sqlite.banks import BankKey, find_space
from combray.store.sqlite.writing import token_bytes

NEVER = np.iinfo(np.int64).max
"""`expires_at` of a turn that never expires."""

_TIME_CHARS = 26


def integers(text: str | None) -> NDArray[np.int64]:
    """The numbers of a comma-separated text; none of None."""
    if not text:
        return np.empty(0, np.int64)
    return np.fromstring(text, np.int64, sep=",")


@decoding
def columns(connection: sqlite3.Connection, bank: BankKey, after: int) -> Columns:
    """The turns after a document as columns, in order of document."""
    first, last = max(bank.number << SHIFT, after + 1), (bank.number + 1 << SHIFT) - 1
    row = connection.execute(
        "SELECT group_concat(doc), group_concat(session), group_concat(position), "
        "group_concat(n_terms), group_concat(question), group_concat(substr(said_at, 1, 26), ''), "
        "group_concat(substr(coalesce(expires_at, '9999-12-31T23:59:59.999999'), 1, 26), ''), "
        "count(expires_at), group_concat(expires_at IS NOT NULL), "
        "json_group_array(speaker), json_group_array(role) "
        "FROM (SELECT * FROM turn WHERE doc BETWEEN ? AND ? ORDER BY doc)",
        (first, last),
    ).fetchone()
    doc = integers(row[0])
    session = integers(row[1])
    speaker, speakers = _indexed(json.loads(row[9]))
    role, roles = _indexed(json.loads(row[10]))
    names = _session_names(connection, np.unique(session))
    said_at = _micros(row[5])
    if len(said_at) != len(doc) or not names.keys() >= set(session.tolist()):
        raise ValueError("turns of no session, or said at no time")
    expires = np.full(len(doc), NEVER, np.int64)
    if row[7]:
        expires = np.where(integers(row[8]) == 1, _micros(row[6]), expires)
    return Columns(
        doc=doc,
        session=session,
        position=integers(row[2]),
        speaker=speaker,
        role=role,
        said_at=said_at,
        expires_at=expires,
        n_terms=integers(row[3]).astype(np.int32),
        question=integers(row[4]) == 1,
        speakers=speakers,
        roles=roles,
        sessions=names,
    )


@decoding
def postings(
    connection: sqlite3.Connection, bank: BankKey, kind: str, terms: Sequence[str]
) -> Postings:
    """The postings of the terms in the edition that counts, in order of term and document."""
    term, doc, tf = [], [], []
    for index, text in enumerate(terms):
        row = connection.execute(
            "SELECT group_concat(doc), group_concat(tf) FROM ("
            "SELECT doc, tf FROM posting WHERE bank = ? AND edition = ? AND kind = ? AND term = ? "
            "ORDER BY doc)",
            (bank.number, bank.edition, kind, text),
        ).fetchone()
        docs = integers(row[0])
        doc.append(docs)
        tf.append(integers(row[1]))
        term.append(np.full(len(docs), index, np.int32))
    return Postings(
        term=np.concatenate([np.empty(0, np.int32), *term]),
        doc=np.concatenate([np.empty(0, np.int64), *doc]),
        tf=np.concatenate([np.empty(0, np.int64), *tf]).astype(np.int32),
    )


@decoding
def terms(
    connection: sqlite3.Connection, bank: BankKey, kind: str, docs: Sequence[int]
) -> dict[int, dict[str, int]]:
    """Terms of each stored document with their counts; unknown documents are left out."""
    rows = connection.execute(
        "SELECT analysis.doc, analysis.terms FROM json_each(?) AS wanted CROSS JOIN analysis "
        "ON analysis.bank = ? AND analysis.edition = ? AND analysis.doc = wanted.value",
        (json.dumps([int(doc) for doc in docs]), bank.number, bank.edition),
    )
    return {doc: terms_of(text).get(kind, {}) for doc, text in rows}


@decoding
def vectors(connection: sqlite3.Connection, bank: BankKey, embedder: str, after: int) -> Vectors:
    """The vectors of an embedder, of documents after one; none where it is unknown in the bank."""
    space, dimension = find_space(connection, bank.number, embedder) or (0, 0)
    after_in_space = (space << SHIFT) + max(after - (bank.number << SHIFT), 0)
    bounds = (after_in_space, space << SHIFT | LAST)
    rows = connection.execute(
        "SELECT id, v FROM vector WHERE id > ? AND id <= ? ORDER BY id", bounds
    ).fetchall()
    tokens = connection.execute(
        "SELECT bits FROM vector_tokens WHERE id > ? AND id <= ? ORDER BY id", bounds
    ).fetchall()
    width = token_bytes(dimension)
    ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    flat = np.frombuffer(b"".join([row[1] for row in rows]), "<f2")
    packed = np.frombuffer(b"".join([bits for (bits,) in tokens]), np.uint8)
    ends = accumulate((len(bits) // width for (bits,) in tokens), initial=0)
    return Vectors(
        doc=(ids & LAST) | (bank.number << SHIFT),
        vectors=flat.reshape(len(rows), dimension),
        tokens=packed.reshape(-1, width) if width else packed.reshape(0, 0),
        offsets=np.fromiter(ends, np.int64, len(tokens) + 1),
    )


def _micros(text: str | None) -> NDArray[np.int64]:
    times = np.frombuffer((text or "").encode(), f"S{_TIME_CHARS}")
    return times.astype("datetime64[us]").astype(np.int64)


def _indexed(names: Sequence[str]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    distinct = sorted(set(names))
    index = {name: i for i, name in enumerate(distinct)}
    return np.fromiter(map(index.__getitem__, names), np.int32, len(names)), tuple(distinct)


def _session_names(connection: sqlite3.Connection, numbers: NDArray[np.int64]) -> dict[int, str]:
    rows = connection.execute(
        "SELECT session.number, session.name FROM json_each(?) AS wanted "
        "CROSS JOIN session ON session.number = wanted.value",
        (json.dumps(numbers.tolist()),),
    )
    return dict(rows.fetchall())

"""The LongMemEval pool: one bank that holds the evidence turns of all 500 questions.

It is made from the evidence turns alone, without the haystacks, so its numbers are those of a *pool* and never of
LongMemEval-S. Many of its sessions have no resolved name, and some evidence stands under two questions: a session is
named ``<question id>/<n>``, and a copy under another question counts as another turn. As the benchmark does, the
30 questions without an answer are left out of recall; what evidence they come with stays in the bank as a distractor.

Source:
    Wu et al. 2024, "LongMemEval"; gold turns by ``has_answer``, question dates of the oracle file.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from combray.eval.datasets.base import (
    BankData,
    Dataset,
    Question,
    TurnKey,
    file_sha256,
    halved,
    locate,
)
from combray.importers.base import (
    ImportedSession,
    Place,
    kind,
    mapping,
    optional_text,
    read_document,
    text_field,
)
from combray.model import Role, Session, TurnDraft

DATE_FORMAT = "%Y/%m/%d (%a) %H:%M"


def longmemeval_pool(path: Path | str | None = None) -> Dataset:
    """The pool, as one bank.

    Args:
        path: ``questions_500_evidence_turns.json``, or a data folder with it under ``longmemeval/``.

    Raises:
        NotFound: there is no such file.
        BadImport: it is not laid out as expected; names the place.
    """
    name = "questions_500_evidence_turns.json"
    file = locate(path, f"longmemeval/{name}", name)
    document = read_document(file)
    whole = Place(path=file)
    if not isinstance(document, list) or not document:
        whole.fail(f"expected a non-empty array of questions, not {kind(document)}.")
    sessions: list[ImportedSession] = []
    questions = []
    for number, value in enumerate(document, 1):
        place = whole.within(f"question {number}")
        item = mapping(value, place, "a question")
        own, gold = _evidence(item, place)
        sessions += own
        questions.append(_question(item, gold, place))
    bank = BankData(name="pool", sessions=tuple(sessions), questions=tuple(questions))
    return Dataset(
        name="longmemeval-pool",
        sha256=file_sha256(file),
        banks=(bank,),
        notes={"questions_without_answer": sum(not q.answerable for q in questions)},
    )


def moment(text: str, place: Place) -> datetime:
    """The naive time of a date such as ``2023/05/21 (Sun) 11:54``.

    Raises:
        BadImport: it is written in another way.
    """
    try:
        return datetime.strptime(text, DATE_FORMAT)  # noqa: DTZ007 — read in the bank's zone
    except ValueError:
        place.fail(f"the date {text!r} is not like '2023/05/21 (Sun) 11:54'.")


def _evidence(
    item: dict[str, Any], place: Place
) -> tuple[list[ImportedSession], frozenset[TurnKey]]:
    """The question's own sessions, and which of their turns have the answer."""
    question = text_field(item, "question_id", place)
    raw = item.get("evidence_sessions")
    if not isinstance(raw, list):
        place.fail(f"'evidence_sessions' must be an array, not {kind(raw)}.")
    sessions: list[ImportedSession] = []
    gold: set[TurnKey] = set()
    for number, value in enumerate(raw, 1):
        where = place.within(f"session {number}")
        name = f"{question}/{number}"
        record = mapping(value, where, "a session")
        drafts, has_answer = _turns(record, name, where)
        sessions.append(
            ImportedSession(session=Session(name=name, source="longmemeval"), turns=drafts)
        )
        gold |= has_answer
    return sessions, frozenset(gold)


def _turns(
    record: dict[str, Any], session: str, place: Place
) -> tuple[list[TurnDraft], set[TurnKey]]:
    said_at = moment(text_field(record, "date", place), place)
    turns = record.get("turns")
    if not isinstance(turns, list) or not turns:
        place.fail("'turns' must be a non-empty array.")
    drafts = []
    gold = set()
    for number, value in enumerate(turns, 1):
        where = place.within(f"turn {number}")
        turn = mapping(value, where, "a turn")
        role = text_field(turn, "role", where)
        if role not in {Role.USER, Role.ASSISTANT}:
            where.fail(f"the role {role!r} is neither user nor assistant.")
        drafts.append(
            TurnDraft(
                id=str(number),
                role=Role(role),
                text=text_field(turn, "content", where),
                said_at=said_at,
            )
        )
        if turn.get("has_answer") is True:
            gold.add((session, str(number)))
    return drafts, gold


def _question(item: dict[str, Any], gold: frozenset[TurnKey], place: Place) -> Question:
    if not isinstance(item.get("is_abstention"), bool):
        place.fail("'is_abstention' must be true or false.")
    answerable = not item["is_abstention"]
    if answerable and not gold:
        place.fail("a question with an answer has no evidence turn.")
    date = optional_text(item, "question_date_oracle", place)
    identifier = text_field(item, "question_id", place)
    return Question(
        id=identifier,
        text=text_field(item, "question", place),
        category=text_field(item, "question_type", place),
        gold_turns=gold,
        gold_sessions=frozenset(session for session, _ in gold),
        asked_at=moment(date, place) if date else None,
        split=halved(identifier),
        answerable=answerable,
    )

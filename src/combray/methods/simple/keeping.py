"""What a merged unit may not lose, and may not add."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from combray.methods.simple.guard import turned
from combray.methods.simple.times import absolute, without
from combray.text.base import Analyser
from combray.text.claims import clauses, names_in, numbers_in
from combray.text.lemmas import stem, stop_words
from combray.text.tokens import tokens


def changes(
    merged: str, texts: Sequence[str], names: Iterable[str], at: datetime, analyser: Analyser
) -> list[str]:
    """How the merged text differs from those it stands for in names, numbers, dates and negation: ``lost number 7``, ``added name Bob``.

    Args:
        merged: one text.
        texts: that it stands for; let through by the guard.
        names: that they are noted for.
        at: what a date without its year is read from.
        analyser: the bank's.

    Source:
        Own work: SimpleMem trusts what the model writes.
    """
    whole = "\n".join(texts)
    given = [*names_in(whole), *(name for name in names if name and name in whole)]
    found = [f"lost name {name}" for name in dict.fromkeys(given) if _lacks(name, merged)]
    found += [f"added name {name}" for name in names_in(merged) if _lacks(name, whole)]
    dates = [absolute(text, at, analyser) for text in texts]
    own = absolute(merged, at, analyser)
    held = {(first, last): text for one in dates for (first, last), text in one.items()}
    found += [f"lost date {text}" for days, text in held.items() if days not in own]
    found += [f"added date {text}" for days, text in own.items() if days not in held]
    bare = frozenset().union(
        *(numbers_in(without(text, one.values())) for text, one in zip(texts, dates, strict=True))
    )
    numbers = numbers_in(without(merged, own.values()))
    found += [f"lost number {number}" for number in sorted(bare - numbers)]
    found += [f"added number {number}" for number in sorted(numbers - bare)]
    return found + _negations(merged, texts)


def _lacks(name: str, text: str) -> bool:
    words = {stem(token) for token in tokens(text)}
    return any(
        stem(token) not in words and token not in stop_words() and not token.isdigit()
        for token in tokens(name)
    )


def _negations(merged: str, texts: Sequence[str]) -> list[str]:
    """A no that is nowhere in the merged text, one that none of the others has, and a yes made a no."""
    own = clauses(merged)
    theirs = [clause for text in texts for clause in clauses(text)]
    no, their_no = [c for c in own if c.negated], [c for c in theirs if c.negated]
    lost = any(
        not any(c.words & clause.words or not clause.words for c in no) for clause in their_no
    )
    added = bool(no) and not their_no
    flipped = any(turned(c.words, own) for c in theirs if not c.negated) or any(
        turned(c.words, theirs) for c in own if not c.negated
    )
    told = (("lost negation", lost), ("added negation", added), ("turned negation", flipped))
    return [reason for reason, so in told if so]

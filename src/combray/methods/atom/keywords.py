"""Keywords as facts have them: bare, in lower case, each once."""

from __future__ import annotations

from collections.abc import Iterable

from combray.text.tokens import tokens

_AROUND = (
    " \t\r\n\u3000\"'`´‘’‚‛“”„‟«»‹›()[]{}<>.,;:!?…·•*_~-–—|/\\"
    "「」『』【】〔〕〖〗〈〉《》（）［］｛｝、。，．；：！？・～"
)
"""What may stand around a keyword and is not part of it; # and + may be ("c#", "c++")."""


def normalised(
    keywords: Iterable[str], n: int, *, leave_out: Iterable[str] = ()
) -> tuple[str, ...]:
    """The first `n` different keywords, without what stands around them, in lower case.

    Args:
        keywords: as a model writes them.
        n: most of them.
        leave_out: names, which are people and no keywords, whole or in part.

    >>> normalised(["《Pottery》", '"pottery."', "Support  Group", "—", "C++"], 5)
    ('pottery', 'support group', 'c++')
    >>> normalised(["Ann Smith", "smith", "the Smiths"], 5, leave_out=["Ann Smith"])
    ('the smiths',)

    Source:
        AtomMem, released code: quotes, brackets and punctuation are stripped, also those of Chinese; the first five are kept.
    """
    names = [frozenset(tokens(name)) for name in leave_out]
    bare = (" ".join(word.split()).strip(_AROUND).lower() for word in keywords)
    kept = [word for word in dict.fromkeys(bare) if word and not _is_of_a_name(word, names)]
    return tuple(kept[:n])


def _is_of_a_name(word: str, names: Iterable[frozenset[str]]) -> bool:
    words = frozenset(tokens(word))
    return bool(words) and any(words <= name for name in names)

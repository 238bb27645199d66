"""The five ways in which papers cut an answer into words before they count.

They differ in what happens to punctuation, articles and endings, so scores over different ones are not comparable.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from combray.errors import MissingExtra

if TYPE_CHECKING:
    from nltk.stem.porter import PorterStemmer
    from nltk.tokenize import NLTKWordTokenizer

Tokeniser = Callable[[str], list[str]]

_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_ARTICLES_AND = re.compile(r"\b(a|an|the|and)\b")
_NOT_WORD = re.compile(r"[^\w\s]")
_STOPS = str.maketrans(dict.fromkeys(".,!?", " "))


def squad(text: str) -> list[str]:
    """Lower case, without ASCII punctuation and articles.

    >>> squad("The cat's bed, an old one.")
    ['cats', 'bed', 'old', 'one']

    Source:
        Rajpurkar et al. 2016, the evaluation script of SQuAD 1.1; used by AnchorMem.
    """
    return _ARTICLES.sub(" ", text.lower().translate(_DELETE_PUNCTUATION)).split()


def locomo(text: str) -> list[str]:
    """As `squad`, without "and" too, and every word cut to its Porter stem.

    Source:
        Maharana et al. 2024, LoCoMo's own evaluation script.

    Raises:
        MissingExtra: nltk is not installed.
    """
    bare = text.lower().translate(_DELETE_PUNCTUATION)
    stem = _stemmer().stem
    return [stem(word) for word in _ARTICLES_AND.sub(" ", bare).split()]


def word(text: str) -> list[str]:
    """Lower case; whatever is neither letter, digit, underscore nor space separates.

    >>> word("The cat's bed.")
    ['the', 'cat', 's', 'bed']

    Source:
        AtomMem's evaluation.
    """
    return _NOT_WORD.sub(" ", text.lower()).split()


def simple(text: str) -> list[str]:
    """Lower case; full stop, comma, exclamation and question mark separate, other punctuation stays on its word.

    >>> simple("The cat's bed (old), isn't it?")
    ['the', "cat's", 'bed', '(old)', "isn't", 'it']

    Source:
        SimpleMem's LoCoMo test, after A-Mem.
    """
    return text.lower().translate(_STOPS).split()


def treebank(text: str) -> list[str]:
    """Lower case, cut as in the Penn Treebank; a text counts as one sentence.

    Source:
        nltk's word tokeniser, used by AnchorMem and SimpleMem.  Deviation: nltk's ``word_tokenize`` first splits
        sentences with a trained model that has to be downloaded; here a full stop within the text stays on its word. On
        AnchorMem's 1,540 released answers each BLEU-1 is the one published with them.

    Raises:
        MissingExtra: nltk is not installed.
    """
    return list(_treebank().tokenize(text.lower()))


@cache
def _stemmer() -> PorterStemmer:
    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError as error:
        raise MissingExtra("eval", "the official LoCoMo F1") from error
    return PorterStemmer()


@cache
def _treebank() -> NLTKWordTokenizer:
    try:
        from nltk.tokenize import NLTKWordTokenizer
    except ImportError as error:
        raise MissingExtra("eval", "BLEU over Treebank words") from error
    return NLTKWordTokenizer()

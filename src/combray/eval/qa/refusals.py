"""When an answer counts as a refusal, in the calibers that papers use.

What is asked in an adversarial question did not happen, so the right answer is to decline. Its trap, the answer that it
fishes for, is never compared with.
"""

from __future__ import annotations

from combray.answer import REFUSAL

_PHRASES = ("no information available", "not mentioned")


def is_exact_refusal(answer: str) -> bool:
    """Whether the answer is the refusal sentence, word for word, but for outer white space.

    >>> is_exact_refusal("Not mentioned in the conversation.")
    True
    >>> is_exact_refusal("That is not mentioned.")
    False

    Source:
        EdgeMem, the exact caliber. Its matched caliber is the same test, on readers that were all told the sentence.
    """
    return answer.strip() == REFUSAL


def says_nothing_found(answer: str) -> bool:
    """Whether the answer holds one of two phrases, in any case.

    Source:
        Maharana et al. 2024, LoCoMo's own evaluation of category 5; EdgeMem's lenient caliber.
    """
    lowered = answer.lower()
    return any(phrase in lowered for phrase in _PHRASES)

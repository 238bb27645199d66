import pytest

from combray.answer import REFUSAL
from combray.eval.qa.refusals import is_exact_refusal, says_nothing_found


@pytest.mark.parametrize(
    ("answer", "exact", "lenient"),
    [
        (REFUSAL, True, True),
        (f" {REFUSAL}\n", True, True),
        ("Not mentioned in the conversation", False, True),
        (f"{REFUSAL} Perhaps Oslo.", False, True),
        ("no information available", False, True),
        ("I don't know.", False, False),
        ("", False, False),
    ],
)
def test_the_calibers_differ_in_what_counts_as_a_refusal(answer, exact, lenient):
    assert is_exact_refusal(answer) is exact
    assert says_nothing_found(answer) is lenient

"""Keywords as facts have them."""

from __future__ import annotations

import pytest

from combray.methods.atom.keywords import normalised


@pytest.mark.parametrize(
    ("written", "bare"),
    [
        (["“Support  Group”", "support group"], ("support group",)),
        (["《陶艺》", "【 猫 】", "。"], ("陶艺", "猫")),
        (["C#", "c++."], ("c#", "c++")),
        (["", "  ", "?!"], ()),
        (["a", "b", "c"], ("a", "b")),
    ],
)
def test_a_keyword_is_bare_in_lower_case_and_there_once(written, bare):
    assert normalised(written, 2) == bare


def test_keywords_that_are_left_out_do_not_count_towards_the_first_ones():
    found = normalised(["Ann", "tea", "Smith", "cup"], 2, leave_out=["Ann Smith"])
    assert found == ("tea", "cup")


def test_a_keyword_that_holds_more_than_the_name_stays():
    assert normalised(["Ann's birthday"], 5, leave_out=["Ann"]) == ("ann's birthday",)

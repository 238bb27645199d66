"""A merged unit says what those it stands for say, no less and no more."""

from datetime import UTC, datetime

import pytest

from combray.methods.simple.keeping import changes
from combray.text.light import LightAnalyser

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def held(merged, *texts, names=()):
    return changes(merged, texts, names, AT, LightAnalyser())


@pytest.mark.parametrize(
    ("merged", "texts"),
    [
        (
            "Ann prefers hot coffee with oat milk.",
            ["Ann wants coffee.", "Ann prefers oat milk.", "Ann likes her coffee hot."],
        ),
        (
            "On 7 May 2023 Ann bought 3 books in Rome, and no maps.",
            [
                "Ann bought three books on 7 May 2023.",
                "Ann was in Rome on 2023-05-07.",
                "Ann bought no maps.",
            ],
        ),
        (
            "Ann eats no meat and fish.",
            ["Ann does not eat meat.", "Ann doesn't eat fish."],
        ),
        (
            "Ann left on 7 May 2023.",
            ["Ann left yesterday (2023-05-07).", "Ann left on 7 May 2023."],
        ),
    ],
)
def test_a_merge_that_keeps_all_is_let_through(merged, texts):
    assert held(merged, *texts) == []


@pytest.mark.parametrize(
    ("merged", "texts", "wrong"),
    [
        ("Ann has dogs.", ["Ann has dogs.", "Ann's dog is called Rex."], "lost name Rex"),
        ("Ann and Bob like tea.", ["Ann likes tea.", "Ann drinks tea."], "added name Bob"),
        ("Ann has dogs.", ["Ann has 2 dogs.", "Ann likes dogs."], "lost number 2"),
        ("Ann has 3 dogs.", ["Ann has a dog.", "Ann got dogs."], "added number 3"),
        (
            "Ann went to Rome in May 2023.",
            ["Ann went to Rome on 7 May 2023.", "Ann liked Rome."],
            "lost date 7 May 2023",
        ),
        (
            "Ann went to Rome on 7 May 2023.",
            ["Ann went to Rome in May 2023.", "Ann liked Rome."],
            "added date 7 May 2023",
        ),
        ("Ann drinks tea.", ["Ann drinks tea.", "Ann does not drink coffee."], "lost negation"),
        ("Ann never drinks tea.", ["Ann drinks tea.", "Ann likes tea."], "added negation"),
        (
            "Ann does not like tea or coffee.",
            ["Ann likes tea.", "Ann does not like coffee."],
            "turned negation",
        ),
    ],
)
def test_a_merge_that_loses_or_adds_is_named(merged, texts, wrong):
    assert wrong in held(merged, *texts)


def test_names_that_are_noted_are_kept_in_any_script():
    assert held("安喜欢茶。", "安喜欢绿茶。", "李明和安喝茶。", names=["李明"]) == [
        "lost name 李明"
    ]

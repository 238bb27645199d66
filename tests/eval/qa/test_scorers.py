import math

import pytest

from combray.eval.qa import scorers
from combray.eval.qa.scorers import SCORERS


def test_squad_f1_counts_repetitions_as_often_as_both_have_them():
    # cat cat sat / cat sat down mat: 2 common of 3 and 4.
    assert scorers.f1_squad("the cat cat sat", "a cat sat down, the mat") == pytest.approx(4 / 7)


def test_set_f1_counts_a_repetition_once():
    # {cat, sat} of {cat, sat} and {cat, sat, down, mat}.
    assert scorers.f1_set_word("cat cat sat", "cat sat down mat") == pytest.approx(2 * 2 / 6)
    assert scorers.f1_set_simple("cat cat sat", "cat sat down mat") == pytest.approx(2 * 2 / 6)


def test_the_two_sets_differ_in_punctuation():
    assert scorers.f1_set_word("her self-care", "self care") == pytest.approx(2 * 2 / 5)
    assert scorers.f1_set_simple("her self-care", "self care") == 0


def test_official_f1_stems_and_drops_and():
    assert scorers.f1_locomo("painted and ran", "painting, ran", "single_hop") == 1


def test_official_multi_hop_takes_the_best_part_for_each_of_the_golds():
    # pottery: 1; camping: best of camp trip is 2/3; swimming: none.
    found = scorers.f1_locomo("pottery, camping trip", "Pottery, camping, swimming", "multi_hop")
    assert found == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert scorers.f1_locomo("pottery, camping trip", "Pottery, camping, swimming", "temporal") == (
        pytest.approx(2 * 2 / 6)
    )


def test_official_open_domain_reads_the_gold_to_its_first_semicolon():
    assert scorers.f1_locomo("Likely no", "Likely no; she likes cats; a lot", "open_domain") == 1
    assert scorers.f1_locomo("Likely no", "Likely no; she likes cats; a lot", "single_hop") < 1


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("That was Not Mentioned.", 1),
        ("There is no information available on it", 1),
        ("I do not know", 0),
        ("the trap", 0),
    ],
)
def test_official_adversarial_looks_for_two_phrases_and_never_for_the_trap(answer, score):
    assert scorers.f1_locomo(answer, "the trap", "adversarial") == score


def test_bleu_of_single_words_is_clipped_and_pays_for_brevity():
    assert scorers.bleu1_word("cat cat sat", "cat sat down mat") == pytest.approx(
        2 / 3 * math.exp(1 - 4 / 3)
    )
    assert scorers.bleu1_word("cat sat on it", "cat") == pytest.approx(1 / 4)


def test_both_bleus_of_single_words_agree_where_words_do_and_differ_in_punctuation():
    assert scorers.bleu1_nltk("cat cat sat", "cat sat down mat") == pytest.approx(
        scorers.bleu1_word("cat cat sat", "cat sat down mat")
    )
    # Treebank: 8 may , 2023 against 7 may 2023; words: without the comma.
    assert scorers.bleu1_nltk("8 May, 2023", "7 May 2023") == pytest.approx(2 / 4)
    assert scorers.bleu1_word("8 May, 2023", "7 May 2023") == pytest.approx(2 / 3)


def test_bleu_of_four_words_smooths_orders_without_a_match():
    assert scorers.bleu4("she ran a charity race", "She ran a charity race") == pytest.approx(1)
    # Orders 1 to 3 match 3 of 4, 2 of 3, 1 of 2; order 4 counts .1 of 1.
    assert scorers.bleu4("she ran a race", "she ran a mile") == pytest.approx(
        (3 / 4 * 2 / 3 * 1 / 2 * 0.1) ** 0.25
    )


def test_rouge_l_follows_the_longest_common_subsequence():
    # she . a race of 4 and 5 words.
    assert scorers.rouge_l("she won a race", "she ran in a race") == pytest.approx(2 * 3 / 9)
    assert scorers.rouge_l("race a", "a race") == pytest.approx(0.5)


def test_exact_match_forgives_case_and_outer_space_alone():
    assert scorers.exact_match(" Sweden\n", "sweden") == 1
    assert scorers.exact_match("Sweden.", "Sweden") == 0
    assert scorers.exact_match("", "") == 0


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize(
    ("answer", "gold"), [("", "Sweden"), ("Sweden", ""), ("", ""), ("…", "?!")]
)
def test_no_words_score_nothing(name, answer, gold):
    assert SCORERS[name].score(answer, gold, "single_hop") == 0


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("category", ["multi_hop", "temporal", "open_domain", "single_hop"])
def test_the_gold_itself_scores_one(name, category):
    gold = "Her home country, Sweden"
    # Official multi-hop compares part by part, which a full answer passes too.
    assert SCORERS[name].score(gold, gold, category) == pytest.approx(1)


def test_every_score_says_what_it_is():
    assert all(scorer.name == name and scorer.definition for name, scorer in SCORERS.items())

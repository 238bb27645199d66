import pytest

from combray.pack.repeats import Prints, print_of

LONG = (
    "So we finally went to see the house by the river. It has a small garden with two old apple trees and a shed, and "
    "the kitchen is bright. The agent, Paula, said the roof was mended in 2019 and that the neighbours are friendly. "
    "We did not like the bathroom, but the rest was lovely and we might make an offer on Monday."
)


@pytest.fixture
def repeats(said):
    def check(one, other, *, speakers=("Mira", "Mira")):
        prints = Prints(0.9)
        prints.add(print_of(said(one, speakers[0])), "one")
        return prints.twin(print_of(said(other, speakers[1]))) == "one"

    return check


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The pale green, definitely.", "The pale green, definitely!"),
        ("I love oat milk.", "i love oat milk"),
        ("I love oat milk.", "Oh, I really love the oat milk!"),
        ("👍", "👍"),
        ("Hello!", "hello"),
        (LONG, LONG.replace("lovely", "quite lovely")),
        (LONG, LONG + " Fingers crossed."[:0]),
    ],
)
def test_the_same_said_again_is_a_repeat(repeats, one, other):
    assert repeats(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My phone is 555-0101.", "My phone is 555-0199."),
        ("I eat meat.", "I don't eat meat."),
        ("I bought the red car.", "I bought the blue car."),
        ("You like jazz.", "You like jazz?"),
        ("It was -5 degrees.", "It was 5 degrees."),
        ("It costs 1.5 euros.", "It costs 15 euros."),
        ("👍", "👎"),
        ("Hello", "Hi"),
        (LONG, LONG.replace("2019", "2018")),
        (LONG, LONG.replace("two old", "three old")),
        (LONG, LONG.replace("did not like", "did like")),
        (LONG, LONG.replace("Paula", "Petra")),
        (LONG, LONG.replace("Monday", "Sunday")),
        (LONG, LONG.replace("did not", "didn't").replace("didn't like", "quite liked")),
        (LONG, "And now for something else entirely. " * 12),
        ("我喜欢茶。", "我不喜欢茶。"),
    ],
)
def test_another_fact_is_no_repeat(repeats, one, other):
    assert not repeats(one, other)


def test_the_same_words_of_another_speaker_are_no_repeat(repeats):
    assert not repeats("I love pizza.", "I love pizza.", speakers=("Mira", "Tom"))


def test_another_caption_is_no_repeat(said):
    prints = Prints(0.9)
    prints.add(print_of(said("Look!", caption="a cat")), "one")
    assert prints.twin(print_of(said("Look!", caption="a dog"))) is None

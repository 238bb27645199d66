"""The pages show the examples as they are, and what they really print."""

import importlib.util
from pathlib import Path

import pytest

from combray.embed.weights import locate
from combray.errors import WeightsUnavailable

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("examples", ROOT / "tools" / "examples.py")
examples = importlib.util.module_from_spec(spec)
spec.loader.exec_module(examples)


@pytest.mark.parametrize("page", examples.pages(), ids=lambda page: page.name)
def test_a_page_shows_what_its_examples_print(page):
    try:
        locate()
    except WeightsUnavailable as error:
        pytest.skip(str(error))
    text = page.read_text("utf-8")
    assert examples.rewritten(text) == text, "run `make docs`"


def test_every_example_is_on_a_page():
    shown = {
        name
        for page in examples.pages()
        for name in examples.BLOCK.findall(page.read_text("utf-8"))
    }
    assert shown == {path.stem for path in (ROOT / "docs_src").glob("*.py")}

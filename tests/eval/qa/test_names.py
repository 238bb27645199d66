import subprocess
import sys

import pytest

from combray.eval import qa


@pytest.mark.parametrize("name", qa.__all__)
def test_every_public_name_is_there(name):
    assert getattr(qa, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'score_everything'"):
        qa.score_everything  # noqa: B018


def test_the_package_is_imported_without_the_packages_of_scorers_and_judges():
    code = (
        "import sys, combray.eval.qa; print({'nltk', 'rouge_score', 'pydantic'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"

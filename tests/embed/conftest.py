import os

import pytest

from combray.embed import weights
from combray.embed.onnx import MiniLM
from combray.errors import WeightsUnavailable


@pytest.fixture(scope="session")
def minilm_folder():
    try:
        return weights.fetch("all-MiniLM-L6-v2")
    except WeightsUnavailable as error:
        if os.environ.get("COMBRAY_OFFLINE"):
            pytest.skip(str(error))
        raise


@pytest.fixture(scope="session")
def minilm(minilm_folder):
    embedder = MiniLM()
    embedder.load()
    return embedder

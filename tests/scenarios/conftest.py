import pytest

from combray import Memory
from combray.embed.onnx import MiniLM
from combray.errors import WeightsUnavailable


@pytest.fixture(scope="session")
def encoder():
    """The real encoder, once; None where its weights cannot be had, so that the scenarios run lexically."""
    made = MiniLM(offline=True)
    try:
        made.load()
    except WeightsUnavailable:
        return None
    return made


@pytest.fixture(params=["with the encoder", "by words alone"])
def memory(request, tmp_path, clock, encoder):
    if request.param == "by words alone":
        embedder = "none"
    elif encoder is None:
        pytest.skip("the weights of the default encoder are not here")
    else:
        embedder = encoder
    with Memory.open(tmp_path / "memory.db", embedder=embedder, clock=clock) as opened:
        yield opened

"""Builds the mean token vector that MiniLM's token vectors are centred on.

Signs of components say most when the components are centred. The mean is that of a page of ordinary English, written
for this purpose (token_mean_text.txt): it is fixed, so that stored sign bits never change as a bank grows.

Usage: python tools/build_token_mean.py
"""

from pathlib import Path

import numpy as np

from combray.embed import onnx

HERE = Path(__file__).parent
TARGET = HERE.parent / "src/combray/embed/data/minilm_token_mean.f4"


def token_mean() -> np.ndarray:
    """The mean of the unit token vectors of all lines and of all their sentences, shape (384,), float32."""
    lines = (HERE / "token_mean_text.txt").read_text(encoding="utf-8").splitlines()
    texts = [*lines, *" ".join(lines).split(". ")]
    TARGET.write_bytes(np.zeros(384, "<f4").tobytes())  # uncentred while measuring
    tokens = onnx.MiniLM().embed(texts).tokens
    return np.concatenate(tokens).mean(axis=0, dtype=np.float64).astype("<f4")


if __name__ == "__main__":
    TARGET.write_bytes(token_mean().tobytes())

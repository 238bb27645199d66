import json
import struct
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")
TOOL = Path(__file__).parents[2] / "tools" / "build_minilm_graph.py"


@pytest.fixture
def shipped():
    return onnx.load_model_from_string(
        files("combray.embed").joinpath("data/minilm.onnx").read_bytes()
    )


def test_the_shipped_graph_is_what_the_tool_builds(shipped, minilm_folder, tmp_path):
    built = tmp_path / "minilm.onnx"
    weights_file = minilm_folder / "model.safetensors"
    subprocess.run([sys.executable, str(TOOL), str(weights_file), str(built)], check=True)
    assert onnx.load(built, load_external_data=False) == shipped


def test_the_shipped_graph_holds_no_weights(shipped):
    inside = [t for t in shipped.graph.initializer if t.data_location != onnx.TensorProto.EXTERNAL]
    assert {t.name for t in inside} == {"rows", "first_row"}


def test_every_weight_lies_where_the_official_header_says(shipped, minilm_folder):
    raw = (minilm_folder / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    outside = [t for t in shipped.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]
    assert len(outside) == 101
    for tensor in outside:
        place = {entry.key: entry.value for entry in tensor.external_data}
        start, end = header[tensor.name]["data_offsets"]
        assert list(tensor.dims) == header[tensor.name]["shape"]
        assert int(place["offset"]) == 8 + size + start
        assert int(place["length"]) == end - start

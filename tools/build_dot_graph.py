"""Builds the one-node graph that multiplies bits by small integers (`combray.index.late`).

Usage: python tools/build_dot_graph.py
"""

from pathlib import Path

from onnx import TensorProto, helper

TARGET = Path(__file__).parent.parent / "src/combray/index/data/bits_dot.onnx"


def graph() -> bytes:
    """bits, uint8 (t, d), times weights, int8 (d, q), gives int32 (t, q)."""
    node = helper.make_node("MatMulInteger", ["bits", "weights"], ["products"])
    made = helper.make_graph(
        [node],
        "bits_dot",
        [
            helper.make_tensor_value_info("bits", TensorProto.UINT8, ["t", "d"]),
            helper.make_tensor_value_info("weights", TensorProto.INT8, ["d", "q"]),
        ],
        [helper.make_tensor_value_info("products", TensorProto.INT32, ["t", "q"])],
    )
    opset = [helper.make_opsetid("", 13)]
    return helper.make_model(made, opset_imports=opset, ir_version=8).SerializeToString()


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(graph())

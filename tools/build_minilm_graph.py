"""Builds the ONNX graph of all-MiniLM-L6-v2 that ships as package data.

The graph holds no weights: each initialiser is external data that points into the official
``model.safetensors``, at the offset that the file's own header gives. Only that header is read here.

Texts of a batch are laid end to end, without padding, so that all dense layers see exactly the word pieces
there are; only attention works on a padded view, through two gathers.

    ids        (t,)    int64   word piece ids of all texts, [CLS] and [SEP] included
    positions  (t,)    int64   position of each piece in its text, from 0
    grid       (b, s)  int64   row of each padded slot in the flat layout (any row where it is padding)
    cells      (t,)    int64   slot of each piece in the flattened grid
    lengths    (b,)    int32   pieces of each text
    hidden     (t, d)  float32 last hidden state

Operators of the ``com.microsoft`` domain are onnxruntime's own fused ones; they compute the same function.

    python tools/build_minilm_graph.py MODEL_SAFETENSORS [OUTPUT]

Source:
    Devlin et al. 2019, BERT, sections 3 and A.2; weights and names as in sentence-transformers'
    all-MiniLM-L6-v2 (6 layers, 12 heads, 384 dimensions, GELU by the error function, epsilon 1e-12).
"""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

import onnx
from onnx import TensorProto, helper

LAYERS = 6
HEADS = 12
EPSILON = 1e-12
WEIGHTS_FILE = "model.safetensors"
OUTPUT = Path(__file__).parent.parent / "src/combray/embed/data/minilm.onnx"
# Opset and IR version are the lowest that have the operators, so that older runtimes load the graph.
OPSET = 17
IR_VERSION = 8
FUSED = "com.microsoft"


def read_header(path: Path) -> tuple[dict[str, dict], int]:
    """The header of a safetensors file, and the offset at which its data begin."""
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    return header, 8 + size


@dataclass(slots=True)
class GraphBuilder:
    """Collects nodes and initialisers; every method returns the name of its output."""

    header: dict[str, dict]
    data_start: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initialisers: dict[str, onnx.TensorProto] = field(default_factory=dict)

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: object) -> str:
        """Add a node with one output."""
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def weight(self, name: str) -> str:
        """Declare a tensor of the weights file."""
        if name not in self.initialisers:
            start, end = self.header[name]["data_offsets"]
            tensor = TensorProto(
                name=name,
                data_type=TensorProto.FLOAT,
                dims=self.header[name]["shape"],
                data_location=TensorProto.EXTERNAL,
            )
            place = {
                "location": WEIGHTS_FILE,
                "offset": self.data_start + start,
                "length": end - start,
            }
            for key, value in place.items():
                tensor.external_data.add(key=key, value=str(value))
            self.initialisers[name] = tensor
        return name

    def constant(self, name: str, values: list[int]) -> str:
        """Declare a vector of integers that the graph itself holds."""
        self.initialisers[name] = helper.make_tensor(name, TensorProto.INT64, [len(values)], values)
        return name

    def dense(self, x: str, name: str) -> str:
        """Multiply by a weight matrix and add its bias."""
        weight, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("Gemm", x, weight, bias, transB=1)

    def add_and_normalise(self, x: str, skip: str, name: str) -> str:
        """Add two inputs and normalise each row of the sum."""
        scale, shift = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op(
            "SkipLayerNormalization", x, skip, scale, shift, domain=FUSED, epsilon=EPSILON
        )


def embeddings(graph: GraphBuilder) -> str:
    """Word, position and segment embeddings, added up and normalised."""
    words = graph.op("Gather", graph.weight("embeddings.word_embeddings.weight"), "ids")
    places = graph.op("Gather", graph.weight("embeddings.position_embeddings.weight"), "positions")
    first = graph.constant("first_row", [0])
    kind = graph.op("Gather", graph.weight("embeddings.token_type_embeddings.weight"), first)
    return graph.add_and_normalise(words, graph.op("Add", places, kind), "embeddings.LayerNorm")


def attention(graph: GraphBuilder, x: str, layer: str) -> str:
    """Multi-head self-attention, each text by itself."""
    padded = [
        graph.op("Gather", graph.dense(x, f"{layer}.attention.self.{part}"), "grid")
        for part in ("query", "key", "value")
    ]
    mixed = graph.op("MultiHeadAttention", *padded, "", "lengths", domain=FUSED, num_heads=HEADS)
    rows = graph.op("Reshape", mixed, "rows")
    return graph.dense(graph.op("Gather", rows, "cells"), f"{layer}.attention.output.dense")


def encoder_layer(graph: GraphBuilder, x: str, layer: str) -> str:
    """Attention and the feed-forward block, each with its residual."""
    x = graph.add_and_normalise(
        attention(graph, x, layer), x, f"{layer}.attention.output.LayerNorm"
    )
    inner = graph.op("Gelu", graph.dense(x, f"{layer}.intermediate.dense"), domain=FUSED)
    return graph.add_and_normalise(
        graph.dense(inner, f"{layer}.output.dense"), x, f"{layer}.output.LayerNorm"
    )


def build(weights: Path) -> onnx.ModelProto:
    """The graph over the weights in that file."""
    header, data_start = read_header(weights)
    graph = GraphBuilder(header, data_start)
    width = header["embeddings.word_embeddings.weight"]["shape"][1]
    graph.constant("rows", [-1, width])
    x = embeddings(graph)
    for number in range(LAYERS):
        x = encoder_layer(graph, x, f"encoder.layer.{number}")
    graph.nodes[-1].output[0] = "hidden"
    int64, int32 = TensorProto.INT64, TensorProto.INT32
    inputs = [
        helper.make_tensor_value_info("ids", int64, ["t"]),
        helper.make_tensor_value_info("positions", int64, ["t"]),
        helper.make_tensor_value_info("grid", int64, ["b", "s"]),
        helper.make_tensor_value_info("cells", int64, ["t"]),
        helper.make_tensor_value_info("lengths", int32, ["b"]),
    ]
    output = helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["t", width])
    body = helper.make_graph(
        graph.nodes, "all-MiniLM-L6-v2", inputs, [output], list(graph.initialisers.values())
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(
        body, opset_imports=opsets, ir_version=IR_VERSION, producer_name="combray"
    )


def main() -> None:
    """Write the graph to the given path, or to where the package data lie."""
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    output = Path(sys.argv[2]) if len(sys.argv) == 3 else OUTPUT
    output.write_bytes(build(Path(sys.argv[1])).SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()

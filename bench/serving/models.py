"""A model of dense layers, twice: trained here for a moment, and as an ONNX file of the same shapes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

CONFIG = """
seed: 1
threads: 1
input:
  - filename_queue: {{files: train.csv}}
  - csv_reader: {{header: true}}
  - decode_csv: {{fields: {{features: {{columns: [{names}]}}, label: {{columns: label}}}}}}
  - shuffle_batch: {{batch_size: 32, capacity: 100, min_after_dequeue: 50}}
model:
  - dense: {{units: {hidden}, activation: relu}}
  - dense: {{units: 1}}
loss: sigmoid_cross_entropy
optimizer: {{sgd: {{learning_rate: 0.01}}}}
train: {{steps: 5}}
save: model.safetensors
"""


def names(features: int) -> list[str]:
    return [f"x{i}" for i in range(features)]


def make(trainer: str, folder: Path, features: int, hidden: int) -> None:
    draws = numpy.random.default_rng(1)
    values = draws.normal(size=(256, features))
    lines = [",".join([*names(features), "label"])]
    lines += [",".join([*(f"{value:.4f}" for value in row), str(int(row.sum() > 0))]) for row in values]
    (folder / "train.csv").write_text("\n".join(lines) + "\n")
    (folder / "train.yaml").write_text(CONFIG.format(names=", ".join(names(features)), hidden=hidden))
    subprocess.run([trainer, "--config", "train.yaml", "--quiet"], cwd=folder, check=True)
    write_onnx(folder / "model.onnx", draws, features, hidden)


def write_onnx(path: Path, draws: numpy.random.Generator, features: int, hidden: int) -> None:
    def tensor(name: str, *shape: int) -> TensorProto:
        return numpy_helper.from_array(draws.normal(scale=0.1, size=shape).astype(numpy.float32), name)

    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("Gemm", ["r", "w2", "b2"], ["z"]), helper.make_node("Sigmoid", ["z"], ["y"])]
    graph = helper.make_graph(
        nodes, "mlp", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", features])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 1])],
        [tensor("w1", features, hidden), tensor("b1", hidden), tensor("w2", hidden, 1), tensor("b2", 1)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def body(features: int, rows: int, escaped: bool = False) -> str:
    """Rows of JSON; `escaped`: of which the fast reader of trainer serve reads none."""
    draws = numpy.random.default_rng(2)
    text = json.dumps([{name: round(float(value), 4) for name, value in zip(names(features), draws.normal(size=features))}
                       for _ in range(rows)])
    return text.replace('"x0"', r'"\u00780"', 1) if escaped else text

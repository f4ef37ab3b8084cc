"""onnxruntime: a network FEATURES -> UNITS (relu) -> 1 on a row, as `FEATURES/UNITS/bound` or `FEATURES/UNITS/run`."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from protocol import Job, Task, serve

ROWS = 32  # between two looks at the clock


def network(features: int, units: int) -> bytes:
    random = np.random.default_rng(1)
    sizes = {"w1": (units, features), "b1": (units,), "w2": (1, units), "b2": (1,)}
    weights = [
        numpy_helper.from_array(0.03 * random.standard_normal(size, np.float32), name) for name, size in sizes.items()
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["z"], transB=1),
        helper.make_node("Relu", ["z"], ["h"]),
        helper.make_node("Gemm", ["h", "w2", "b2"], ["y"], transB=1),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", features])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 1])
    graph = helper.make_graph(nodes, "network", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return model.SerializeToString()


def row(task: Task, variant: str) -> Job:
    features, units, how = variant.split("/")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = task.threads
    session = onnxruntime.InferenceSession(network(int(features), int(units)), options, ["CPUExecutionProvider"])
    values = np.full((1, int(features)), 0.5, np.float32)
    binding = session.io_binding()
    binding.bind_cpu_input("x", values)
    binding.bind_output("y")

    def run() -> int:
        for _ in range(ROWS):
            if how == "bound":
                session.run_with_iobinding(binding)
            else:
                session.run(None, {"x": values})
        return ROWS

    run()
    return Job(run, {"onnxruntime": onnxruntime.__version__})


if __name__ == "__main__":
    serve({"row": row})

"""The same as train.c, from Python, with nothing but ctypes. Usage: train.py [libmillrace.so]"""

import array
import ctypes
import sys
from ctypes import byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p

CONFIG = b"""
input:
  - points: {epochs: 50}
  - shuffle_batch: {batch_size: 20, capacity: 400, min_after_dequeue: 200}
model:
  - dense: {units: 8, activation: tanh}
  - dense: {units: 1}
loss: sigmoid_cross_entropy
metrics: [accuracy]
optimizer: {adam: {learning_rate: 0.01}}
train: {log_every: 250}
"""
FLOAT32 = 0
ROWS = 400


class Field(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_int32), ("width", c_int64)]


class Step(ctypes.Structure):
    _fields_ = [("step", c_int64), ("epoch", c_uint64), ("batch_size", c_int64), ("loss", c_double),
                ("rows_per_s", c_double), ("input_wait", c_double), ("seconds", c_double)]


OnStep = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(Step))
OnLog = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class Callbacks(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("user", c_void_p), ("on_step", OnStep), ("on_log", OnLog)]


class Result(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("steps", c_int64), ("rows", c_uint64), ("epochs", c_uint64),
                ("seconds", c_double), ("loss", c_double), ("input_wait", c_double),
                ("weights", ctypes.c_char * 65), ("reason", ctypes.c_char * 31)]


millrace = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libmillrace.so")
millrace.millrace_error_text.restype = c_char_p
for name in ("error_text", "error_free", "network_free", "trainer_free", "catalog_free"):
    getattr(millrace, "millrace_" + name).argtypes = [c_void_p]


def call(name, *arguments):
    """Calls a function that takes an error last; what it tells becomes an exception."""
    error = c_void_p()
    if getattr(millrace, "millrace_" + name)(*arguments, byref(error)) != 0:
        text = millrace.millrace_error_text(error).decode()
        millrace.millrace_error_free(error)
        raise RuntimeError(text)


def pointers(*arrays):
    """The addresses of the values of each field."""
    return (c_void_p * len(arrays))(*[values.buffer_info()[0] for values in arrays])


# Points of a square, and whether they lie above its diagonal.
points = array.array("f", [v / 20 for row in range(ROWS) for v in (row % 20, row // 20)])
labels = array.array("f", [row // 20 > row % 20 for row in range(ROWS)])

catalog, trainer, network = c_void_p(), c_void_p(), c_void_p()
fields = (Field * 2)(Field(b"features", FLOAT32, 2), Field(b"label", FLOAT32, 1))
call("catalog_new", byref(catalog))
call("catalog_add_rows", catalog, b"points", fields, c_size_t(2), c_int64(ROWS), pointers(points, labels))

on_step = OnStep(lambda user, step: print(f"step {step.contents.step}: loss {step.contents.loss:.3f}"))
callbacks = Callbacks(ctypes.sizeof(Callbacks), None, on_step, OnLog())
result = Result(ctypes.sizeof(Result))
call("trainer_from_string", CONFIG, b"points.yaml", None, c_size_t(0), catalog, byref(trainer))
call("trainer_run", trainer, byref(callbacks), byref(result))
call("trainer_save", trainer, b"points.safetensors")
print(f"trained {result.steps} steps, loss {result.loss:.3f}, weights {result.weights.decode()}")

corners, outputs = array.array("f", [0, 1, 1, 0]), array.array("f", [0, 0])
call("network_load", b"points.safetensors", 1, None, byref(network))
call("network_predict", network, pointers(corners), c_int64(2), c_void_p(outputs.buffer_info()[0]))
print(f"above: {'yes' if outputs[0] > 0 else 'no'}, below: {'yes' if outputs[1] > 0 else 'no'}")

millrace.millrace_network_free(network)
millrace.millrace_trainer_free(trainer)
millrace.millrace_catalog_free(catalog)

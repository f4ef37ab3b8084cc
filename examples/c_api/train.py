"""The same as train.c, from Python. Usage: train.py [libmillrace.so]"""

import ctypes
from ctypes import byref, c_int64, c_size_t, c_void_p

from capi import FLOAT32, Callbacks, OnLog, OnStep, Result, add_rows, call, floats, library, pointers

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
ROWS = 400

# Points of a square, and whether they lie above its diagonal.
points = floats(v / 20 for row in range(ROWS) for v in (row % 20, row // 20))
labels = floats(row // 20 > row % 20 for row in range(ROWS))

catalog, trainer, network = c_void_p(), c_void_p(), c_void_p()
call("catalog_new", byref(catalog))
add_rows(catalog, "points", ROWS, [("features", FLOAT32, 2), ("label", FLOAT32, 1)], [points, labels])

on_step = OnStep(lambda user, step: print(f"step {step.contents.step}: loss {step.contents.loss:.3f}"))
callbacks = Callbacks(ctypes.sizeof(Callbacks), None, on_step, OnLog())
result = Result(ctypes.sizeof(Result))
call("trainer_from_string", CONFIG, b"points.yaml", None, c_size_t(0), catalog, byref(trainer))
call("trainer_run", trainer, byref(callbacks), byref(result))
call("trainer_save", trainer, b"points.safetensors")
print(f"trained {result.steps} steps, loss {result.loss:.3f}, weights {result.weights.decode()}")

corners, outputs = floats([0, 1, 1, 0]), floats([0, 0])
call("network_load", b"points.safetensors", 1, None, byref(network))
call("network_predict", network, pointers(corners), c_int64(2), outputs)
print(f"above: {'yes' if outputs[0] > 0 else 'no'}, below: {'yes' if outputs[1] > 0 else 'no'}")

library.millrace_network_free(network)
library.millrace_trainer_free(trainer)
library.millrace_catalog_free(catalog)

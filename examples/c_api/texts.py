"""The same as texts.c, from Python. Usage: texts.py [libmillrace.so]"""

import ctypes
from ctypes import byref, c_int64, c_size_t, c_void_p

from capi import FLOAT32, TEXT, add_rows, call, floats, library, pointers, texts

CONFIG = b"""
input:
  - fruits: {epochs: 200}
  - vocabulary: {field: colour, texts: [green, red, yellow], as: colour_code, unknown: code}
  - one_hot: {field: colour_code, classes: 4, as: colours}
  - vocabulary: {field: kind, texts: [apple, banana, cherry], as: label}
  - batch: {batch_size: 8}
model:
  - concat: {from: [weight, colours]}
  - dense: {units: 3}
loss: softmax_cross_entropy
optimizer: {adam: {learning_rate: 0.1}}
"""

# In units of 100 g.
weights = floats([1.5, 1.6, 1.4, 1.2, 1.3, 0.1, 0.1, 0.2])
colours = texts(["red", "green", "green", "yellow", "yellow", "red", "red", "yellow"])
kinds = texts(["apple", "apple", "apple", "banana", "banana", "cherry", "cherry", "cherry"])

catalog, trainer, network = c_void_p(), c_void_p(), c_void_p()
call("catalog_new", byref(catalog))
add_rows(catalog, "fruits", 8, [("weight", FLOAT32, 1), ("colour", TEXT, 1), ("kind", TEXT, 1)],
         [weights, colours, kinds])
call("trainer_from_string", CONFIG, b"fruits.yaml", None, c_size_t(0), catalog, byref(trainer))
call("trainer_run", trainer, None, None)
call("trainer_network", trainer, byref(network))

# None is a missing text. Every row has an output for each class.
outputs, classes, probabilities = (ctypes.c_float * 9)(), (c_int64 * 3)(), (ctypes.c_double * 9)()
rows = pointers(floats([1.5, 1.2, 0.1]), texts(["green", "yellow", None]))
call("network_predict", network, rows, c_int64(3), outputs)
call("network_answer", network, outputs, c_int64(3), classes, probabilities)
for row, number in enumerate(classes):
    text = library.millrace_network_class(network, number).decode()
    print(f"{text}: {probabilities[3 * row + number]:.2f}")

library.millrace_network_free(network)
library.millrace_trainer_free(trainer)
library.millrace_catalog_free(catalog)

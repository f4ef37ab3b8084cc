// Rows that a program makes when they are asked for, as an op of its own copy of the catalog.
//
//   Catalog catalog = Catalog::builtin();
//   catalog.add_op("sensor", callback_op({.rows = {{{"features", DType::f32, Shape{4}}}},
//                                          .fill = [&](RowBlock& block, uint32_t pass) { ... }}));
//   Trainer trainer = Trainer::from_file("sensor.yaml", {}, catalog);     // input: [sensor: {epochs: 1}, ..]
//
// A state of a graph that reads such rows cannot be saved: nobody could ask for them again.
#pragma once

#include <cstdint>
#include <functional>

#include "millrace/core/export.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

struct CallbackRows {
  RowSpec rows;
  // Writes the next rows of pass `pass`, counted from 0, to the front of the block, which has room for
  // block.capacity(), and says with block.resize() how many there are: none ends the pass. Their ids are set by the
  // graph. Called by one thread at a time, whatever graphs ask, not always the same one, and ahead of the rows that a
  // step needs; the passes of a graph come in order, but that an op `cache` may ask for one again. What it throws is
  // thrown where its first row would be used; what is no Error, as an InternalError with its text. Whoever stops a
  // training waits until it returns.
  std::function<void(RowBlock& block, uint32_t pass)> fill;
  int64_t rows_at_once = 256;  // the room of a block
};

MILLRACE_EXPORT OpRegistry::Entry callback_op(CallbackRows callback);

}  // namespace millrace

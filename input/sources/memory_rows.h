// Rows that a program holds, as an op of its own copy of the catalog.
//
//   RowBlock rows;
//   rows.configure({{{"features", DType::f32, Shape{4}}, {"label", DType::i32, Shape{1}}}}, 150);
//   rows.resize(150);                                              // then rows.row<float>(0, 17)[2] = 1.5f; ...
//   Catalog catalog = Catalog::builtin();
//   catalog.add_op("memory", memory_op(std::make_shared<const RowBlock>(std::move(rows))));
//   Trainer trainer = Trainer::from_file("memory.yaml", {}, catalog);     // input: [memory: {epochs: 10}, ..]
//
// The rows are read and never copied as a whole; they must not change while a graph uses them. Their ids are ignored.
#pragma once

#include <memory>

#include "millrace/core/export.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

MILLRACE_EXPORT OpRegistry::Entry memory_op(std::shared_ptr<const RowBlock> rows);

}  // namespace millrace

// Columns of text as inputs of an ONNX graph, and what decode_csv does to their values: defaults in place of missing
// ones, whole numbers, dates.
#pragma once

#include <vector>

#include "millrace/input/csv/field_selection.h"
#include "millrace/input/csv/row_converter.h"
#include "millrace/input/onnx_rows.h"

namespace millrace {

// Makes the fields of `rows` that `requests` name. A column that is selected by its name is an input of that name with
// one value for each row. The columns of a field that has a number among its columns are one input with the field's
// name. Inputs are texts for texts, dates and times, float64 for int64 and float64, else float32; NaN is a missing
// number.
void add_csv_columns(const std::vector<FieldRequest>& requests, const ValueRules& rules, OnnxRows& rows);

}  // namespace millrace

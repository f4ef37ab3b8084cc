#include "millrace/input/parquet/row_faults.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

std::string type_of(const SelectedField& field) {
  return field.time ? field.time->name() : std::string(field.spec.type_name());
}

bool is_whole(const std::string& number) { return number.find_first_not_of("-0123456789") == number.npos; }

}  // namespace

DataError error_of(const RowFault& fault) {
  const SelectedField& field = fault.column->field();
  const FieldSpec& spec = field.spec;
  std::string message = fault.column->name(), hint;
  if (fault.element) message += cat(", value ", *fault.element);
  if (fault.length) {
    return DataError(
        cat(message, ": expected a list of ", count_of(spec.shape.elements(), "value"), ", got ", *fault.length));
  }
  switch (fault.fault) {
    case ValueFault::none: break;
    case ValueFault::required:
      message +=
          fault.value.empty() ? ": the value is missing" : cat(": the value ", quote(fault.value), " means none");
      if (!fault.element || !spec.ragged())
        hint = cat("give ", spec.name, spec.ragged() ? " a default: []" : " a default");
      break;
    case ValueFault::nonfinite:
      message += cat(": the value is not finite as ", type_of(field));
      hint = "set parquet_reader: {allow_nonfinite: true}";
      break;
    case ValueFault::malformed:
    case ValueFault::out_of_range:
      if (is_integer(spec.dtype) && !field.time && !fault.column->conversion().from_texts() && is_whole(fault.value)) {
        message += cat(": ", fault.value, " is out of the range of ", type_of(field));
        hint = spec.dtype == DType::i64 ? "" : cat("set type: int64 or float64 for ", spec.name);
      } else {
        message += cat(": expected ", type_of(field), ", got ", quote(fault.value));
        if (field.time) hint = field.time->hint(fault.value);
        if (is_integer(spec.dtype) && !field.time && is_number(fault.value)) {
          hint = cat("set type: float32 or float64 for ", spec.name, ", unless it holds classes or ids");
        }
      }
  }
  return DataError(message, {}, hint);
}

void RowFaults::clear() {
  faults_.clear();
  by_row_.clear();
}

void RowFaults::add(RowFault fault) {
  const auto row = static_cast<size_t>(fault.row);
  if (by_row_.size() <= row) by_row_.resize(row + 1);
  if (by_row_[row] == 0) {
    faults_.push_back(std::move(fault));
    by_row_[row] = static_cast<uint32_t>(faults_.size());
    return;
  }
  RowFault& known = faults_[by_row_[row] - 1];
  const auto rank = [](const RowFault& one) {
    return std::tuple(one.column->number(), one.column->field_number(), one.column->element());
  };
  if (rank(fault) < rank(known)) known = std::move(fault);
}

std::vector<RowFault> RowFaults::take() {
  std::ranges::sort(faults_, {}, &RowFault::row);
  by_row_.clear();
  return std::exchange(faults_, {});
}

}  // namespace millrace

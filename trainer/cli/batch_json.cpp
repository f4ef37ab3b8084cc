#include "millrace/trainer/cli/batch_json.h"

#include "millrace/trainer/cli/field_values.h"

namespace millrace::cli {

namespace {

// The values from `values` on as nested lists of `shape`, from its axis `axis` on; returns what lies behind them.
template <class T>
const T* append_values(JsonText& json, const T* values, const Shape& shape, int axis) {
  if (axis == shape.rank()) {
    json.value(*values);
    return values + 1;
  }
  json.open('[');
  for (int64_t i = 0; i < shape[axis]; ++i) values = append_values(json, values, shape, axis + 1);
  json.close(']');
  return values;
}

}  // namespace

void write_batch(JsonText& json, int64_t index, const RowBlock& batch, std::span<const std::string> places) {
  json.clear();
  json.open('{').key("batch").value(index).key("size").value(batch.size()).key("fields").open('{');
  for (size_t field = 0; field < batch.spec().fields.size(); ++field) {
    const FieldSpec& spec = batch.spec().fields[field];
    json.key(spec.name).open('[');
    for (int64_t row = 0; row < batch.size(); ++row) {
      with_values(batch, field, row, [&](const auto* values) { append_values(json, values, spec.shape, 0); });
    }
    json.close(']');
  }
  json.close('}').key("rows").open('[');
  for (const std::string& place : places) json.value(place);
  json.close(']').close('}');
}

}  // namespace millrace::cli

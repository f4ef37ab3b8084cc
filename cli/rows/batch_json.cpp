#include "millrace/cli/rows/batch_json.h"

#include "millrace/cli/rows/field_values.h"

namespace millrace::cli {

namespace {

// Writes the values from the index `next` on as nested lists, one level for each axis of `shape` from `axis` on.
// Returns the index of the first value that is left.
template <class Values>
size_t append_values(JsonText& json, const Values& values, size_t next, const Shape& shape, int axis) {
  if (axis == shape.rank()) {
    json.value(values[next]);
    return next + 1;
  }
  json.open('[');
  for (int64_t i = 0; i < shape[axis]; ++i) next = append_values(json, values, next, shape, axis + 1);
  json.close(']');
  return next;
}

}  // namespace

void write_batch(JsonText& json, int64_t index, const RowBlock& batch, const std::vector<std::string>& places) {
  json.clear();
  json.open('{').key("v").value(1).key("batch").value(index).key("size").value(batch.size()).key("fields").open('{');
  for (size_t field = 0; field < batch.spec().fields.size(); ++field) {
    const FieldSpec& spec = batch.spec().fields[field];
    json.key(spec.name).open('[');
    for (int64_t row = 0; row < batch.size(); ++row) {
      with_values(batch, field, row, [&](const auto& values) {
        const Shape shape = spec.ragged() ? Shape{static_cast<int64_t>(values.size())} : spec.shape;
        append_values(json, values, 0, shape, 0);
      });
    }
    json.close(']');
  }
  json.close('}').key("rows").value(places).close('}');
}

}  // namespace millrace::cli

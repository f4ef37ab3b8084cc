// Visits the values of one field of one row, with their own type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/input/ops/shared/fields.h"

namespace millrace::cli {

// The texts of a field of one row, used like a span.
class Texts {
 public:
  explicit Texts(const Varying& values) : values_(values) {}
  size_t size() const { return values_.texts(); }
  std::string_view operator[](size_t index) const { return values_.text(index); }

 private:
  const Varying& values_;
};

// Calls `use` with the field's values in that row: span<const float>, span<const int64_t>, .. or Texts.
template <class Use>
void with_values(const RowBlock& batch, size_t field, int64_t row, const Use& use) {
  const FieldSpec& spec = batch.spec().fields[field];
  if (spec.text) return use(Texts(batch.varying(field, row)));
  with_number_type(spec.dtype, [&](auto zero) { use(batch.numbers<decltype(zero)>(field, row)); });
}

}  // namespace millrace::cli

// Conversion: what the stored values of a column become in a field. Constant; any thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/core/tensor.h"
#include "millrace/input/csv/time_format.h"
#include "millrace/input/parquet/schema.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

class Conversion {
 public:
  // For a field of `time`, if its numbers are dates or times. Throws ConfigError, without a place, if the field cannot
  // hold such values.
  Conversion(const ParquetColumn& column, const FieldSpec& field, const std::optional<TimeFormat>& time);

  // Whether convert_text() takes the stored values; otherwise convert() does, or the field has texts.
  bool from_texts() const { return from_texts_; }
  // Whether the field has texts, and the column other values: text_of() makes them.
  bool makes_texts() const { return makes_texts_; }
  // Whether the least and the greatest stored value become the least and the greatest of the field.
  bool keeps_order() const { return keeps_order_; }
  // Converts `count` stored values, each in width() bytes, one after another. Returns false if one of them is no value
  // of the field's type; it becomes 0.
  bool convert(const std::byte* from, size_t count, std::byte* to) const { return convert_(from, count, to, *this); }
  [[nodiscard]] bool convert_text(std::string_view text, std::byte* to) const;
  // Bytes of a stored value; a boolean takes one here.
  size_t width() const { return width_; }
  // A stored value as text; a time as ISO 8601.
  std::string text_of(std::string_view stored) const;

  // For the functions that convert.
  int32_t scale() const { return scale_; }
  int64_t per_second() const { return per_second_; }
  bool to_days() const { return to_days_; }

 private:
  void choose(const ParquetColumn& column, bool times);

  bool (*convert_)(const std::byte* from, size_t count, std::byte* to, const Conversion&) = nullptr;
  std::string (*text_of_)(const std::byte* value, const Conversion&) = nullptr;
  DType dtype_;
  size_t width_;
  int32_t scale_;
  int64_t per_second_;
  bool to_days_ = false;  // a time becomes the start of its day
  bool from_texts_ = false, makes_texts_ = false, keeps_order_ = false;
  bool decimal_ = false;  // of any number of bytes
  std::optional<TimeFormat> time_;
};

}  // namespace millrace

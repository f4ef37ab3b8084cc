// Rows of every type of field for the tests of files, and their bits.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/cli/convert/row_writer.h"
#include "millrace/core/text.h"
#include "millrace/input/ops/shared/fields.h"
#include "millrace/input/rows/row_block.h"

namespace millrace::cli {

inline FieldSpec texts(std::string name, int64_t columns) {
  FieldSpec field = text_field(std::move(name));
  field.shape = Shape{columns};
  return field;
}
inline FieldSpec ragged(FieldSpec field, char split) {
  field.split = split;
  return field;
}

// One field of each type of number, of one value, several, and several dimensions.
inline RowSpec number_fields() {
  return {{{"features", DType::f32, Shape{3}},
           {"price", DType::f64, Shape{1}},
           {"image", DType::f32, Shape{2, 1, 2}},
           {"wide", DType::f64, Shape{2, 2}},
           {"count", DType::i32, Shape{2}},
           {"id", DType::i64, Shape{1}},
           {"pixels", DType::u8, Shape{5}}}};
}

// Those whose size varies, besides.
inline RowSpec all_fields() {
  RowSpec out = number_fields();
  out.fields.push_back(texts("name", 1));
  out.fields.push_back(texts("words", 2));
  out.fields.push_back(ragged({"ids", DType::i64, Shape{1}}, ' '));
  out.fields.push_back(ragged({"weights", DType::f32, Shape{1}}, ';'));
  out.fields.push_back(ragged(texts("tags", 1), '|'));
  return out;
}

template <class T>
T made_number(std::mt19937_64& random) {
  const uint64_t bits = random();
  T out;
  std::memcpy(&out, &bits, sizeof out);
  if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    const T special[] = {T(0),
                         -T(0),
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::quiet_NaN(),
                         Limits::min(),
                         Limits::lowest(),
                         Limits::max(),
                         Limits::denorm_min(),
                         T(0.1)};
    // One NaN is enough: a text does not say which it is.
    if (std::isnan(out) || random() % 4 == 0) out = special[random() % std::size(special)];
  }
  return out;
}

inline std::string made_text(std::mt19937_64& random) {
  static const std::vector<std::string> kTexts = {
      "",      " ",   "a",   "a,b", "\"",   "say \"so\"", "two\nlines",    "\r",
      "x\r\n", "NA",  "nan", "-1",  "#",    " blank ",    "\xef\xbb\xbfx", "\xff\xfe",
      "Zoë",   "a;b", "\t",  "'",   "0123", "\n",         "line\rline"};
  return kTexts[random() % kTexts.size()];
}

inline RowBlock made_rows(const RowSpec& spec, int64_t count) {
  std::mt19937_64 random(7);
  RowBlock out;
  out.configure(spec, count);
  out.resize(count);
  for (int64_t row = 0; row < count; ++row) {
    for (size_t i = 0; i < spec.fields.size(); ++i) {
      const FieldSpec& field = spec.fields[i];
      const int64_t values = field.ragged() ? static_cast<int64_t>(random() % 4) : field.shape.elements();
      if (field.varies()) out.varying(i, row).clear();
      for (int64_t at = 0; field.text && at < values; ++at) {
        // A list of one empty text is the one that no text says.
        out.add_text(i, row, field.ragged() && values == 1 ? "one" : made_text(random));
      }
      if (field.text) continue;
      with_number_type(field.dtype, [&](auto zero) {
        using T = decltype(zero);
        for (int64_t at = 0; at < values; ++at) {
          const T number = made_number<T>(random);
          if (field.ragged()) {
            out.varying(i, row).add_number(number);
          } else {
            out.row<T>(i, row)[at] = number;
          }
        }
      });
    }
  }
  return out;
}

// The bits of a row's values.
inline std::string bits_of(const RowBlock& rows, int64_t row) {
  std::string out;
  for (size_t i = 0; i < rows.spec().fields.size(); ++i) {
    const FieldSpec& field = rows.spec().fields[i];
    if (field.varies()) {
      const Varying& values = rows.varying(i, row);
      out += cat(field.name, ' ', values.bytes(), ':');
      values.visit_bytes([&](std::string_view bytes) { out += bytes; });
    } else {
      out.append(reinterpret_cast<const char*>(rows.at(i, row)), field.tensor().bytes());
    }
  }
  return out;
}

// Writes all rows to one file.
inline void write_rows(RowWriter& writer, const std::string& path, const RowBlock& rows) {
  writer.begin(path);
  writer.write(RowSpan{&rows, 0, rows.size()}, [](int64_t row) { return Place{"made", row + 1}; });
  writer.finish();
}

}  // namespace millrace::cli

// LmdbValue: what a field reads from the values of a database: numbers as they lie there, an array of NumPy, or a text.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/options.h"
#include "millrace/input/arrays/number_format.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

// The numbers are those of NumberType.
enum class LmdbType : uint8_t { npy = 100, string };
template <>
struct EnumNames<LmdbType> {
  static constexpr auto kNames = [] {
    std::array<std::pair<std::string_view, LmdbType>, std::size(EnumNames<NumberType>::kNames) + 2> out;
    size_t i = 0;
    for (const auto& [name, type] : EnumNames<NumberType>::kNames) out[i++] = {name, static_cast<LmdbType>(type)};
    out[i++] = {"npy", LmdbType::npy};
    out[i] = {"string", LmdbType::string};
    return out;
  }();
};

class LmdbValue {
 public:
  struct Settings {
    std::string field;
    LmdbType type = LmdbType::npy;
    bool big_endian = false;
    std::optional<int64_t> offset = {};  // where in a value it begins; absent: it is the whole value
    std::vector<int64_t> size = {1};     // of numbers
  };
  explicit LmdbValue(const Settings& settings);

  const FieldSpec& field() const { return field_; }
  // Finds the shape and the type of arrays, by one of the values. Throws DataError, as read() does.
  void look_at(std::string_view value);
  // Reads a value into field `index` of the row. Throws DataError, without a place, if it is not what it should be.
  void read(std::string_view value, RowBlock& rows, size_t index, int64_t row) const;

 private:
  void check_length(uint64_t bytes) const;

  LmdbType type_;
  bool whole_;
  uint64_t offset_;
  NumberFormat numbers_;
  FieldSpec field_;
  // Of the array that look_at() saw: what comes before its numbers, and how long it is.
  std::string header_;
  size_t array_bytes_ = 0;
};

}  // namespace millrace

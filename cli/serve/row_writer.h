// RowWriter: writes the rows of a request as text, from values that come in any order. Both readers of JSON use it.
//
//   writer.begin();
//   const size_t key = writer.key("age");
//   if (!writer.add(keys.keys[key].columns[0], "31", true)) ...    // the row has the column twice
//   if (const auto column = writer.end(rows)) ...                  // the row lacks the column
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/cli/serve/row_reader.h"

namespace millrace::cli {

class RowWriter {
 public:
  explicit RowWriter(const RowKeys& keys)
      : keys_(keys), cells_(keys.dialect.header.size()), given_(keys.dialect.header.size(), 0) {}

  void begin() {
    ++rows_;
    next_ = 0;
    texts_.clear();
  }
  // As RowKeys::find(), for the next key of the row.
  size_t key(std::string_view name) {
    const size_t place = next_++;
    // Most rows have their keys in the order of the row before.
    const size_t expected = place < order_.size() ? order_[place] : RowKeys::kUnknown;
    return expected < keys_.keys.size() && keys_.keys[expected].name == name ? expected : find(place, name);
  }
  // The row's value of a column. False: it has one already. The digits of a `number` need no quotes.
  [[nodiscard]] bool add(size_t column, std::string_view text, bool number) {
    if (std::exchange(given_[column], rows_) == rows_) return false;
    cells_[column] = {.begin = texts_.size(), .size = text.size(), .number = number};
    texts_ += text;
    return true;
  }
  // Appends the row. If it lacks a column, returns the first one, and what was appended is undefined.
  [[nodiscard]] std::optional<size_t> end(RequestedRows& out) const;

 private:
  struct Cell {
    size_t begin = 0, size = 0;
    bool number = false;
  };
  size_t find(size_t place, std::string_view name);

  const RowKeys& keys_;
  size_t rows_ = 0;            // that have begun
  std::string texts_;          // the values of the row, in the order in which they came
  std::vector<Cell> cells_;    // where they are, by column
  std::vector<size_t> given_;  // the last row that gave the column, from 1
  std::vector<size_t> order_;  // the keys of rows before
  size_t next_ = 0;            // the next of these
};

}  // namespace millrace::cli

// A terminal's screen, as far as our programs use one: it shows what a program wrote to a terminal of so many columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::testing {

class Screen {
 public:
  Screen(size_t columns, std::string_view written) : columns_(columns) {
    for (size_t i = 0; i < written.size(); ++i) {
      if (written.substr(i, 3) == "\x1b[K") {
        rows_.back().resize(column_);
        i += 2;
      } else if (written[i] == '\r') {
        column_ = 0;
      } else if (written[i] == '\n') {
        next_row();
      } else {
        put(written[i]);
      }
    }
  }

  // The rows from the top, without blanks at their ends.
  const std::vector<std::string>& rows() const { return rows_; }
  // How often a line was too long and went on in the next row.
  int wraps() const { return wraps_; }

 private:
  void next_row() { rows_.emplace_back(column_, ' '); }
  void put(char letter) {
    if (column_ == columns_) {
      ++wraps_;
      column_ = 0;
      next_row();
    }
    if (rows_.back().size() <= column_) rows_.back().resize(column_ + 1, ' ');
    rows_.back()[column_++] = letter;
  }

  const size_t columns_;
  std::vector<std::string> rows_{1};
  size_t column_ = 0;
  int wraps_ = 0;
};

}  // namespace millrace::testing

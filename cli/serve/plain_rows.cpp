// read_plain_rows(): what it accepts is JSON that read_json_rows() reads likewise.
#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/cli/rows/csv_text.h"
#include "millrace/cli/serve/row_reader.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

// A number with more digits, or a greater power of ten, may be too large to be one.
constexpr size_t kMostDigits = 200;
constexpr size_t kMostPowerDigits = 2;

class PlainRows {
 public:
  PlainRows(const RowKeys& keys, std::string_view body)
      : keys_(keys),
        at_(body.data()),
        end_(body.data() + body.size()),
        cells_(keys.dialect.header.size()),
        given_(keys.dialect.header.size()) {}

  bool read(RequestedRows& out) {
    if (!take('[')) return false;
    if (!take(']')) {
      do {
        ++row_;
        if (!read_row() || !write_row(out)) return false;
      } while (take(','));
      if (!take(']')) return false;
    }
    skip_blanks();
    return at_ == end_;
  }

 private:
  struct Cell {
    std::string_view text = {};
    bool number = false;
  };

  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  bool read_row() {
    if (!take('{')) return false;
    next_ = 0;
    do {
      if (!read_key() || !take(':') || !read_value()) return false;
    } while (take(','));
    return take('}');
  }

  // Most rows have their keys in the order of the row before.
  bool read_key() {
    std::string_view name;
    skip_blanks();
    if (!read_text(name)) return false;
    const size_t place = next_++;
    if (place < order_.size() && keys_.keys[order_[place]].name == name) {
      key_ = order_[place];
      return true;
    }
    key_ = keys_.find(std::string(name));
    if (key_ >= keys_.keys.size()) return false;  // unknown, or one to pass over
    order_.resize(std::min(place, order_.size()));
    if (place == order_.size()) order_.push_back(key_);
    return true;
  }

  bool read_value() {
    const GivenKey& key = keys_.keys[key_];
    if (key.list && !take('[')) return false;
    for (size_t i = 0; i < key.columns.size(); ++i) {
      const uint32_t column = key.columns[i];
      if (i > 0 && !take(',')) return false;
      if (std::exchange(given_[column], row_) == row_ || !read_cell(cells_[column])) return false;
    }
    return !key.list || take(']');
  }

  bool read_cell(Cell& cell) {
    skip_blanks();
    if (at_ == end_) return false;
    cell.number = *at_ != '"';
    if (!cell.number) return read_text(cell.text);
    constexpr std::string_view kNull = "null";
    if (*at_ != 'n') return read_number(cell.text);
    if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(kNull)) return false;
    at_ += kNull.size();
    cell.text = {};
    return true;
  }

  bool read_text(std::string_view& text) {
    if (at_ == end_ || *at_ != '"') return false;
    const char* const begin = ++at_;
    unsigned char all = 0;
    for (; at_ != end_ && *at_ != '"'; ++at_) {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte < 0x20 || byte == '\\') return false;
      all |= byte;
    }
    if (at_ == end_) return false;
    text = {begin, static_cast<size_t>(at_++ - begin)};
    return all < 0x80 || find_invalid_utf8(text) == text.npos;
  }

  // How many digits come.
  size_t digits() {
    const char* const begin = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return static_cast<size_t>(at_ - begin);
  }
  bool read_number(std::string_view& text) {
    const char* const begin = at_;
    if (*at_ == '-') ++at_;
    const bool zero = at_ != end_ && *at_ == '0';
    const size_t whole = digits();
    if (whole == 0 || whole > kMostDigits || (zero && whole > 1)) return false;
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      if (digits() == 0) return false;
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ != end_ && (*at_ == '-' || *at_ == '+')) ++at_;
      const size_t power = digits();
      if (power == 0 || power > kMostPowerDigits) return false;
    }
    text = {begin, static_cast<size_t>(at_ - begin)};
    return true;
  }

  bool write_row(RequestedRows& out) const {
    const CsvDialect& dialect = keys_.dialect;
    out.begins.push_back(out.text.size());
    for (size_t column = 0; column < cells_.size(); ++column) {
      if (given_[column] != row_) return false;
      const Cell& cell = cells_[column];
      if (column > 0) out.text += dialect.delimiter;
      if (cell.number && !cell.text.empty()) {
        out.text += cell.text;
      } else {
        append_cell(out.text, cell.text, dialect, column);
      }
    }
    out.text += '\n';
    return true;
  }

  const RowKeys& keys_;
  const char* at_;
  const char* const end_;
  size_t key_ = 0;
  std::vector<size_t> order_;  // the keys of rows before
  size_t next_ = 0;            // the next of these
  std::vector<Cell> cells_;    // of the row, by column
  std::vector<size_t> given_;  // the last row that gave the column
  size_t row_ = 0;             // its number, from 1
};

}  // namespace

bool read_plain_rows(const RowKeys& keys, std::string_view body, RequestedRows& out) {
  return PlainRows(keys, body).read(out);
}

}  // namespace millrace::cli

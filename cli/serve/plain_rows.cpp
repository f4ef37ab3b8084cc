// read_plain_rows(): what it accepts is JSON that read_json_rows() reads likewise.
#include <cstddef>
#include <string_view>

#include "millrace/cli/serve/row_reader.h"
#include "millrace/cli/serve/row_writer.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

// A number with more digits, or a greater power of ten, may be too large to be one.
constexpr size_t kMostDigits = 200;
constexpr size_t kMostPowerDigits = 2;

class PlainRows {
 public:
  PlainRows(const RowKeys& keys, std::string_view body)
      : keys_(keys), at_(body.data()), end_(body.data() + body.size()), writer_(keys) {}

  bool read(RequestedRows& out) {
    if (!take('[')) return false;
    if (!take(']')) {
      do {
        if (!read_row() || writer_.end(out)) return false;
      } while (take(','));
      if (!take(']')) return false;
    }
    skip_blanks();
    return at_ == end_;
  }

 private:
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
    writer_.begin();
    do {
      if (!read_key() || !take(':') || !read_value()) return false;
    } while (take(','));
    return take('}');
  }

  bool read_key() {
    std::string_view name;
    skip_blanks();
    if (!read_text(name)) return false;
    key_ = writer_.key(name);
    return key_ < keys_.keys.size();  // not unknown, nor one to pass over
  }

  bool read_value() {
    const GivenKey& key = keys_.keys[key_];
    if (key.list && !take('[')) return false;
    for (size_t i = 0; i < key.columns.size(); ++i) {
      if (i > 0 && !take(',')) return false;
      if (!read_cell(key.columns[i])) return false;
    }
    return !key.list || take(']');
  }

  bool read_cell(size_t column) {
    skip_blanks();
    if (at_ == end_) return false;
    std::string_view text;
    if (*at_ == '"') return read_text(text) && writer_.add(column, text, false);
    if (*at_ != 'n') return read_number(text) && writer_.add(column, text, true);
    constexpr std::string_view kNull = "null";
    if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(kNull)) return false;
    at_ += kNull.size();
    return writer_.add(column, {}, false);
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

  const RowKeys& keys_;
  const char* at_;
  const char* const end_;
  size_t key_ = 0;
  RowWriter writer_;
};

}  // namespace

bool read_plain_rows(const RowKeys& keys, std::string_view body, RequestedRows& out) {
  return PlainRows(keys, body).read(out);
}

}  // namespace millrace::cli

// read_json_rows(): takes the events of a parser of JSON.
#include "millrace/cli/serve/row_reader.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

using Json = nlohmann::json;

// How deep the lists of a value may be, such as the rows and channels of a picture.
constexpr int kDeepestList = 8;
// The longest name that is compared with others for a hint.
constexpr size_t kLongestName = 200;
// The longest reason for malformed JSON, which may repeat a number of the body.
constexpr size_t kLongestReason = 200;
// How many names a hint lists.
constexpr size_t kMostNames = 10;

// "unexpected end of input; expected ']'" of the library's own message.
std::string reason_of(const Json::exception& error) {
  std::string_view text = error.what();
  if (text.starts_with('[')) text.remove_prefix(std::min(text.find("] ") + 2, text.size()));
  if (const size_t dash = text.find(" - "); dash != text.npos) text.remove_prefix(dash + 3);
  if (const size_t last = text.find("; last read: "); last != text.npos) {
    const size_t expected = text.find("; expected ", last);
    return cat(text.substr(0, last), expected == text.npos ? std::string_view() : text.substr(expected));
  }
  return std::string(text);
}

std::string line_and_column(std::string_view body, size_t offset) {
  const std::string_view before = body.substr(0, std::min(offset, body.size()));
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return cat("line ", 1 + std::ranges::count(before, '\n'), ", column ",
             std::max<size_t>(before.size() - line_begin, 1));
}

class RowEvents final : public nlohmann::json_sax<Json> {
  enum class Is : uint8_t { null, number, text };

 public:
  RowEvents(const RowKeys& keys, const std::string& body)
      : keys_(keys), body_(body), cells_(keys.dialect.header.size()), given_(keys.dialect.header.size(), 0) {}

  RequestedRows run() {
    nlohmann::json_sax<Json>* const events = this;
    Json::sax_parse(body_, events);
    return std::move(out_);
  }

 private:
  bool null() override { return add({}, Is::null); }
  bool boolean(bool value) override {
    return in_ == In::row && key_ == RowKeys::kUnread ? true : refuse(value ? "true" : "false");
  }
  // Numbers without a sign are unsigned: this 0 was -0.
  bool number_integer(Json::number_integer_t value) override { return add(value == 0 ? "-0" : cat(value), Is::number); }
  bool number_unsigned(Json::number_unsigned_t value) override { return add(cat(value), Is::number); }
  bool number_float(Json::number_float_t, const std::string& text) override { return add(text, Is::number); }
  bool string(std::string& text) override { return add(text, Is::text); }
  bool binary(Json::binary_t&) override { return refuse("bytes"); }

  bool start_object(size_t) override {
    if (in_ != In::list) return refuse("an object");
    in_ = In::row;
    texts_.clear();
    next_ = 0;
    return true;
  }
  bool key(std::string& name) override {
    key_ = expected_key(name);
    if (key_ == RowKeys::kUnread) return true;
    for (const uint32_t column : keys_.keys[key_].columns) {
      if (std::exchange(given_[column], row() + 1) == row() + 1) {
        throw DataError(cat("row ", row(), ": the column ", quote(keys_.dialect.header[column]), " is given twice"));
      }
    }
    value_ = 0;
    return true;
  }
  bool end_object() override {
    in_ = In::list;
    out_.begins.push_back(out_.text.size());
    const CsvDialect& dialect = keys_.dialect;
    for (size_t column = 0; column < cells_.size(); ++column) {
      if (given_[column] != row_number() + 1) throw missing(column);
      if (column > 0) out_.text += dialect.delimiter;
      const std::string_view cell = std::string_view(texts_).substr(cells_[column].begin, cells_[column].size);
      append_cell(out_.text, cell, dialect, column);
    }
    out_.text += '\n';
    return true;
  }

  bool start_array(size_t) override {
    if (in_ == In::nothing) {
      in_ = In::list;
      return true;
    }
    if (in_ != In::row || (key_ != RowKeys::kUnread && !keys_.keys[key_].list)) return refuse("a list");
    if (++depth_ <= kDeepestList) return true;
    throw DataError(cat("row ", row(), ": the value of ", key_name(), " has lists in lists, more than ", kDeepestList));
  }
  bool end_array() override {
    if (in_ == In::list) {
      in_ = In::nothing;
      return true;
    }
    if (--depth_ > 0 || key_ == RowKeys::kUnread) return true;
    const size_t columns = keys_.keys[key_].columns.size();
    if (value_ == columns) return true;
    throw DataError(cat("row ", row(), ": the value of ", key_name(), " has ",
                        count_of(static_cast<int64_t>(value_), "value"), ", expected ", columns));
  }
  [[noreturn]] bool parse_error(size_t offset, const std::string&, const Json::exception& error) override {
    throw DataError(
        cat("malformed JSON at ", line_and_column(body_, offset), ": ", shortened(reason_of(error), kLongestReason)));
  }

  enum class In : uint8_t { nothing, list, row };
  struct Cell {
    size_t begin = 0, size = 0;
  };

  // While a row is read, and after it.
  size_t row() const { return out_.begins.size(); }
  size_t row_number() const { return out_.begins.size() - 1; }
  std::string key_name() const { return key_ == RowKeys::kUnread ? "a column" : quote(keys_.keys[key_].name); }

  // Most rows have their keys in the order of the row before.
  size_t expected_key(const std::string& name) {
    const size_t place = next_++;
    if (place < order_.size() && order_[place] != RowKeys::kUnread && keys_.keys[order_[place]].name == name) {
      return order_[place];
    }
    const size_t found = find(name);
    if (place < keys_.keys.size()) {
      order_.resize(std::max(order_.size(), place + 1), RowKeys::kUnread);
      order_[place] = found;
    }
    return found;
  }

  size_t find(const std::string& name) const {
    const size_t found = keys_.find(name);
    if (found != RowKeys::kUnknown) return found;
    std::vector<std::string> names;
    for (const GivenKey& key : keys_.keys) names.push_back(key.name);
    const std::string near = nearest(name.substr(0, kLongestName), names);
    std::string hint = cat("did you mean ", quote(near), '?');
    if (near.empty()) {
      const size_t more = names.size() - std::min(names.size(), kMostNames);
      names.resize(names.size() - more);
      if (more > 0) names.push_back(cat(more, " more"));
      hint = cat("the model reads ", join(names));
    }
    throw DataError(cat("row ", row(), ": there is no column ", quote(name)), {}, hint);
  }

  static std::string shown(std::string_view text, Is is) {
    return is == Is::null ? "null" : is == Is::text ? quote(text) : shortened(text);
  }

  bool add(std::string_view text, Is is) {
    if (in_ != In::row) return refuse(shown(text, is));
    if (key_ == RowKeys::kUnread) return true;
    const GivenKey& key = keys_.keys[key_];
    if (key.list && depth_ == 0) {
      throw DataError(cat("row ", row(), ": the value of ", key_name(), " is ", shown(text, is),
                          ", expected a list of ", key.columns.size(), " values"));
    }
    const size_t place = value_++;
    if (place >= key.columns.size()) return true;  // end_array() tells
    cells_[key.columns[place]] = {texts_.size(), text.size()};
    texts_ += text;
    return true;
  }

  [[noreturn]] bool refuse(std::string_view value) const {
    if (in_ == In::nothing) {
      throw DataError(cat("the body is ", value, ", expected a list of objects"), {},
                      R"(write [{"column": value, ..}, ..])");
    }
    if (in_ == In::list) throw DataError(cat("row ", row(), " is ", value, ", expected an object"));
    throw DataError(
        cat("row ", row(), ": the value of ", key_name(), " is ", value, ", expected a number, a text or null"), {},
        "give the text that stands in a CSV file");
  }

  DataError missing(size_t column) const {
    return DataError(cat("row ", row_number(), ": the column ", quote(keys_.dialect.header[column]), " is missing"), {},
                     "give null for a missing value");
  }

  const RowKeys& keys_;
  const std::string& body_;
  RequestedRows out_;
  In in_ = In::nothing;
  int depth_ = 0;  // of lists in a row's value
  size_t key_ = RowKeys::kUnread;
  size_t value_ = 0;           // the next value of the key
  std::string texts_;          // the values of the row, in the order in which they came
  std::vector<Cell> cells_;    // where they are, by column
  std::vector<size_t> given_;  // 1 + the last row that gave the column
  std::vector<size_t> order_;  // the keys of rows before
  size_t next_ = 0;            // the next of these
};

}  // namespace

RequestedRows read_json_rows(const RowKeys& keys, const std::string& body) { return RowEvents(keys, body).run(); }

}  // namespace millrace::cli

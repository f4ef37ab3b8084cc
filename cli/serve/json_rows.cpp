// read_json_rows(): takes the events of a parser of JSON.
#include "millrace/cli/serve/row_reader.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "millrace/cli/serve/row_writer.h"
#include "millrace/cli/text/text_layout.h"
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
  RowEvents(const RowKeys& keys, const std::string& body) : keys_(keys), body_(body), writer_(keys) {}

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
  // The library gives a number without a minus as an unsigned one, so a 0 that comes here was written as -0.
  bool number_integer(Json::number_integer_t value) override { return add(value == 0 ? "-0" : cat(value), Is::number); }
  bool number_unsigned(Json::number_unsigned_t value) override { return add(cat(value), Is::number); }
  bool number_float(Json::number_float_t, const std::string& text) override { return add(text, Is::number); }
  bool string(std::string& text) override { return add(text, Is::text); }
  bool binary(Json::binary_t&) override { return refuse("bytes"); }

  bool start_object(size_t) override {
    if (in_ != In::list) return refuse("an object");
    in_ = In::row;
    writer_.begin();
    return true;
  }
  bool key(std::string& name) override {
    key_ = writer_.key(name);
    if (key_ == RowKeys::kUnknown) throw unknown(name);
    value_ = 0;
    return true;
  }
  bool end_object() override {
    in_ = In::list;
    const size_t row = this->row();
    const std::optional<size_t> missing = writer_.end(out_);
    if (!missing) return true;
    throw DataError(cat("row ", row, ": the column ", quote(keys_.dialect.header[*missing]), " is missing"), {},
                    "give null for a missing value");
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

  // The number of the row that is read.
  size_t row() const { return out_.begins.size(); }
  std::string key_name() const { return key_ == RowKeys::kUnread ? "a column" : quote(keys_.keys[key_].name); }

  DataError unknown(const std::string& name) const {
    std::vector<std::string> names;
    for (const GivenKey& key : keys_.keys) names.push_back(key.name);
    const std::string near = nearest(name.substr(0, kLongestName), names);
    std::string hint = cat("did you mean ", quote(near), '?');
    if (near.empty()) hint = cat("the model reads ", join_first(std::move(names), kMostNames));
    return DataError(cat("row ", row(), ": there is no column ", quote(name)), {}, hint);
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
    const uint32_t column = key.columns[place];
    if (writer_.add(column, text, is == Is::number)) return true;
    throw DataError(cat("row ", row(), ": the column ", quote(keys_.dialect.header[column]), " is given twice"));
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

  const RowKeys& keys_;
  const std::string& body_;
  RequestedRows out_;
  In in_ = In::nothing;
  int depth_ = 0;  // of lists in a row's value
  size_t key_ = RowKeys::kUnread;
  size_t value_ = 0;  // the next value of the key
  RowWriter writer_;
};

}  // namespace

RequestedRows read_json_rows(const RowKeys& keys, const std::string& body) { return RowEvents(keys, body).run(); }

}  // namespace millrace::cli

// RowReader: reads the body of a request, a JSON list of objects, as text of CSV with the columns of a TextNetwork.
//
//   [{"age": 31, "city": "Rome"}, {"city": null, "age": 12.5}]
//
// A number stands in the text as it stands in the JSON, a text as itself, null as a missing value. A key is a column,
// or a field of several columns, whose value is a list then. Every column of the model must be given once. Columns that
// the training read and the model does not need, such as the label, are passed over.
//
// Constant; any thread may use it. What it makes is at most about three times as large as the body.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "millrace/input/csv/csv_dialect.h"
#include "millrace/trainer/predict/given_texts.h"

namespace millrace::cli {

// The keys that the objects of a request may have.
struct RowKeys {
  static constexpr size_t kUnread = SIZE_MAX, kUnknown = SIZE_MAX - 1;

  // As a TextNetwork has these.
  RowKeys(CsvDialect of_text, std::vector<GivenKey> of_rows, const std::vector<std::string>& unread);

  // The place of the key in `keys`; kUnread for a column that is passed over; kUnknown for any other name.
  size_t find(const std::string& name) const {
    const auto found = places.find(name);
    return found == places.end() ? kUnknown : found->second;
  }

  CsvDialect dialect;
  std::vector<GivenKey> keys;
  std::unordered_map<std::string, size_t> places;
};

struct RequestedRows {
  std::string text;              // the rows one after another
  std::vector<uint64_t> begins;  // where each begins in the text
};

class RowReader {
 public:
  explicit RowReader(RowKeys keys) : keys_(std::move(keys)) {}

  // Throws DataError: for JSON that is malformed, with its line and column, or of another form; for a column that is
  // unknown, missing or given twice, with the number of the row.
  RequestedRows read(const std::string& body) const;

 private:
  const RowKeys keys_;
};

// The same by a parser of all of JSON, and by a faster one that gives up, with `out` undefined, at errors and at what
// is not plain. Plain are objects of numbers, texts without escapes, null, and lists of these.
RequestedRows read_json_rows(const RowKeys& keys, const std::string& body);
[[nodiscard]] bool read_plain_rows(const RowKeys& keys, std::string_view body, RequestedRows& out);

}  // namespace millrace::cli

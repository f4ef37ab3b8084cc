// Columns and fields for tests of what reads them, as options and files would make them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/input/parquet/table_reader.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/parquet/parquet_bytes.h"

namespace millrace::testing_support {

// A field x as options say, of `values` columns or of lists of so many values; 0: of lists of any number of values.
inline SelectedField selected_field(const std::string& options, size_t values = 1) {
  FieldRequest request = read_fields(parse_yaml(cat("{x: {", options, "}}"), "o.yaml"), true, true).front();
  if (values == 0) request.field.spec.split = ' ';
  return field_of_columns(std::move(request), std::max<size_t>(values, 1));
}

// The column, for such a field.
class TestColumn {
 public:
  TestColumn(const ParquetColumn& column, const std::string& options, size_t values = 1, ValueRules rules = {})
      : field_(selected_field(options, values)),
        rules_(std::move(rules)),
        column_(std::make_shared<const FieldColumn>(
            FieldColumnArgs{.field = field_, .column = column, .number = 3, .rules = rules_})) {}
  TestColumn(const TestColumn&) = delete;
  TestColumn& operator=(const TestColumn&) = delete;

  const SelectedField& field() const { return field_; }
  const std::shared_ptr<const FieldColumn>& get() const { return column_; }
  // A block of rows of the field.
  RowBlock rows(int64_t count) const {
    RowBlock out;
    out.configure(RowSpec{{field_.spec}}, std::max<int64_t>(count, 1));
    out.resize(count);
    return out;
  }

 private:
  const SelectedField field_;
  const ValueRules rules_;
  const std::shared_ptr<const FieldColumn> column_;
};

// Pages as those of the only column of a file.
struct TestPages {
  std::string pages;
  uint64_t values = 0;
  PageCodec codec = PageCodec::none;
  std::optional<uint64_t> rows = {};  // absent: as many as values

  std::shared_ptr<ColumnPages> open(const TestColumn& column) const {
    const auto file = std::make_shared<const BytesFile>(pages);
    return std::make_shared<ColumnPages>(
        ColumnPages::Settings{.open = [file] { return file; },
                              .entry = std::make_shared<const FileEntry>(FileEntry{.path = "a", .size = pages.size()}),
                              .data_end = pages.size(),
                              .chunk = {.codec = codec, .values = values},
                              .rows = rows.value_or(values),
                              .column = column.get()});
  }
};

}  // namespace millrace::testing_support

// ParquetFiles: which columns of Parquet files make which fields, as the options say and as the files allow.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "millrace/input/csv/field_selection.h"
#include "millrace/input/csv/row_converter.h"
#include "millrace/input/parquet/table_reader.h"

namespace millrace {

class ParquetFiles {
 public:
  // The requests and the rules outlive it.
  ParquetFiles(const std::vector<FieldRequest>& requests, const ValueRules& rules)
      : requests_(requests), rules_(rules) {}

  // Reads what a file says of itself, and adds it to the others. Throws ConfigError for what the options ask for and
  // the file does not have, or has in a form that is not read; DataError if it is no Parquet file or damaged, or if its
  // fields are not those of the files before. An error without a place gets the file.
  void add(const std::shared_ptr<const FileEntry>& entry, const File& file);

  // The fields, as the first file has them.
  const std::vector<SelectedField>& fields() const { return fields_; }
  // All files. What they hold refers to fields().
  std::vector<ParquetTable> take_tables() { return std::move(tables_); }

 private:
  static SelectedField settle(const FieldRequest& request, const std::vector<ParquetColumn>& columns,
                              const FileEntry& entry);
  void choose(const std::vector<SelectedField>& fields, const ParquetFooter& footer, ParquetTable& table);

  const std::vector<FieldRequest>& requests_;
  const ValueRules& rules_;
  std::vector<SelectedField> fields_;  // set once: columns refer to them
  std::vector<ParquetTable> tables_;
};

}  // namespace millrace

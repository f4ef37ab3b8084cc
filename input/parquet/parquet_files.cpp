#include "millrace/input/parquet/parquet_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

// The columns, as those of a file with a header.
CsvDialect dialect_of(const std::vector<ParquetColumn>& columns, const FileEntry& entry) {
  CsvDialect out;
  out.file = entry.path;
  out.columns = static_cast<int64_t>(columns.size());
  for (const ParquetColumn& column : columns) out.header.push_back(column.name);
  return out;
}

// How many values each list has, by the shape of the field; absent if lists may have any number.
std::optional<size_t> list_size(const FieldRequest& request) {
  if (!request.reshape) return {};
  size_t out = 1;
  for (const int64_t size : request.reshape->sizes) {
    if (size < 0) throw request.reshape_node.error("lists have no length of their own, so all sizes must be given");
    out *= static_cast<size_t>(size);
  }
  return out;
}

std::string described(const ParquetColumn& column, const FileEntry& entry) {
  return cat("column ", quote(column.name), " of ", entry.path);
}

}  // namespace

void ParquetFiles::add(const std::shared_ptr<const FileEntry>& entry, const File& file) {
  try {
    const ParquetFooter footer(file, entry->size);
    if (footer.columns().empty()) throw DataError("the Parquet file has no columns");
    ParquetTable table{.file = entry, .rows = footer.rows(), .data_end = footer.data_end()};
    const bool first = fields_.empty();
    std::vector<SelectedField> fields;
    for (const FieldRequest& request : requests_) {
      fields.push_back(settle(request, footer.columns(), *entry));
      const FieldSpec& spec = fields.back().spec;
      const FieldSpec& known = first ? spec : fields_[fields.size() - 1].spec;
      if (spec == known) continue;
      throw DataError(cat("the field ", spec.name, " is ", spec.type_text(), " here, and ", known.type_text(), " in ",
                          tables_.front().file->path));
    }
    if (first) fields_ = fields;
    choose(fields, footer, table);
    tables_.push_back(std::move(table));
  } catch (Error& error) {
    error.set_place({entry->path});
    throw;
  }
}

// Finds the field's columns in the file; they decide its shape.
SelectedField ParquetFiles::settle(const FieldRequest& request, const std::vector<ParquetColumn>& columns,
                                   const FileEntry& entry) {
  const Spec& where = request.items.front().spec;
  const std::vector<uint32_t> numbers = columns_of(request, dialect_of(columns, entry));
  bool lists = false;
  for (const uint32_t number : numbers) {
    const ParquetColumn& column = columns[number];
    lists = lists || column.is_list;
    if (column.refused.empty()) continue;
    throw where.error(cat(described(column, entry), " holds ", column.refused, ", which are not read"));
  }
  const ParquetColumn& column = columns[numbers.front()];
  if (lists && numbers.size() > 1) {
    throw where.error(cat("a field of lists has one column, got ", numbers.size()), "make a field of each");
  }
  FieldRequest settled = request;
  const std::optional<size_t> size = lists ? list_size(request) : std::nullopt;
  FieldSpec& spec = settled.field.spec;
  if (!lists && spec.split) {
    throw where.error(
        cat("a field with split holds lists, and ", described(column, entry), " holds ", column.type_text()),
        "leave split out");
  }
  if (lists && !size && !spec.split) spec.split = ' ';
  SelectedField out = field_of_columns(std::move(settled), lists ? size.value_or(1) : numbers.size());
  out.columns = numbers;
  return out;
}

// Takes the columns of the fields, and what a file has of them.
void ParquetFiles::choose(const std::vector<SelectedField>& fields, const ParquetFooter& footer, ParquetTable& table) {
  std::vector<const ParquetColumn*> chosen;
  for (size_t field = 0; field < fields.size(); ++field) {
    for (size_t element = 0; element < fields[field].columns.size(); ++element) {
      const uint32_t number = fields[field].columns[element];
      chosen.push_back(&footer.columns()[number]);
      try {
        table.columns.push_back(std::make_shared<const FieldColumn>(FieldColumnArgs{.field = fields_[field],
                                                                                    .field_number = field,
                                                                                    .element = element,
                                                                                    .column = *chosen.back(),
                                                                                    .number = number,
                                                                                    .rules = rules_}));
      } catch (const ConfigError& error) {
        throw requests_[field].items.front().spec.error(
            cat(described(*chosen.back(), *table.file), ": ", error.message()), error.hint());
      }
    }
  }
  table.groups = footer.row_groups(chosen, false);
  for (const RowGroup& group : table.groups) {
    for (size_t i = 0; i < chosen.size(); ++i) {
      check_is_built(group.chunks[i].codec, cat(table.columns[i]->name(), " (", chosen[i]->type_text(), ")"));
    }
  }
}

}  // namespace millrace

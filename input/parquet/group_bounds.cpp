#include "millrace/input/parquet/group_bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

// A bound as the field has it; no value if nothing follows from it.
std::optional<Varying> value_of(const std::string& stored, const FieldColumn& column) {
  Varying out;
  if (column.field().spec.text) {
    out.add_text(stored);
    return out;
  }
  const Conversion& conversion = column.conversion();
  alignas(8) std::array<std::byte, 8> number;
  const auto* const bytes = reinterpret_cast<const std::byte*>(stored.data());
  if (stored.size() != conversion.width() || !conversion.convert(bytes, 1, number.data())) return {};
  const bool is_nan = with_parsed_type(column.field().spec.dtype, [&](auto value) {
    std::memcpy(&value, number.data(), sizeof value);
    return std::isnan(static_cast<double>(value));
  });
  if (is_nan) return {};
  out.add_bytes({number.data(), column.value_bytes()});
  return out;
}

// What a missing value becomes; no value if there is no default.
std::optional<Varying> default_of(const FieldColumn& column) {
  if (!column.has_default()) return {};
  Varying out;
  if (column.field().spec.text) {
    out.add_text(column.default_text());
  } else {
    out.add_bytes({column.default_number(), column.value_bytes()});
  }
  return out;
}

bool is_unneeded(const ColumnBounds& bounds, const FieldColumn& column, const RowCondition& condition) {
  // A bad row has to be told.
  const std::optional<Varying> missing = default_of(column);
  const bool none_missing = bounds.missing == 0u || column.column().most_definition == 0;
  if (!none_missing && (!missing || condition.may_keep(*missing, *missing))) return false;
  if (!bounds.least || !bounds.greatest) return false;
  const std::optional<Varying> least = value_of(*bounds.least, column), greatest = value_of(*bounds.greatest, column);
  return least && greatest && !condition.may_keep(*least, *greatest);
}

}  // namespace

std::vector<bool> unneeded_groups(const ParquetTable& table, const File& file, const RowCondition& condition) {
  std::vector<bool> out(table.groups.size());
  const auto found = std::ranges::find_if(
      table.columns, [&](const auto& column) { return column->field().spec.name == condition.field; });
  const FieldColumn& column = **found;
  const bool compared = !column.column().is_list && column.conversion().keeps_order() && !column.changes_values();
  if (!compared) return out;
  const ParquetFooter footer(file, table.file->size);
  const ParquetColumn* const chosen[] = {&column.column()};
  const std::vector<RowGroup> groups = footer.row_groups(chosen, true);
  for (size_t i = 0; i < std::min(out.size(), groups.size()); ++i) {
    const auto& bounds = groups[i].chunks.front().bounds;
    out[i] = bounds != nullptr && is_unneeded(*bounds, column, condition);
  }
  return out;
}

}  // namespace millrace

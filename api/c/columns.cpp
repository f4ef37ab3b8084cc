#include "millrace/api/c/columns.h"

#include <algorithm>
#include <utility>

namespace millrace::c {

namespace {

// A number, or a range of numbers: 3, 0-29.
bool tells_by_number(const std::string& column) { return column.find_first_not_of("0123456789-") == column.npos; }

std::vector<std::string> names_in(const Spec& columns) {
  std::vector<std::string> out;
  if (columns.is_scalar()) out.push_back(columns.as_string());
  if (columns.is_list()) {
    for (const Spec& item : columns.items()) out.push_back(item.is_scalar() ? item.as_string() : std::string());
  }
  return std::ranges::any_of(out, tells_by_number) ? std::vector<std::string>() : out;
}

// The columns of a field that an op of the list makes; nullptr if none says so.
const Spec* columns_in(const Spec& list, const std::string& field) {
  for (const Spec& item : list.items()) {
    if (!item.is_map() || item.size() != 1) continue;
    const Spec& options = item.entries().front().second;
    const Spec* const fields = options.is_map() ? options.find("fields") : nullptr;
    const Spec* const found = fields != nullptr && fields->is_map() ? fields->find(field) : nullptr;
    if (found != nullptr && found->is_map() && found->find("columns") != nullptr) return found->find("columns");
  }
  return nullptr;
}

}  // namespace

std::vector<std::vector<std::string>> columns_of(const Spec& config, const RowSpec& rows) {
  std::vector<std::vector<std::string>> out(rows.fields.size());
  const Spec* const list = config.find("input");
  if (list == nullptr || !list->is_list()) return out;
  for (size_t i = 0; i < out.size(); ++i) {
    const FieldSpec& field = rows.fields[i];
    const Spec* const columns = columns_in(*list, field.name);
    std::vector<std::string> names = columns != nullptr ? names_in(*columns) : std::vector<std::string>();
    if (field.ragged() || std::ssize(names) == field.shape.elements()) out[i] = std::move(names);
  }
  return out;
}

}  // namespace millrace::c

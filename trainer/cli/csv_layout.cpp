#include "millrace/trainer/cli/csv_layout.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "millrace/core/text.h"
#include "millrace/trainer/cli/field_values.h"

namespace millrace::cli {

namespace {

// One value of a field, and the column that it is read from: a header name, or an index.
struct Source {
  std::string name;
  int64_t index = -1;
};

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int64_t to_index(std::string_view text) {
  int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "3", "0-1023" or a header name.
void add_sources(const Spec& item, std::vector<Source>& out) {
  const std::string& text = item.as_string();
  const size_t dash = text.find('-');
  if (item.quoted() || text.empty()) {
    out.push_back({text, -1});
  } else if (all_digits(text)) {
    out.push_back({{}, to_index(text)});
  } else if (dash != std::string::npos && all_digits(text.substr(0, dash)) && all_digits(text.substr(dash + 1))) {
    for (int64_t i = to_index(text.substr(0, dash)); i <= to_index(text.substr(dash + 1)); ++i) out.push_back({{}, i});
  } else {
    out.push_back({text, -1});
  }
}

std::vector<Source> sources_of(const Spec& field) {
  std::vector<Source> out;
  const Spec* columns = field.is_map() ? field.find("columns") : &field;
  if (columns == nullptr || columns->is_null() || columns->is_map()) return out;
  if (columns->is_scalar()) {
    add_sources(*columns, out);
  } else {
    for (const Spec& item : columns->items()) {
      if (item.is_scalar()) add_sources(item, out);
    }
  }
  return out;
}

std::string element_name(const FieldSpec& field, int64_t element) {
  return field.shape.elements() == 1 ? field.name : cat(field.name, '_', element);
}

// The options of the only op of `kind`, or nullptr.
const Spec* only(const Spec& input, std::string_view kind) {
  const Spec* found = nullptr;
  for (const Spec& item : input.items()) {
    const Spec* options = item.is_map() ? item.find(kind) : nullptr;
    if (options == nullptr) continue;
    if (found != nullptr) return nullptr;
    found = options;
  }
  return found;
}

std::optional<char> byte_of(const Spec* spec, std::optional<char> otherwise) {
  if (spec == nullptr || !spec->is_scalar()) return otherwise;
  const std::string& text = spec->as_string();
  return text.size() == 1 ? std::optional(text.front()) : std::nullopt;
}

// Which value stands in which column. Columns by index keep their place; those by name take the places that are left.
class Placement {
 public:
  void add(const CsvColumn& column, const Source& source) {
    if (source.index < 0) {
      if (names_.insert(source.name).second) named_.push_back({source.name, column.field, column.element});
    } else {
      by_index_.try_emplace(source.index, column);
    }
  }

  std::vector<CsvColumn> columns() const {
    const int64_t width = by_index_.empty() ? 0 : by_index_.rbegin()->first + 1;
    std::vector<CsvColumn> out;
    for (int64_t i = 0; i < width; ++i) out.push_back({cat("unused_", i)});
    for (const auto& [index, column] : by_index_) out[static_cast<size_t>(index)] = column;
    size_t place = 0;
    for (const CsvColumn& column : named_) {
      while (place < out.size() && out[place].field >= 0) ++place;
      if (place == out.size()) out.emplace_back();
      out[place] = column;
    }
    return out;
  }

 private:
  std::map<int64_t, CsvColumn> by_index_;
  std::vector<CsvColumn> named_;
  std::set<std::string> names_;
};

std::vector<CsvColumn> side_by_side(const RowSpec& rows) {
  std::vector<CsvColumn> out;
  for (size_t field = 0; field < rows.fields.size(); ++field) {
    for (int64_t i = 0; i < rows.fields[field].shape.elements(); ++i) {
      out.push_back({element_name(rows.fields[field], i), static_cast<int>(field), i});
    }
  }
  return out;
}

// Empty where decode_csv's fields are not the graph's.
std::vector<CsvColumn> as_decoded(const Spec& decode, const RowSpec& rows) {
  const Spec* fields = decode.find("fields");
  if (fields == nullptr || !fields->is_map()) return {};
  Placement placement;
  for (size_t field = 0; field < rows.fields.size(); ++field) {
    const FieldSpec& spec = rows.fields[field];
    const Spec* asked = fields->find(spec.name);
    if (asked == nullptr) return {};
    const std::vector<Source> sources = sources_of(*asked);
    if (static_cast<int64_t>(sources.size()) != spec.shape.elements()) return {};
    for (int64_t i = 0; i < spec.shape.elements(); ++i) {
      placement.add({element_name(spec, i), static_cast<int>(field), i}, sources[static_cast<size_t>(i)]);
    }
  }
  return placement.columns();
}

// The text as one field: quoted where it must be.
std::string field_text(const std::string& text, const CsvLayout& layout) {
  const bool plain = text.find_first_of("\r\n") == std::string::npos &&
                     text.find(layout.delimiter) == std::string::npos &&
                     (!layout.quote || text.find(*layout.quote) == std::string::npos);
  if (plain || !layout.quote) return text;
  std::string out(1, *layout.quote);
  for (const char c : text) {
    if (c == *layout.quote) out += c;
    out += c;
  }
  return out + *layout.quote;
}

template <class T>
void append_number(std::string& out, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    // The sign of a NaN is no part of the value, and its shortest text would have one.
    if (std::isnan(value)) {
      out += "nan";
      return;
    }
  }
  char buffer[40];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

}  // namespace

CsvLayout csv_layout(const Spec& input, const RowSpec& rows) {
  CsvLayout layout;
  const Spec* reader = only(input, "csv_reader");
  const Spec* decode = only(input, "decode_csv");
  if (reader != nullptr && decode != nullptr) layout.columns = as_decoded(*decode, rows);
  if (layout.columns.empty()) {
    layout.columns = side_by_side(rows);
    return layout;
  }
  const Spec* header = reader->find("header");
  const Spec* skip_lines = reader->find("skip_lines");
  layout.header = header != nullptr && header->as_bool();
  layout.skip_lines = skip_lines == nullptr ? 0 : skip_lines->as_int();
  layout.delimiter = byte_of(reader->find("delimiter"), ',').value_or(',');
  layout.quote = byte_of(reader->find("quote"), '"');
  return layout;
}

std::string csv_head(const CsvLayout& layout) {
  std::string out(static_cast<size_t>(layout.skip_lines), '\n');
  if (!layout.header) return out;
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    if (i > 0) out += layout.delimiter;
    out += field_text(layout.columns[i].name, layout);
  }
  return out + '\n';
}

void append_csv(std::string& out, const CsvLayout& layout, const RowBlock& batch) {
  for (int64_t row = 0; row < batch.size(); ++row) {
    for (size_t i = 0; i < layout.columns.size(); ++i) {
      if (i > 0) out += layout.delimiter;
      const CsvColumn& column = layout.columns[i];
      if (column.field < 0) continue;
      with_values(batch, static_cast<size_t>(column.field), row,
                  [&](const auto* values) { append_number(out, values[column.element]); });
    }
    out += '\n';
  }
}

}  // namespace millrace::cli

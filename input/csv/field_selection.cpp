#include "millrace/input/csv/field_selection.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "millrace/core/text.h"
#include "millrace/input/csv/hints.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

enum class ColumnType { float32, float64, int32, int64, string };
template <>
struct EnumNames<ColumnType> {
  static constexpr std::pair<std::string_view, ColumnType> kNames[] = {{"float32", ColumnType::float32},
                                                                       {"float64", ColumnType::float64},
                                                                       {"int32", ColumnType::int32},
                                                                       {"int64", ColumnType::int64},
                                                                       {"string", ColumnType::string}};
};

namespace {

// The most columns of one field; a range beyond it is a typo.
constexpr uint64_t kMaxColumns = 1u << 24;

struct FieldOptions {
  Spec columns;
  ColumnType type = ColumnType::float32;
  Spec default_value;
  std::optional<std::string> split;

  void declare(OptionReader& o) {
    o.required("columns", columns, "an index from 0, a range a-b, a header name, or a list of these");
    o.optional("type", type, "type of the values");
    o.optional("default", default_value, "what an empty or missing value becomes: one value, or one for each column");
    o.may_be("columns", one_or_list({{.is = OptionForm::Is::integer, .range = {.min = 0}}, text()}));
    o.optional("split", split, "the byte between the values of one column: the field has as many as the row does");
    o.may_be("default", one_or_list({{.is = OptionForm::Is::number}, {.is = OptionForm::Is::text}}, false));
    if (!o.reading() || !split) return;
    if (split->size() != 1 || *split == "\n" || *split == "\r") {
      throw o.node("split").error(cat("expected one byte other than a line end, got ", quote(*split)));
    }
    constexpr std::string_view kNumbers = "0123456789+-.eE";
    if (type != ColumnType::string && kNumbers.find(split->front()) != kNumbers.npos) {
      throw o.node("split").error(cat("the byte ", quote(*split), " may stand in a number"));
    }
  }

 private:
  static OptionForm text() { return {.is = OptionForm::Is::text, .pattern = "."}; }
  static std::vector<OptionForm> one_or_list(std::vector<OptionForm> forms, bool not_empty = true) {
    OptionForm list{.is = OptionForm::Is::list, .items = forms, .not_empty = not_empty};
    forms.push_back(std::move(list));
    return forms;
  }
};

DType dtype_of(ColumnType type) {
  switch (type) {
    case ColumnType::float32: return DType::f32;
    case ColumnType::float64: return DType::f64;
    case ColumnType::int32: return DType::i32;
    case ColumnType::int64: return DType::i64;
    case ColumnType::string: return DType::u8;
  }
  return DType::f32;
}

bool parse_index(std::string_view text, uint64_t& out) {
  const char* last = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), last, out);
  return failure == std::errc() && stop == last;
}

FieldRequest::Item read_item(const Spec& spec) {
  FieldRequest::Item item = {.text = spec.as_string(), .quoted = spec.quoted(), .spec = spec};
  const std::string_view text = item.text;
  const size_t dash = text.find('-', 1);
  if (text.empty()) throw spec.error("expected a column, got an empty text");
  if (parse_index(text, item.first)) {
    item.is_index = true;
    item.last = item.first;
  } else if (dash != text.npos && parse_index(text.substr(0, dash), item.first) &&
             parse_index(text.substr(dash + 1), item.last)) {
    item.is_index = true;
    if (item.last < item.first) {
      throw spec.error(cat("the range ", text, " runs backwards"), cat("write ", item.last, '-', item.first));
    }
  } else if (uint64_t index = 0; !item.quoted && text.front() == '-' && parse_index(text.substr(1), index)) {
    throw spec.error(cat("expected a column index from 0, got ", text));
  }
  return item;
}

std::vector<FieldRequest::Item> read_items(const Spec& columns) {
  std::vector<FieldRequest::Item> items;
  if (!columns.is_list()) return {read_item(columns)};
  for (const Spec& item : columns.items()) items.push_back(read_item(item));
  if (items.empty()) throw columns.error("expected at least one column, got an empty list");
  return items;
}

size_t count_columns(const std::vector<FieldRequest::Item>& items, const Spec& columns) {
  uint64_t count = 0;
  for (const FieldRequest::Item& item : items) {
    count += item.is_index ? std::min(item.last - item.first, kMaxColumns) + 1 : 1;
  }
  if (count > kMaxColumns) {
    throw columns.error(cat("a field may have ", kMaxColumns, " columns at most, got ", columns.describe()));
  }
  return static_cast<size_t>(count);
}

template <class T>
void read_default(const Spec& spec, bool allow_nonfinite, std::byte* to) {
  T value{};
  NumberStatus status = parse_number(spec.as_string(), value);
  if constexpr (std::is_floating_point_v<T>) {
    // YAML's own spelling of what is no number: .inf, -.inf, .nan.
    if (status != NumberStatus::ok && !spec.quoted() && spec.as_string().find('.') != std::string::npos) {
      value = static_cast<T>(spec.as_double());
      status = NumberStatus::ok;
    }
    if (status == NumberStatus::ok && !allow_nonfinite && !std::isfinite(value)) {
      throw spec.error(cat("the default ", spec.as_string(), " is not finite"), "set allow_nonfinite: true");
    }
  }
  if (status != NumberStatus::ok) {
    throw spec.error(cat("expected a default of type ", to_string(DTypeOf<T>::value), ", got ", spec.describe()));
  }
  std::memcpy(to, &value, sizeof value);
}

void read_default(const Spec& spec, bool allow_nonfinite, DType dtype, std::byte* to) {
  switch (dtype) {
    case DType::f32: return read_default<float>(spec, allow_nonfinite, to);
    case DType::f64: return read_default<double>(spec, allow_nonfinite, to);
    case DType::i32: return read_default<int32_t>(spec, allow_nonfinite, to);
    case DType::i64: return read_default<int64_t>(spec, allow_nonfinite, to);
    case DType::u8: break;
  }
}

// One value for all columns, or a list of as many; of a ragged field its values.
DefaultValues read_defaults(const Spec& spec, bool allow_nonfinite, const FieldSpec& field, size_t columns) {
  if (spec.is_null()) return {};
  DefaultValues out{.given = true};
  const size_t count = !field.ragged() ? columns : spec.is_list() ? spec.size() : 1;
  if (spec.is_list() && spec.size() != count) {
    throw spec.error(cat("expected one default, or one for each of the ", columns, " columns, got ", spec.size()));
  }
  const size_t size = size_of(field.dtype);
  out.numbers.resize(field.text ? 0 : count * size);
  for (size_t i = 0; i < count; ++i) {
    const Spec& value = spec.is_list() ? spec.items()[i] : spec;
    if (field.text) {
      out.texts.push_back(value.as_string());
    } else {
      read_default(value, allow_nonfinite, field.dtype, out.numbers.data() + i * size);
    }
  }
  return out;
}

// That the file is no text; where the records have one field, that another delimiter would cut them. Commas in numbers
// may be decimal ones.
std::string one_column_hint(const CsvDialect& dialect) {
  if (std::string hint = encoding_hint(dialect.first_record); !hint.empty()) return hint;
  if (dialect.columns != 1) return {};
  const bool commas =
      dialect.delimiter != ',' && !dialect.header.empty() && dialect.header.front().find(',') != std::string::npos;
  return commas ? "set csv_reader: {delimiter: \",\"}" : delimiter_hint(dialect.first_record, dialect);
}

// The column of a header name.
uint32_t find_name(const FieldRequest::Item& item, const CsvDialect& dialect) {
  const auto& header = dialect.header;
  if (header.empty()) {
    throw item.spec.error(cat("column ", quote(item.text), " is a name, but the files are read without a header"),
                          "set csv_reader: {header: true}, or select columns by index");
  }
  const auto found = std::find(header.begin(), header.end(), item.text);
  if (found == header.end()) {
    const std::string near = nearest(item.text, header);
    const std::string delimiter = one_column_hint(dialect);
    throw item.spec.error(cat("the header has no column ", quote(item.text)), !delimiter.empty() ? delimiter
                                                                              : !near.empty()
                                                                                  ? cat("did you mean ", near, "?")
                                                                                  : cat("it has ", join(header)));
  }
  if (std::find(found + 1, header.end(), item.text) != header.end()) {
    throw item.spec.error(cat("the header has the column ", quote(item.text), " more than once"), "select it by index");
  }
  return static_cast<uint32_t>(found - header.begin());
}

void append_columns(const FieldRequest::Item& item, const CsvDialect& dialect, std::vector<uint32_t>& out) {
  const auto& header = dialect.header;
  const bool is_name = item.quoted && std::find(header.begin(), header.end(), item.text) != header.end();
  if (!item.is_index || is_name) {
    if (is_name && item.first != item.last) {
      throw item.spec.error(cat("column ", quote(item.text), " is a range and a name of the header"),
                            "select it by index");
    }
    out.push_back(dialect.columns == 0 ? 0 : find_name(item, dialect));
    return;
  }
  const auto columns = static_cast<uint64_t>(dialect.columns);
  if (columns > 0 && item.last >= columns) {
    throw item.spec.error(
        cat("there is no column ", item.last, ": the records have ", count_of(dialect.columns, "column"),
            columns == 1 ? " (0)" : cat(" (0 to ", columns - 1, ")")),
        one_column_hint(dialect));
  }
  for (uint64_t column = item.first; column <= item.last; ++column) out.push_back(static_cast<uint32_t>(column));
}

// A byte that no field can hold separates nothing.
void check_split(const FieldRequest& request, const CsvDialect& dialect) {
  if (!request.spec.split) return;
  const char split = *request.spec.split;
  const bool is_quote = dialect.quote == split;
  if (!is_quote && (dialect.quote || split != dialect.delimiter)) return;
  throw request.items.front().spec.error(cat("the split ", quote({&split, 1}), " of ", request.spec.name, " is the ",
                                             is_quote ? "quote" : "delimiter", " of the file"));
}

}  // namespace

std::vector<OptionForm> field_forms() { return {{.is = OptionForm::Is::map, .items = option_forms<FieldOptions>()}}; }

std::vector<FieldRequest> read_fields(const Spec& fields, bool allow_nonfinite) {
  std::vector<FieldRequest> out;
  size_t columns = 0;
  for (const auto& [name, spec] : fields.entries()) {
    const auto options = read_options<FieldOptions>(spec);
    FieldRequest request;
    request.items = read_items(options.columns);
    request.columns = count_columns(request.items, options.columns);
    columns += request.columns;
    if (columns > kMaxColumns) {
      throw options.columns.error(cat("all fields together may have ", kMaxColumns, " columns at most"));
    }
    request.spec = {name, dtype_of(options.type), Shape{static_cast<int64_t>(request.columns)}};
    request.spec.text = options.type == ColumnType::string;
    if (options.split) {
      if (request.columns > 1) {
        throw options.columns.error(cat("a field with split has one column, got ", request.columns));
      }
      request.spec.split = options.split->front();
    }
    request.defaults = read_defaults(options.default_value, allow_nonfinite, request.spec, request.columns);
    out.push_back(std::move(request));
  }
  if (out.empty()) throw fields.error("expected at least one field", "write name: {columns: 0-9}");
  return out;
}

std::vector<SelectedField> select_fields(const std::vector<FieldRequest>& requests, const CsvDialect& dialect) {
  std::vector<SelectedField> out;
  for (const FieldRequest& request : requests) {
    SelectedField field;
    field.spec = request.spec;
    check_split(request, dialect);
    field.defaults = request.defaults;
    for (const FieldRequest::Item& item : request.items) append_columns(item, dialect, field.columns);
    out.push_back(std::move(field));
  }
  return out;
}

}  // namespace millrace

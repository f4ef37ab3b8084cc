#include "millrace/input/csv/field_selection.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/record_scanner.h"

namespace millrace {

enum class ColumnType { float32, float64, int32, int64, uint8, string, date, timestamp };
template <>
struct EnumNames<ColumnType> {
  static constexpr std::pair<std::string_view, ColumnType> kNames[] = {
      {"float32", ColumnType::float32}, {"float64", ColumnType::float64},    {"int32", ColumnType::int32},
      {"int64", ColumnType::int64},     {"uint8", ColumnType::uint8},        {"string", ColumnType::string},
      {"date", ColumnType::date},       {"timestamp", ColumnType::timestamp}};
};

enum class TimeType { float64, int64 };
template <>
struct EnumNames<TimeType> {
  static constexpr std::pair<std::string_view, TimeType> kNames[] = {{"float64", TimeType::float64},
                                                                     {"int64", TimeType::int64}};
};

namespace {

// The most columns of one field; a range beyond it is a typo.
constexpr uint64_t kMaxColumns = 1u << 24;

struct FieldOptions {
  Spec columns;
  ColumnType type = ColumnType::float32;
  Spec default_value;
  std::optional<std::vector<std::string>> missing;
  std::optional<std::string> split;
  std::optional<RowSizes> reshape;
  std::optional<std::string> format;
  std::optional<TimeType> as;

  void declare(OptionReader& o) {
    o.required("columns", columns, "an index from 0, a range a-b, a header name, or a list of these");
    o.optional("type", type, "type of the values; date and timestamp become seconds since 1970, UTC");
    o.optional("default", default_value, "what an empty or missing value becomes: one value, or one for each column");
    o.may_be("columns", one_or_list({{.is = OptionForm::Is::integer, .range = {.min = 0}}, text()}));
    o.optional("missing", missing,
               "texts, besides the empty one, that mean a missing value in this field; they replace decode_csv's");
    o.optional("split", split, "the byte between the values of one column; rows may differ in how many they have");
    o.may_be("default", one_or_list({{.is = OptionForm::Is::number}, {.is = OptionForm::Is::text}}, false));
    o.optional(
        "reshape", reshape,
        "sizes of the axes of a row's values, such as [1, 28, 28]; one may be -1, which takes what the others leave");
    o.optional("format", format,
               "how dates or times are written, in letters of strftime such as \"%d/%m/%Y %H:%M\"; absent: as ISO 8601 "
               "does, 2024-12-31 or 2024-12-31T18:30:00Z");
    o.optional("as", as, "the type of the numbers that dates and times become: float64 by default");
    if (!o.reading()) return;
    if (reshape) check_reshape(o.node("reshape"));
    if (split) check_split(o.node("split"));
    if (format || as) check_time(o.node(format ? "format" : "as"));
  }

  bool is_time() const { return type == ColumnType::date || type == ColumnType::timestamp; }
  DType dtype() const {
    // By ColumnType.
    constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::i32, DType::i64,
                                 DType::u8,  DType::u8,  DType::f64, DType::f64};
    return as == TimeType::int64 ? DType::i64 : kDTypes[static_cast<size_t>(type)];
  }
  // How the texts are written, if they are dates or times.
  std::optional<TimeFormat> time(const Spec& spec) const {
    if (!is_time()) return {};
    try {
      return TimeFormat(type == ColumnType::date ? TimeFormat::Kind::date : TimeFormat::Kind::timestamp,
                        format.value_or(""));
    } catch (const ConfigError& error) {
      throw spec.find("format")->error(error.message(), error.hint());
    }
  }

 private:
  void check_reshape(const Spec& node) const {
    if (split) {
      throw node.error("a ragged field has a length of its own in every row, so it has no shape",
                       "leave split or reshape out");
    }
    if (type == ColumnType::string) throw node.error("reshape takes numbers, the field is of type string");
  }
  void check_split(const Spec& node) const {
    if (split->size() != 1 || *split == "\n" || *split == "\r") {
      throw node.error(cat("expected one byte other than a line end, got ", quote(*split)));
    }
    constexpr std::string_view kNumbers = "0123456789+-.eE";
    if (type != ColumnType::string && kNumbers.find(split->front()) != kNumbers.npos) {
      throw node.error(cat("the byte ", quote(*split), " may stand in a number"));
    }
  }
  void check_time(const Spec& node) const {
    if (!is_time()) throw node.error("this key is for fields of type date or timestamp");
    if (format && format->empty()) throw node.error("the format is empty", "leave it out for ISO 8601");
  }
  static OptionForm text() { return {.is = OptionForm::Is::text, .pattern = "."}; }
  static std::vector<OptionForm> one_or_list(std::vector<OptionForm> forms, bool not_empty = true) {
    OptionForm list{.is = OptionForm::Is::list, .items = forms, .not_empty = not_empty};
    forms.push_back(std::move(list));
    return forms;
  }
};

template <class T>
bool parse_index(std::string_view text, T& out) {
  const char* last = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), last, out);
  return failure == std::errc() && stop == last;
}

void check_range(const FieldRequest::Item& item) {
  if (item.last >= item.first) return;
  throw item.spec.error(cat("the range ", item.text, " runs backwards"), cat("write ", item.last, '-', item.first));
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
    if (!item.quoted) check_range(item);
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

// Throws if a field with `others` columns may not have one more.
void check_count(uint64_t others, const Spec& columns) {
  if (others < kMaxColumns) return;
  throw columns.error(cat("a field may have ", kMaxColumns, " columns at most, got ", columns.describe()));
}

size_t count_columns(const std::vector<FieldRequest::Item>& items, const Spec& columns) {
  uint64_t count = 0;
  for (const FieldRequest::Item& item : items) {
    count += item.is_index && !item.is_open() ? std::min(item.last - item.first, kMaxColumns) + 1 : 1;
  }
  check_count(count - 1, columns);
  return static_cast<size_t>(count);
}

// A hint that the file is not text or, if the records have one field, that another delimiter would cut them. Commas
// between digits may be decimal commas, so only the header is searched for a comma.
std::string one_column_hint(const CsvDialect& dialect) {
  if (dialect.first_record.empty()) return {};
  if (std::string hint = encoding_hint(dialect.first_record); !hint.empty()) return hint;
  if (dialect.columns != 1) return {};
  const bool commas =
      dialect.delimiter != ',' && !dialect.header.empty() && dialect.header.front().find(',') != std::string::npos;
  if (commas) return "set csv_reader: {delimiter: \",\"}";
  std::string hint = delimiter_hint(dialect.first_record, dialect);
  return hint.empty() ? first_line_hint(dialect) : hint;
}

// The first names of the header; those with blanks and the like are quoted.
std::string names_of(const std::vector<std::string>& header) {
  constexpr size_t kMost = 10;
  const auto shown = [](const std::string& name) {
    const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; };
    return !name.empty() && std::all_of(name.begin(), name.end(), plain) ? name : quote(name);
  };
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(header.size(), kMost); ++i) names.push_back(shown(header[i]));
  if (header.size() > kMost) names.push_back(cat(header.size() - kMost, " more"));
  return join(names);
}

// A hint for a name that the header lacks: a name that may be meant, or the names of the header.
std::string name_hint(const std::string& name, const CsvDialect& dialect) {
  const auto& header = dialect.header;
  if (std::string hint = one_column_hint(dialect); !hint.empty()) return hint;
  const bool blanks =
      header.size() == 1 && cat(' ', header.front(), ' ').find(cat(' ', name, ' ')) != std::string::npos;
  if (blanks && dialect.delimiter != ' ') return "set csv_reader: {delimiter: \" \"}";
  const std::string near = nearest(name, header);
  return near.empty() ? cat("it has ", names_of(header)) : cat("did you mean ", names_of({near}), '?');
}

// " of a.csv"; empty if the file is not known.
std::string of_file(const CsvDialect& dialect) { return dialect.file.empty() ? "" : cat(" of ", dialect.file); }

uint32_t find_name(const FieldRequest::Item& item, const CsvDialect& dialect) {
  const auto& header = dialect.header;
  if (header.empty()) {
    const bool numbers = item.text.find_first_not_of("0123456789.,:;-* ") == std::string::npos;
    throw item.spec.error(cat("column ", quote(item.text), " is a name, but the files are read without a header"),
                          numbers ? "write columns as 3 or 0-9, or as a list of these"
                                  : "set csv_reader: {header: true}, or select columns by index");
  }
  const auto found = std::find(header.begin(), header.end(), item.text);
  if (found == header.end()) {
    throw item.spec.error(cat("the header", of_file(dialect), " has no column ", quote(item.text)),
                          name_hint(item.text, dialect));
  }
  if (std::find(found + 1, header.end(), item.text) != header.end()) {
    throw item.spec.error(cat("the header", of_file(dialect), " has the column ", quote(item.text), " more than once"),
                          "select it by index");
  }
  return static_cast<uint32_t>(found - header.begin());
}

void append_columns(const FieldRequest::Item& item, const CsvDialect& dialect, std::vector<uint32_t>& out) {
  const auto& header = dialect.header;
  const bool is_name = item.quoted && std::find(header.begin(), header.end(), item.text) != header.end();
  if (!item.is_index || is_name) {
    out.push_back(dialect.columns == 0 ? 0 : find_name(item, dialect));
    return;
  }
  check_range(item);
  const auto columns = static_cast<uint64_t>(dialect.columns);
  if (columns > 0 && item.last >= columns) {
    throw item.spec.error(
        cat("there is no column ", item.last, ": the records", of_file(dialect), " have ",
            count_of(dialect.columns, "column"), columns == 1 ? " (0)" : cat(" (0 to ", columns - 1, ")")),
        one_column_hint(dialect));
  }
  check_count(item.last - item.first, item.spec);
  for (uint64_t column = item.first; column <= item.last; ++column) out.push_back(static_cast<uint32_t>(column));
}

// A hint for a number of columns that does not fit the shape.
std::string reshape_hint(const FieldRequest& request, size_t columns) {
  const FieldRequest::Item& item = request.items.front();
  const bool range = request.items.size() == 1 && item.is_index && columns > 1;
  return range ? cat("both ends of the range ", item.text, " count") : "select as many columns, or give other sizes";
}

Shape shape_of(const FieldRequest& request, size_t columns) {
  const auto count = static_cast<int64_t>(columns);
  if (!request.reshape) return Shape{count};
  try {
    if (const std::optional<Shape> shape = request.reshape->shape_of(count)) return *shape;
  } catch (const ShapeError& error) {
    throw request.reshape_node.error(error.message());
  }
  throw request.reshape_node.error(
      cat("expected ", request.reshape->wanted("column"), " for the shape ", request.reshape->text(), ", got ", count),
      reshape_hint(request, columns));
}

// Sets what depends on the number of columns.
void settle(FieldRequest& request, size_t columns) {
  SelectedField& field = request.field;
  if (field.spec.split && columns > 1) {
    throw request.items.front().spec.error(cat("a field with split has one column, got ", columns));
  }
  field.spec.shape = shape_of(request, columns);
  field.defaults = read_default_values({.spec = request.default_value,
                                        .field = field.spec,
                                        .columns = columns,
                                        .time = field.time ? &*field.time : nullptr,
                                        .allow_nonfinite = request.allow_nonfinite});
}

// The split must be a byte that a field can hold.
void check_split(const FieldRequest& request, const CsvDialect& dialect) {
  const FieldSpec& field = request.field.spec;
  if (!field.split) return;
  const char split = *field.split;
  const bool is_quote = dialect.quote == split;
  if (!is_quote && (dialect.quote || split != dialect.delimiter)) return;
  throw request.items.front().spec.error(cat("the split ", quote({&split, 1}), " of ", field.name, " is the ",
                                             is_quote ? "quote" : "delimiter", " of the file"));
}

// The place of a column's name in the header. Names may hold line ends, so it may be on a later line.
Place place_of(uint32_t column, const CsvDialect& dialect) {
  ScannedRecord record;
  if (!RecordScanner(dialect).scan(dialect.first_record, true, record) || record.size() <= column) {
    return {dialect.file, dialect.header_line, 1};
  }
  const Spot spot = spot_of(record.text(), record.start(column));
  return {dialect.file, dialect.header_line + static_cast<int64_t>(spot.lines), spot.column};
}

}  // namespace

std::vector<OptionForm> field_forms() { return {{.is = OptionForm::Is::map, .items = option_forms<FieldOptions>()}}; }

std::vector<FieldRequest> read_fields(const Spec& fields, bool allow_nonfinite, bool lists) {
  if (!fields.is_map()) {
    throw fields.error(cat("expected a map of fields, got ", fields.describe()),
                       "write fields: {name: {columns: 0-9}}");
  }
  std::vector<FieldRequest> out;
  size_t all_columns = 0;
  for (const auto& [name, spec] : fields.entries()) {
    if (!spec.is_map()) {
      const std::string columns = spec.is_scalar() ? spec.describe() : "..";
      throw spec.error(cat("expected a map, got ", spec.describe()), cat("write ", name, ": {columns: ", columns, '}'));
    }
    const auto options = read_options<FieldOptions>(spec);
    FieldRequest request;
    request.items = read_items(options.columns);
    const size_t columns = count_columns(request.items, options.columns);
    all_columns += columns;
    if (all_columns > kMaxColumns) {
      throw options.columns.error(cat("all fields together may have ", kMaxColumns, " columns at most"));
    }
    FieldSpec& field = request.field.spec;
    field = {name, options.dtype(), Shape{}};
    field.text = options.type == ColumnType::string;
    request.field.time = options.time(spec);
    if (options.split) field.split = options.split->front();
    request.field.missing = options.missing;
    request.default_value = options.default_value;
    if (options.reshape) {
      request.reshape = options.reshape;
      request.reshape_node = *spec.find("reshape");
    }
    request.allow_nonfinite = allow_nonfinite;
    request.is_open = std::ranges::any_of(request.items, &FieldRequest::Item::is_open) || (lists && columns == 1);
    if (!request.is_open) settle(request, columns);
    out.push_back(std::move(request));
  }
  if (out.empty()) throw fields.error("expected at least one field", "write name: {columns: 0-9}");
  return out;
}

std::vector<uint32_t> columns_of(const FieldRequest& request, const CsvDialect& dialect) {
  std::vector<uint32_t> out;
  for (const FieldRequest::Item& item : request.items) append_columns(item, dialect, out);
  return out;
}

std::vector<SelectedField> select_fields(const std::vector<FieldRequest>& requests, const CsvDialect& dialect) {
  std::vector<SelectedField> out;
  for (FieldRequest request : requests) {
    check_split(request, dialect);
    request.field.columns = columns_of(request, dialect);
    if (request.is_open) settle(request, request.field.columns.size());
    out.push_back(std::move(request.field));
  }
  return out;
}

SelectedField field_of_columns(FieldRequest request, size_t columns) {
  settle(request, columns);
  return std::move(request.field);
}

HeaderNames::HeaderNames(const Spec& names) {
  if (names.is_null()) return;
  if (!names.is_map()) {
    throw names.error(cat("expected a map from columns to names, got ", names.describe()),
                      "write names: {0: \"\", 2: length}");
  }
  for (const auto& [key, spec] : names.entries()) {
    Name name = {.text = spec.as_string(), .spec = spec};
    if (!parse_index(key, name.column)) throw spec.error(cat("expected the index of a column, got ", quote(key)));
    names_.push_back(std::move(name));
  }
}

void HeaderNames::check(const std::vector<uint32_t>& columns, const CsvDialect& dialect) const {
  if (dialect.columns == 0) return;  // nothing will be read
  for (const Name& name : names_) {
    if (std::find(columns.begin(), columns.end(), name.column) == columns.end()) continue;
    if (dialect.header.empty()) {
      throw name.spec.error("the files are read without a header",
                            "set csv_reader: {header: true}, or leave names out");
    }
    const std::string& found = dialect.header[name.column];
    if (found == name.text) continue;
    throw DataError(cat("expected column ", name.column, " to be called ", quote(name.text), ", got ", quote(found)),
                    place_of(name.column, dialect),
                    "this column is selected by its number: it has to stand at the same place in every file");
  }
}

std::optional<std::string> HeaderNames::of(uint64_t column) const {
  const auto named = std::ranges::find(names_, column, &Name::column);
  const auto same = [&](const Name& other) { return other.column < column && other.text == named->text; };
  if (named == names_.end() || std::ranges::any_of(names_, same)) return {};
  return named->text;
}

std::vector<FieldRequest> for_named_columns(std::vector<FieldRequest> requests, const HeaderNames& header,
                                            std::vector<std::string>& names) {
  std::map<std::string, uint64_t> known;
  for (FieldRequest& request : requests) {
    std::vector<FieldRequest::Item> items;
    const auto add = [&](std::string name, const Spec& spec) {
      const auto [column, is_new] = known.emplace(std::move(name), names.size());
      if (is_new) names.push_back(column->first);
      items.push_back({.text = cat(column->second),
                       .is_index = true,
                       .first = column->second,
                       .last = column->second,
                       .spec = spec});
    };
    for (const FieldRequest::Item& item : request.items) {
      if (!item.is_index) add(item.text, item.spec);
      for (uint64_t column = item.first; item.is_index && column <= item.last; ++column) {
        add(header.of(column).value_or(cat(column)), item.spec);
      }
    }
    request.items = std::move(items);
  }
  return requests;
}

std::vector<std::string> column_names(const std::vector<FieldRequest>& requests, const HeaderNames& header,
                                      std::string_view field) {
  const auto request = std::ranges::find(requests, field, [](const FieldRequest& one) { return one.field.spec.name; });
  std::vector<std::string> names;
  if (request == requests.end()) return names;
  for (const FieldRequest::Item& item : request->items) {
    if (!item.is_index) names.push_back(item.text);
    for (uint64_t column = item.first; item.is_index && column <= item.last; ++column) {
      std::optional<std::string> name = header.of(column);
      if (!name) return {};
      names.push_back(std::move(*name));
    }
  }
  return names;
}

}  // namespace millrace

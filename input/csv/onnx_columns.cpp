#include "millrace/input/csv/onnx_columns.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/number_parser.h"
#include "millrace/input/csv/onnx_times.h"

namespace millrace {

namespace {

struct Column {
  FieldRequest request;
  SelectedField field;
  std::vector<std::string> missing;  // texts besides the empty one
  bool allow_nonfinite;
  int64_t count;
};

bool holds_texts(const Column& column) {
  const SelectedField& field = column.field;
  return field.spec.text || field.time.has_value() || field.spec.ragged();
}

// Whether float32 does not hold the numbers.
bool is_wide(DType dtype) { return dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64; }

// The type that the values of the columns begin with. A missing number is a NaN, so there are no whole ones.
OnnxType input_type(const Column& column) {
  if (holds_texts(column)) return OnnxType::text;
  return is_wide(column.field.spec.dtype) ? OnnxType::f64 : OnnxType::f32;
}

bool is_name(const FieldRequest::Item& item) { return !item.is_index || item.is_open(); }

using Names = std::set<std::string, std::less<>>;

// The names of columns that some field reads as float64. They are inputs of that type for all fields.
Names wide_columns(const std::vector<FieldRequest>& requests, OnnxRows& rows) {
  Names out;
  for (const FieldRequest& request : requests) {
    const FieldSpec* const spec = rows.find(request.field.spec.name);
    if (spec == nullptr || !is_wide(spec->dtype)) continue;
    for (const FieldRequest::Item& item : request.items) out.insert(item.text);
  }
  return out;
}

// (rows, columns), as the user gives it.
OnnxValue add_inputs(const Column& column, const Names& wide, OnnxRows& rows) {
  const OnnxType type = input_type(column);
  const std::vector<FieldRequest::Item>& items = column.request.items;
  const auto add = [&](const std::string& name, std::vector<std::string> columns, int64_t count) {
    const OnnxType given = type == OnnxType::f32 && wide.contains(columns.front()) ? OnnxType::f64 : type;
    rows.add_text_input({name, std::move(columns), type == OnnxType::text});
    const OnnxValue input = rows.graph().input(name, given, {count});
    return given == type ? input : rows.graph().cast(input, type);
  };
  if (std::ssize(items) != column.count || !std::ranges::all_of(items, is_name)) {
    std::vector<std::string> columns;
    for (const FieldRequest::Item& item : items) columns.push_back(item.text);
    return add(column.field.spec.name, std::move(columns), column.count);
  }
  std::vector<OnnxValue> parts;
  for (const FieldRequest::Item& item : items) parts.push_back(add(item.text, {item.text}, 1));
  return parts.size() == 1 ? parts.front() : rows.graph().add("Concat", parts, {{"axis", int64_t{1}}});
}

// Which texts are among the keys: truth values.
OnnxValue are_among(const std::vector<std::string>& keys, OnnxValue texts, OnnxGraph& graph) {
  const std::vector<int64_t> ones(keys.size(), 1);
  return graph.cast(graph.add_ml("LabelEncoder", {texts},
                                 {{"keys_strings", keys}, {"values_int64s", ones}, {"default_int64", int64_t{0}}}),
                    OnnxType::boolean);
}

// Which texts are missing: (rows, columns) of truth values.
OnnxValue missing_texts(const Column& column, OnnxValue texts, OnnxGraph& graph) {
  std::vector<std::string> keys = {""};
  for (const std::string& text : column.missing) {
    if (std::ranges::find(keys, text) == keys.end()) keys.push_back(text);
  }
  return are_among(keys, texts, graph);
}

OnnxValue text_values(const Column& column, OnnxValue texts, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  const OnnxValue missing = missing_texts(column, texts, graph);
  if (!column.field.defaults.given) {
    rows.refuse(missing);
    return texts;
  }
  return graph.add("Where", {missing, graph.texts(column.field.defaults.texts, {column.count}), texts});
}

// The defaults of a field of numbers or of times, one for each column.
OnnxValue default_values(const Column& column, OnnxType type, OnnxGraph& graph) {
  const DType dtype = column.field.spec.dtype;
  const ConstTensorView values(column.field.defaults.numbers.data(), dtype, Shape{column.count});
  const OnnxValue out = graph.constant(values, "default");
  return onnx_type(dtype) == type ? out : graph.cast(out, type);
}

// Which numbers are missing: NaN, and those that a text which stands for a missing value writes.
OnnxValue missing_numbers(const Column& column, OnnxValue numbers, OnnxType type, OnnxGraph& graph) {
  OnnxValue any = graph.add("IsNaN", {numbers});
  for (const std::string& text : column.missing) {
    double value{};
    float narrow{};
    if (parse_number(text, value) != NumberStatus::ok || std::isnan(value)) continue;
    if (type == OnnxType::f32 && parse_number(text, narrow) == NumberStatus::ok) value = static_cast<double>(narrow);
    any = graph.add("Or", {any, graph.add("Equal", {numbers, graph.number(type, value)})});
  }
  return any;
}

// Whole numbers, which are refused if they are not.
OnnxValue whole_values(DType dtype, OnnxType given, OnnxValue numbers, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  const double least = dtype == DType::u8 ? 0 : dtype == DType::i32 ? -0x1p31 : -0x1p63;
  // No double is the largest int64.
  const double most = dtype == DType::u8 ? 255 : dtype == DType::i32 ? 0x1p31 - 1 : 0x1.fffffffffffffp62;
  const OnnxValue nearest =
      graph.add("Clip", {graph.add("Floor", {numbers}), graph.number(given, least), graph.number(given, most)});
  const OnnxValue good = graph.add("Equal", {numbers, nearest});
  rows.refuse(graph.add("Not", {good}));
  return graph.cast(graph.add("Where", {good, numbers, graph.number(given, 0)}), onnx_type(dtype));
}

OnnxValue number_values(const Column& column, OnnxValue numbers, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  const OnnxType type = input_type(column);
  const OnnxValue missing = missing_numbers(column, numbers, type, graph);
  if (!column.allow_nonfinite) {
    const OnnxValue infinite = graph.add("IsInf", {numbers});
    rows.refuse(graph.add("Greater", {graph.cast(infinite, OnnxType::i32), graph.cast(missing, OnnxType::i32)}));
  }
  if (column.field.defaults.given) {
    numbers = graph.add("Where", {missing, default_values(column, type, graph), numbers});
  } else {
    rows.refuse(missing);
  }
  const DType dtype = column.field.spec.dtype;
  return is_integer(dtype) ? whole_values(dtype, type, numbers, rows) : numbers;
}

OnnxValue time_values(const Column& column, OnnxValue texts, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  const OnnxValue missing = missing_texts(column, texts, graph);
  if (!column.field.defaults.given) rows.refuse(missing);
  const OnnxType type = onnx_type(column.field.spec.dtype);
  const OnnxValue seconds = add_seconds(*column.field.time, type, texts, missing, rows);
  if (!column.field.defaults.given) return seconds;
  return graph.add("Where", {missing, default_values(column, type, graph), seconds});
}

// A number or a text of a ragged field as it is written.
std::string default_text(const Column& column, size_t index) {
  if (column.field.spec.text) return column.field.defaults.texts[index];
  std::string out;
  with_parsed_type(column.field.spec.dtype, [&](auto value) {
    std::memcpy(&value, column.field.defaults.numbers.data() + index * sizeof value, sizeof value);
    out = cat(+value);
  });
  return out;
}

// The text that reads as the defaults of a ragged field.
std::string default_list(const Column& column) {
  const FieldSpec& field = column.field.spec;
  const size_t count =
      field.text ? column.field.defaults.texts.size() : column.field.defaults.numbers.size() / size_of(field.dtype);
  std::string out;
  for (size_t i = 0; i < count; ++i) out += cat(i == 0 ? "" : std::string(1, *field.split), default_text(column, i));
  return out;
}

// What the values of a ragged field are written like. Runtimes fail for a number that is no float64, so it has at most
// two digits of an exponent.
std::string_view number_pattern(const Column& column) {
  constexpr std::string_view kFinite = R"([ \t]*[+-]?(\d{1,99}(\.\d{0,99})?|\.\d{1,99})([eE][+-]?\d\d?)?[ \t]*)";
  constexpr std::string_view kAny =
      R"([ \t]*[+-]?((\d{1,99}(\.\d{0,99})?|\.\d{1,99})([eE][+-]?\d\d?)?|(?i:inf|infinity|nan))[ \t]*)";
  if (is_integer(column.field.spec.dtype)) return R"([ \t]*[+-]?\d{1,18}[ \t]*)";
  return column.allow_nonfinite ? kAny : kFinite;
}

// The values of a ragged field, from one text for each row.
OnnxRows::Ragged ragged_values(const Column& column, OnnxValue texts, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  graph.need_opset(20);  // has StringSplit
  const OnnxValue missing = missing_texts(column, texts, graph);
  if (column.field.defaults.given) {
    texts = graph.add("Where", {missing, graph.text(default_list(column)), texts});
  } else {
    rows.refuse(missing);
  }
  const FieldSpec& field = column.field.spec;
  if (*field.split == '\t') {
    throw ConfigError(cat("the field ", quote(field.name), " is split at tabs, which cannot be written as ONNX"));
  }
  // An empty delimiter is any number of spaces.
  std::string delimiter(*field.split == ' ' ? 0 : 1, *field.split);
  const OnnxValue flat = graph.reshape(texts, Shape{});
  const OnnxValue parts = graph.add("StringSplit", {flat}, {{"delimiter", std::move(delimiter)}}, 2);
  const OnnxValue counts = graph.nodes().back().outputs.back();
  if (field.text) return {parts, counts};
  const OnnxValue good = graph.add("RegexFullMatch", {parts}, {{"pattern", std::string(number_pattern(column))}});
  // Behind the values of a row are empty texts.
  const OnnxValue numbers =
      graph.add("ReduceSum", {graph.cast(good, OnnxType::i64), graph.list({1})}, {{"keepdims", int64_t{0}}});
  rows.refuse(graph.add("Not", {graph.add("Equal", {numbers, counts})}));
  const OnnxValue known = graph.add("Where", {good, parts, graph.text("0")});
  if (field.dtype == DType::i64) return {graph.cast(known, OnnxType::i64), counts};
  // Runtimes may fail for a text whose number is beyond float32; a float64 of that size becomes infinite or 0. A
  // float32 is rounded twice so, which matters only to texts with more digits than a float64 holds.
  const OnnxValue wide = graph.cast(known, OnnxType::f64);
  if (is_integer(field.dtype)) return {whole_values(field.dtype, OnnxType::f64, wide, rows), counts};
  const OnnxValue values = graph.cast(wide, onnx_type(field.dtype));
  if (!column.allow_nonfinite) rows.refuse(graph.add("IsInf", {values}));
  return {values, counts};
}

OnnxValue column_values(const Column& column, OnnxValue input, OnnxRows& rows) {
  if (column.field.time) return time_values(column, input, rows);
  return column.field.spec.text ? text_values(column, input, rows) : number_values(column, input, rows);
}

}  // namespace

void add_csv_columns(const std::vector<FieldRequest>& requests, const ValueRules& rules, OnnxRows& rows) {
  const Names wide = wide_columns(requests, rows);
  for (const FieldRequest& request : requests) {
    const FieldSpec* const spec = rows.find(request.field.spec.name);
    if (spec == nullptr) continue;
    if (spec->ragged()) {
      const Column column{request, request.field, request.field.missing.value_or(rules.missing), rules.allow_nonfinite,
                          1};
      rows.set_ragged(spec->name, ragged_values(column, add_inputs(column, wide, rows), rows));
      continue;
    }
    const auto count = spec->shape.elements();
    SelectedField field = field_of_columns(request, static_cast<size_t>(count));
    const Column column{request, field, field.missing.value_or(rules.missing), rules.allow_nonfinite, count};
    OnnxValue values = column_values(column, add_inputs(column, wide, rows), rows);
    if (field.spec.shape.rank() != 1) values = rows.graph().reshape(values, field.spec.shape);
    rows.set(field.spec, values);
  }
}

}  // namespace millrace

#include "millrace/input/csv/onnx_columns.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
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

// The type that the values of the columns begin with. A missing number is a NaN, so there are no whole ones.
OnnxType input_type(const Column& column) {
  if (holds_texts(column)) return OnnxType::text;
  const DType dtype = column.field.spec.dtype;
  return dtype == DType::f64 || dtype == DType::i64 ? OnnxType::f64 : OnnxType::f32;
}

bool is_name(const FieldRequest::Item& item) { return !item.is_index || item.is_open(); }

using Names = std::set<std::string, std::less<>>;

// The names of columns that some field reads as float64. They are inputs of that type for all fields.
Names wide_columns(const std::vector<FieldRequest>& requests, OnnxRows& rows) {
  Names out;
  for (const FieldRequest& request : requests) {
    const FieldSpec* const spec = rows.find(request.field.spec.name);
    if (spec == nullptr || (spec->dtype != DType::f64 && spec->dtype != DType::i64)) continue;
    for (const FieldRequest::Item& item : request.items) out.insert(item.text);
  }
  return out;
}

// (rows, columns), as the user gives it.
std::string add_inputs(const Column& column, const Names& wide, OnnxRows& rows) {
  const OnnxType type = input_type(column);
  const std::vector<FieldRequest::Item>& items = column.request.items;
  const auto add = [&](const std::string& name, std::vector<std::string> columns, int64_t count) {
    const OnnxType given = type == OnnxType::f32 && wide.contains(columns.front()) ? OnnxType::f64 : type;
    rows.add_text_input({name, std::move(columns), type == OnnxType::text});
    const std::string input = rows.graph().input(name, given, {count});
    return given == type ? input : rows.graph().cast(input, type);
  };
  if (std::ssize(items) != column.count || !std::ranges::all_of(items, is_name)) {
    std::vector<std::string> columns;
    for (const FieldRequest::Item& item : items) columns.push_back(item.text);
    return add(column.field.spec.name, std::move(columns), column.count);
  }
  std::vector<std::string> parts;
  for (const FieldRequest::Item& item : items) parts.push_back(add(item.text, {item.text}, 1));
  return parts.size() == 1 ? parts.front() : rows.graph().add("Concat", std::move(parts), {{"axis", int64_t{1}}});
}

// Which texts are missing: (rows, columns) of truth values.
std::string missing_texts(const Column& column, const std::string& texts, OnnxGraph& graph) {
  std::vector<std::string> keys = {""};
  for (const std::string& text : column.missing) {
    if (std::ranges::find(keys, text) == keys.end()) keys.push_back(text);
  }
  const std::vector<int64_t> ones(keys.size(), 1);
  return graph.cast(graph.add_ml("LabelEncoder", {texts},
                                 {{"keys_strings", keys}, {"values_int64s", ones}, {"default_int64", int64_t{0}}}),
                    OnnxType::boolean);
}

std::string text_values(const Column& column, const std::string& texts, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  const std::string missing = missing_texts(column, texts, graph);
  if (!column.field.defaults.given) {
    rows.refuse(missing);
    return texts;
  }
  return graph.add("Where", {missing, graph.texts(column.field.defaults.texts, {column.count}), texts});
}

// The defaults, one for each column, as values of W.
template <class W>
std::string default_values(const Column& column, OnnxGraph& graph) {
  std::vector<W> values;
  with_parsed_type(column.field.spec.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < static_cast<size_t>(column.count); ++i) {
      T value;
      std::memcpy(&value, column.field.defaults.numbers.data() + i * sizeof(T), sizeof(T));
      values.push_back(static_cast<W>(value));
    }
  });
  return graph.list(values);
}

// Which numbers are missing, besides NaN: those that a text which stands for a missing value writes. Empty: none.
template <class W>
std::string missing_numbers(const Column& column, const std::string& numbers, OnnxGraph& graph) {
  std::string any;
  for (const std::string& text : column.missing) {
    W value{};
    if (parse_number(text, value) != NumberStatus::ok || std::isnan(value)) continue;
    const std::string same = graph.add("Equal", {numbers, graph.constant(value)});
    any = any.empty() ? same : graph.add("Or", {any, same});
  }
  return any;
}

// Whole numbers of type T, which are refused if they are not.
template <class T, class W>
std::string whole_values(const std::string& numbers, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  // W may not have the largest T, but a number above it.
  constexpr T kMost = std::numeric_limits<T>::max();
  W most = static_cast<W>(kMost);
  if (static_cast<long double>(most) > static_cast<long double>(kMost)) most = std::nextafter(most, W{0});
  const std::string least = graph.constant(static_cast<W>(std::numeric_limits<T>::min()));
  const std::string nearest = graph.add("Clip", {graph.add("Floor", {numbers}), least, graph.constant(most)});
  const std::string good = graph.add("Equal", {numbers, nearest});
  rows.refuse(graph.add("Not", {good}));
  return graph.cast(graph.add("Where", {good, numbers, graph.constant(W{0})}), onnx_type(DTypeOf<T>::value));
}

template <class T, class W>
std::string number_values(const Column& column, std::string numbers, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  const std::string others = missing_numbers<W>(column, numbers, graph);
  if (column.field.defaults.given) {
    std::string missing = graph.add("IsNaN", {numbers});
    if (!others.empty()) missing = graph.add("Or", {missing, others});
    numbers = graph.add("Where", {missing, default_values<W>(column, graph), numbers});
  } else if (!others.empty()) {
    rows.refuse(others);
  }
  if (!column.allow_nonfinite) rows.refuse(graph.add("IsInf", {numbers}));
  if constexpr (std::is_integral_v<T>) {
    return whole_values<T, W>(numbers, rows);
  } else {
    return numbers;
  }
}

std::string time_values(const Column& column, const std::string& texts, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  const std::string missing = missing_texts(column, texts, graph);
  if (!column.field.defaults.given) rows.refuse(missing);
  std::string seconds = add_seconds(*column.field.time, texts, missing, rows);
  if (column.field.defaults.given)
    seconds = graph.add("Where", {missing, default_values<double>(column, graph), seconds});
  return column.field.spec.dtype == DType::i64 ? graph.cast(graph.add("Floor", {seconds}), OnnxType::i64) : seconds;
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

// The values of a ragged field, from one text for each row.
OnnxRows::Ragged ragged_values(const Column& column, std::string texts, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  graph.need_opset(20);  // has StringSplit
  const std::string missing = missing_texts(column, texts, graph);
  if (column.field.defaults.given) {
    texts = graph.add("Where", {missing, graph.texts({default_list(column)}, {1}), texts});
  } else {
    rows.refuse(missing);
  }
  const FieldSpec& field = column.field.spec;
  const bool blank = *field.split == ' ' || *field.split == '\t';
  std::vector<OnnxAttribute> attributes;
  if (!blank) attributes.push_back({"delimiter", std::string(1, *field.split)});
  const std::string flat = graph.reshape(texts, Shape{});
  const std::string parts = graph.add("StringSplit", {flat}, std::move(attributes), 2);
  const std::string counts = graph.nodes().back().outputs.back();
  if (field.text) return {parts, counts};
  const std::string empty = graph.cast(graph.add_ml("LabelEncoder", {parts},
                                                    {{"keys_strings", std::vector<std::string>{""}},
                                                     {"values_int64s", std::vector<int64_t>{1}},
                                                     {"default_int64", int64_t{0}}}),
                                       OnnxType::boolean);
  // An empty part among the values is no number.
  const std::string numbers =
      graph.add("ReduceSum", {graph.cast(graph.add("Not", {empty}), OnnxType::i64), graph.list<int64_t>({1})},
                {{"keepdims", int64_t{0}}});
  rows.refuse(graph.add("Not", {graph.add("Equal", {numbers, counts})}));
  return {graph.cast(graph.add("Where", {empty, graph.texts({"0"}, {1}), parts}), onnx_type(field.dtype)), counts};
}

std::string column_values(const Column& column, const std::string& input, OnnxRows& rows) {
  if (column.field.time) return time_values(column, input, rows);
  if (column.field.spec.text) return text_values(column, input, rows);
  switch (column.field.spec.dtype) {
    case DType::f64: return number_values<double, double>(column, input, rows);
    case DType::i32: return number_values<int32_t, float>(column, input, rows);
    case DType::i64: return number_values<int64_t, double>(column, input, rows);
    case DType::u8: return number_values<uint8_t, float>(column, input, rows);
    case DType::f32: break;
  }
  return number_values<float, float>(column, input, rows);
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
    std::string values = column_values(column, add_inputs(column, wide, rows), rows);
    if (field.spec.shape.rank() != 1) values = rows.graph().reshape(values, field.spec.shape);
    rows.set(field.spec, std::move(values));
  }
}

}  // namespace millrace

#include "millrace/input/onnx_rows.h"

#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

OnnxRows::OnnxRows(OnnxGraph& graph, const RowSpec& rows) : graph_(graph) {
  for (const FieldSpec& field : rows.fields) fields_.push_back({field});
}

OnnxRows::~OnnxRows() = default;

OnnxRows::Field* OnnxRows::entry(std::string_view field) {
  const auto found = std::ranges::find_if(fields_, [&](const Field& one) { return one.spec.name == field; });
  return found != fields_.end() ? &*found : nullptr;
}

const FieldSpec* OnnxRows::find(std::string_view field) {
  const Field* const found = entry(field);
  return found != nullptr ? &found->spec : nullptr;
}

OnnxValue OnnxRows::tensor(std::string_view field) {
  Field* const found = entry(field);
  if (found == nullptr) throw InternalError(cat("there is no field ", quote(field)));
  const FieldSpec& spec = found->spec;
  if (spec.ragged()) {
    throw ConfigError(cat("the field ", quote(field),
                          " has another number of values in each row, which cannot be "
                          "written as ONNX"),
                      {}, cat("put pad: {fields: ", field, ", length: ..} after the op that reads it"));
  }
  if (found->tensor == kNoOnnxValue) {
    found->tensor = graph_.input(field, spec.text ? OnnxType::text : onnx_type(spec.dtype), onnx_shape(spec.shape));
  }
  return found->tensor;
}

const OnnxRows::Ragged& OnnxRows::ragged(std::string_view field) {
  Field* const found = entry(field);
  if (found != nullptr && found->ragged.values != kNoOnnxValue) return found->ragged;
  throw ConfigError(
      cat("the field ", quote(field), " has another number of values in each row, which ONNX knows of texts only"));
}

void OnnxRows::set_ragged(std::string_view field, Ragged values) {
  if (Field* const found = entry(field)) found->ragged = values;
}

void OnnxRows::set(FieldSpec field, OnnxValue tensor) {
  if (Field* const found = entry(field.name)) {
    *found = {std::move(field), tensor};
  } else {
    fields_.push_back({std::move(field), tensor});
  }
}

void OnnxRows::add_text_input(OnnxTextInput input) {
  const auto found = std::ranges::find(text_inputs_, input.name, &OnnxTextInput::name);
  if (found == text_inputs_.end()) {
    text_inputs_.push_back(std::move(input));
  } else if (found->columns != input.columns) {
    throw ConfigError(cat("two inputs would have the name ", quote(input.name), ", a field and a column"), {},
                      "give the field another name");
  }
}

void OnnxRows::refuse(OnnxValue bools) {
  const OnnxValue flat = graph_.add("Flatten", {graph_.cast(bools, OnnxType::i32)});
  const OnnxValue count = graph_.add("ReduceSum", {flat, graph_.list({1})}, {{"keepdims", int64_t{0}}});
  refused_.push_back(graph_.add("Greater", {count, graph_.constant(int32_t{0})}));
}

OnnxValue OnnxRows::refused() {
  OnnxValue any = kNoOnnxValue;
  for (const OnnxValue one : refused_) any = any == kNoOnnxValue ? one : graph_.add("Or", {any, one});
  return any;
}

}  // namespace millrace

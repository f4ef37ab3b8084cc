#include "millrace/core/onnx/onnx_graph.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

OnnxType onnx_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return OnnxType::f64;
    case DType::i32: return OnnxType::i32;
    case DType::i64: return OnnxType::i64;
    case DType::u8: return OnnxType::u8;
    case DType::f32: break;
  }
  return OnnxType::f32;
}

std::vector<int64_t> onnx_shape(const Shape& row) {
  std::vector<int64_t> out;
  for (int axis = 0; axis < row.rank(); ++axis) out.push_back(row[axis]);
  return out;
}

std::string OnnxGraph::new_name(std::string_view what) {
  const std::string wanted = scope_.empty() ? std::string(what) : cat(scope_, '/', what);
  std::string name = wanted;
  while (names_.contains(name)) name = cat(wanted, '_', ++names_[wanted]);
  names_.emplace(name, 1);
  return name;
}

std::string OnnxGraph::input(std::string_view name, OnnxType type, std::vector<int64_t> shape) {
  Port port{std::string(name), type, std::move(shape)};
  const auto found = std::ranges::find(inputs_, port.name, &Port::name);
  if (found == inputs_.end()) {
    names_.emplace(port.name, 1);
    return inputs_.emplace_back(std::move(port)).name;
  }
  if (*found == port) return found->name;
  throw ConfigError(cat("two inputs would have the name ", quote(name), ", but not the same type and shape"), {},
                    "read the column once, or give the field another name");
}

void OnnxGraph::output(std::string_view name, const std::string& value, OnnxType type, std::vector<int64_t> shape) {
  names_.emplace(name, 1);
  nodes_.push_back({"Identity", {}, {value}, {std::string(name)}, {}});
  outputs_.push_back({std::string(name), type, std::move(shape)});
}

std::string OnnxGraph::add(std::string_view op, std::vector<std::string> inputs, std::vector<OnnxAttribute> attributes,
                           int outputs) {
  Node node{std::string(op), {}, std::move(inputs), {}, std::move(attributes)};
  for (int i = 0; i < outputs; ++i) node.outputs.push_back(new_name(op));
  return nodes_.emplace_back(std::move(node)).outputs.front();
}

std::string OnnxGraph::add_ml(std::string_view op, std::vector<std::string> inputs,
                              std::vector<OnnxAttribute> attributes) {
  uses_ml_ = true;
  std::string out = add(op, std::move(inputs), std::move(attributes));
  nodes_.back().domain = "ai.onnx.ml";
  return out;
}

std::string OnnxGraph::constant(const ConstTensorView& values, std::string_view name) {
  const auto* bytes = static_cast<const char*>(values.data());
  constants_.push_back({.name = new_name(name),
                        .type = onnx_type(values.dtype()),
                        .shape = onnx_shape(values.shape()),
                        .bytes = std::string(bytes, values.spec().bytes())});
  return constants_.back().name;
}

std::string OnnxGraph::texts(std::vector<std::string> texts, std::vector<int64_t> shape) {
  constants_.push_back({new_name("texts"), OnnxType::text, std::move(shape), {}, std::move(texts)});
  return constants_.back().name;
}

std::string OnnxGraph::scalar(OnnxType type, const void* value, size_t bytes) {
  std::string raw(static_cast<const char*>(value), bytes);
  std::string& name = scalars_[static_cast<char>(type) + raw];
  if (!name.empty()) return name;
  name = new_name("constant");
  constants_.push_back({name, type, {}, std::move(raw), {}});
  return name;
}

std::string OnnxGraph::cast(const std::string& value, OnnxType type) {
  return add("Cast", {value}, {{"to", static_cast<int64_t>(type)}});
}

std::string OnnxGraph::reshape(const std::string& value, std::span<const int64_t> row) {
  std::vector<int64_t> sizes = {0};  // as many rows as before
  sizes.insert(sizes.end(), row.begin(), row.end());
  return add("Reshape", {value, list(sizes)});
}

std::string OnnxGraph::reshape(const std::string& value, const Shape& row) { return reshape(value, onnx_shape(row)); }

}  // namespace millrace

#include "millrace/core/onnx/onnx_graph.h"

#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

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

OnnxGraph::OnnxGraph() = default;
OnnxGraph::OnnxGraph(OnnxGraph&&) noexcept = default;
OnnxGraph::~OnnxGraph() = default;

void OnnxGraph::set_scope(std::string_view scope) { scope_ = scope; }

OnnxValue OnnxGraph::new_value(std::string_view what) {
  const std::string wanted = scope_.empty() ? std::string(what) : cat(scope_, '/', what);
  std::string name = wanted;
  while (names_.contains(name)) name = cat(wanted, '_', ++names_[wanted]);
  names_.emplace(name, 1);
  values_.push_back(std::move(name));
  return static_cast<OnnxValue>(values_.size() - 1);
}

OnnxValue OnnxGraph::named_value(std::string_view name) {
  const auto taken = std::ranges::find(values_, name);
  if (taken != values_.end()) {
    const auto index = taken - values_.begin();
    new_value("value");
    std::swap(values_[static_cast<size_t>(index)], values_.back());
  } else {
    names_.emplace(name, 1);
    values_.emplace_back(name);
  }
  return static_cast<OnnxValue>(values_.size() - 1);
}

OnnxValue OnnxGraph::input(std::string_view name, OnnxType type, std::vector<int64_t> shape) {
  Port port{std::string(name), type, std::move(shape)};
  const auto found = std::ranges::find(inputs_, port.name, &Port::name);
  if (found == inputs_.end()) {
    inputs_.push_back(std::move(port));
    return named_value(name);
  }
  if (*found == port) return static_cast<OnnxValue>(std::ranges::find(values_, name) - values_.begin());
  throw ConfigError(cat("two inputs would have the name ", quote(name), ", but not the same type and shape"), {},
                    "read the column once, or give the field another name");
}

void OnnxGraph::output(std::string_view name, OnnxValue value, OnnxType type, std::vector<int64_t> shape) {
  nodes_.push_back({"Identity", {}, {value}, {named_value(name)}, {}});
  outputs_.push_back({std::string(name), type, std::move(shape)});
}

OnnxValue OnnxGraph::add(const char* op, const std::vector<OnnxValue>& inputs, std::vector<OnnxAttribute> attributes,
                         int outputs) {
  Node node{op, {}, inputs, {}, std::move(attributes)};
  for (int i = 0; i < outputs; ++i) node.outputs.push_back(new_value(op));
  return nodes_.emplace_back(std::move(node)).outputs.front();
}

OnnxValue OnnxGraph::add_ml(const char* op, const std::vector<OnnxValue>& inputs,
                            std::vector<OnnxAttribute> attributes) {
  uses_ml_ = true;
  const OnnxValue out = add(op, inputs, std::move(attributes));
  nodes_.back().domain = "ai.onnx.ml";
  return out;
}

OnnxValue OnnxGraph::constant(const ConstTensorView& values, std::string_view name) {
  const OnnxValue out = new_value(name);
  const auto* bytes = static_cast<const char*>(values.data());
  constants_.push_back(
      {out, onnx_type(values.dtype()), onnx_shape(values.shape()), std::string(bytes, values.spec().bytes())});
  return out;
}

OnnxValue OnnxGraph::texts(std::vector<std::string> texts, std::vector<int64_t> shape) {
  const OnnxValue out = new_value("texts");
  constants_.push_back({out, OnnxType::text, std::move(shape), {}, std::move(texts)});
  return out;
}

OnnxValue OnnxGraph::list(const std::vector<int64_t>& values) {
  return constant(ConstTensorView(values.data(), DType::i64, Shape{std::ssize(values)}));
}

OnnxValue OnnxGraph::scalar(OnnxType type, std::string bytes) {
  const auto [found, is_new] = scalars_.try_emplace(static_cast<char>(type) + bytes);
  if (!is_new) return found->second;
  const OnnxValue out = found->second = new_value("constant");
  if (type == OnnxType::text) {
    constants_.push_back({out, type, {}, {}, {std::move(bytes)}});
  } else {
    constants_.push_back({out, type, {}, std::move(bytes)});
  }
  return out;
}

OnnxValue OnnxGraph::text(std::string_view text) { return scalar(OnnxType::text, std::string(text)); }
OnnxValue OnnxGraph::constant(int64_t value) { return scalar(OnnxType::i64, bytes_of(value)); }
OnnxValue OnnxGraph::number(OnnxType type, double value) {
  switch (type) {
    case OnnxType::f64: return scalar(type, bytes_of(value));
    case OnnxType::i32: return scalar(type, bytes_of(static_cast<int32_t>(value)));
    default: return scalar(OnnxType::f32, bytes_of(static_cast<float>(value)));
  }
}

OnnxValue OnnxGraph::cast(OnnxValue value, OnnxType type) {
  return add("Cast", {value}, {{"to", static_cast<int64_t>(type)}});
}

OnnxValue OnnxGraph::reshape(OnnxValue value, const Shape& row) {
  std::vector<int64_t> sizes = onnx_shape(row);
  sizes.insert(sizes.begin(), 0);  // as many rows as before
  return add("Reshape", {value, list(sizes)});
}

}  // namespace millrace

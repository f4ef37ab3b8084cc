// OnnxGraph: a graph in the terms of ONNX, as it is put together: inputs, constants, nodes and outputs. A value is the
// name of its tensor; names are made unique here.
//
//   OnnxGraph graph;
//   std::string x = graph.input("age", OnnxType::f32, {1});               // (rows, 1)
//   std::string scaled = graph.add("Mul", {x, graph.constant(0.5F)});
//   graph.output("prediction", scaled, OnnxType::f32, {1});
//   write_onnx(graph, ...);                                               // onnx_file.h
//
// A layer and an input op add their own nodes (Layer::to_onnx, Transform::to_onnx). The first axis of every tensor that
// depends on the inputs is the rows of a batch, as many as the user gives. One thread uses a graph.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "millrace/core/tensor.h"

namespace millrace {

// The numbers of TensorProto.DataType.
enum class OnnxType : uint8_t { f32 = 1, u8 = 2, i32 = 6, i64 = 7, text = 8, boolean = 9, f64 = 11 };
OnnxType onnx_type(DType dtype);

struct OnnxAttribute {
  using Value =
      std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>>;
  std::string name;
  Value value;
};

class OnnxGraph {
 public:
  struct Node {
    std::string op, domain;
    std::vector<std::string> inputs, outputs;
    std::vector<OnnxAttribute> attributes;
  };
  struct Constant {
    std::string name;
    OnnxType type;
    std::vector<int64_t> shape;
    std::string bytes;  // little-endian; empty for texts
    std::vector<std::string> texts = {};
  };
  // A tensor of (rows, shape...).
  struct Port {
    std::string name;
    OnnxType type;
    std::vector<int64_t> shape;
    bool operator==(const Port&) const = default;
  };

  // Later names begin with `scope`, the name of a layer or an op.
  void set_scope(std::string_view scope) { scope_ = scope; }

  // An input with this very name. If there is one that is equal, that one. Throws ConfigError if there is another one.
  std::string input(std::string_view name, OnnxType type, std::vector<int64_t> shape);
  // Names the value as an output. REQUIRES: a name that no input and no other output has.
  void output(std::string_view name, const std::string& value, OnnxType type, std::vector<int64_t> shape);

  // A node; returns its first output. `domain` is empty for the standard's own ops.
  std::string add(std::string_view op, std::vector<std::string> inputs, std::vector<OnnxAttribute> attributes = {},
                  int outputs = 1);
  // A node of ai.onnx.ml, the part of the standard that has LabelEncoder.
  std::string add_ml(std::string_view op, std::vector<std::string> inputs, std::vector<OnnxAttribute> attributes);

  // REQUIRES: contiguous values in the host's memory.
  std::string constant(const ConstTensorView& values, std::string_view name = "constant");
  std::string texts(std::vector<std::string> texts, std::vector<int64_t> shape);
  template <class T>
  std::string list(const std::vector<T>& values) {
    return constant(ConstTensorView(values.data(), DTypeOf<T>::value, Shape{static_cast<int64_t>(values.size())}));
  }
  // A single value, for which equal ones share a tensor.
  template <class T>
  std::string constant(T value) {
    return scalar(onnx_type(DTypeOf<T>::value), &value, sizeof value);
  }
  std::string constant(bool value) { return scalar(OnnxType::boolean, &value, 1); }

  // What many nodes need.
  std::string cast(const std::string& value, OnnxType type);
  // (rows, shape...), of as many values.
  std::string reshape(const std::string& value, std::span<const int64_t> row);
  std::string reshape(const std::string& value, const Shape& row);

  // The version of the standard's ops that the nodes need: 17, or more if need_opset() says so.
  int opset() const { return opset_; }
  void need_opset(int version) { opset_ = version > opset_ ? version : opset_; }
  bool uses_ml() const { return uses_ml_; }

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Constant>& constants() const { return constants_; }

 private:
  std::string scalar(OnnxType type, const void* value, size_t bytes);
  std::string new_name(std::string_view what);

  std::string scope_;
  std::map<std::string, int64_t, std::less<>> names_;  // how often each was wanted
  std::map<std::string, std::string, std::less<>> scalars_;
  std::vector<Port> inputs_, outputs_;
  std::vector<Node> nodes_;
  std::vector<Constant> constants_;
  int opset_ = 17;
  bool uses_ml_ = false;
};

// The sizes of a row's axes.
std::vector<int64_t> onnx_shape(const Shape& row);

}  // namespace millrace

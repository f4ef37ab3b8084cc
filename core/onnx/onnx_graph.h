// OnnxGraph: a graph in the terms of ONNX, as it is put together: inputs, constants, nodes and outputs. A value is the
// number of its tensor, which also has a name; names are made unique here.
//
//   OnnxGraph graph;
//   OnnxValue x = graph.input("age", OnnxType::f32, {1});               // (rows, 1)
//   OnnxValue scaled = graph.add("Mul", {x, graph.constant(0.5F)});
//   graph.output("prediction", scaled, OnnxType::f32, {1});
//   onnx_bytes(graph, ..);                                              // onnx_file.h
//
// A layer and an input op add their own nodes (Layer::to_onnx, Transform::to_onnx). The first axis of every tensor that
// depends on the inputs is the rows of a batch, as many as the user gives. One thread uses a graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "millrace/core/tensor.h"

namespace millrace {

// The numbers of TensorProto.DataType.
enum class OnnxType : uint8_t { f32 = 1, u8 = 2, i32 = 6, i64 = 7, text = 8, boolean = 9, f64 = 11 };
OnnxType onnx_type(DType dtype);

// A tensor of a graph.
enum class OnnxValue : int32_t;
inline constexpr OnnxValue kNoOnnxValue{-1};

// What a node says besides its inputs.
struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<std::string>> value;
};

class OnnxGraph {
 public:
  struct Node {
    std::string op, domain;  // the domain is empty for the standard's own ops
    std::vector<OnnxValue> inputs, outputs;
    std::vector<OnnxAttribute> attributes;
  };
  struct Constant {
    OnnxValue value;
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

  OnnxGraph();
  OnnxGraph(OnnxGraph&&) noexcept;
  ~OnnxGraph();
  OnnxGraph& operator=(OnnxGraph&&) = delete;

  // Later names begin with `scope`, the name of a layer or an op.
  void set_scope(std::string_view scope);

  // An input with this very name. If there is one that is equal, that one. Throws ConfigError if there is another one.
  OnnxValue input(std::string_view name, OnnxType type, std::vector<int64_t> shape);
  // Names the value as an output. REQUIRES: a name that no input and no other output has.
  void output(std::string_view name, OnnxValue value, OnnxType type, std::vector<int64_t> shape);

  // A node; returns its first output, after which the others are numbered.
  OnnxValue add(const char* op, const std::vector<OnnxValue>& inputs, std::vector<OnnxAttribute> attributes = {},
                int outputs = 1);
  // A node of ai.onnx.ml, the part of the standard that has LabelEncoder.
  OnnxValue add_ml(const char* op, const std::vector<OnnxValue>& inputs, std::vector<OnnxAttribute> attributes);

  // REQUIRES: contiguous values in the host's memory.
  OnnxValue constant(const ConstTensorView& values, std::string_view name = "constant");
  OnnxValue texts(std::vector<std::string> texts, std::vector<int64_t> shape);
  OnnxValue list(const std::vector<int64_t>& values);
  // A single value, for which equal ones share a tensor.
  OnnxValue text(std::string_view text);
  OnnxValue constant(int64_t value);
  OnnxValue number(OnnxType type, double value);
  OnnxValue constant(int32_t value) { return number(OnnxType::i32, value); }
  OnnxValue constant(float value) { return number(OnnxType::f32, static_cast<double>(value)); }
  OnnxValue constant(double value) { return number(OnnxType::f64, value); }

  // What many nodes need.
  OnnxValue cast(OnnxValue value, OnnxType type);
  // (rows, shape...), of as many values.
  OnnxValue reshape(OnnxValue value, const Shape& row);

  // The version of the standard's ops that the nodes need: 17, or more if need_opset() says so.
  int opset() const { return opset_; }
  void need_opset(int version) { opset_ = version > opset_ ? version : opset_; }
  bool uses_ml() const { return uses_ml_; }

  const std::string& name(OnnxValue value) const { return values_[static_cast<size_t>(value)]; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Constant>& constants() const { return constants_; }

 private:
  OnnxValue new_value(std::string_view what);
  // A value with this very name, which another one may have to give up.
  OnnxValue named_value(std::string_view name);
  OnnxValue scalar(OnnxType type, std::string bytes);

  std::string scope_;
  std::vector<std::string> values_;                    // their names
  std::map<std::string, int64_t, std::less<>> names_;  // how often each was wanted
  std::map<std::string, OnnxValue, std::less<>> scalars_;
  std::vector<Port> inputs_, outputs_;
  std::vector<Node> nodes_;
  std::vector<Constant> constants_;
  int opset_ = 17;
  bool uses_ml_ = false;
};

// The sizes of a row's axes.
std::vector<int64_t> onnx_shape(const Shape& row);

}  // namespace millrace

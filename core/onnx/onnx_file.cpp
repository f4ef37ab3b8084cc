#include "millrace/core/onnx/onnx_file.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 31;
// What the file looks like; readers of ONNX 1.12 (2022) know it.
constexpr int64_t kIrVersion = 8, kIrVersionOfOpset20 = 9, kMlOpset = 3;

// A message of protocol buffers, as its bytes. Each call adds a field by its number.
class Message {
 public:
  Message& number(int field, int64_t value) {
    tag(field, 0);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& real(int field, float value) {
    tag(field, 5);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    bytes_.append(bytes, sizeof value);
    return *this;
  }
  Message& text(int field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  // One field for each of the values.
  Message& numbers(int field, const std::vector<int64_t>& values) {
    for (const int64_t value : values) number(field, value);
    return *this;
  }
  Message& texts(int field, const std::vector<std::string>& values) {
    for (const std::string& value : values) text(field, value);
    return *this;
  }

  std::string& bytes() { return bytes_; }

 private:
  void tag(int field, uint64_t wire_type) { varint(static_cast<uint64_t>(field) << 3 | wire_type); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

// Fields have the numbers that onnx.proto gives them.

Message attribute_message(const OnnxAttribute& attribute) {
  enum Kind : int64_t { real = 1, whole = 2, text = 3, wholes = 7, texts = 8 };
  Message out;
  out.text(1, attribute.name);
  const auto& value = attribute.value;
  if (const auto* single = std::get_if<float>(&value)) {
    out.real(2, *single).number(20, real);
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    out.number(3, *number).number(20, whole);
  } else if (const auto* one = std::get_if<std::string>(&value)) {
    out.text(4, *one).number(20, text);
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
    out.numbers(8, *numbers).number(20, wholes);
  } else {
    out.texts(9, std::get<std::vector<std::string>>(value)).number(20, texts);
  }
  return out;
}

Message node_message(const OnnxGraph& graph, const OnnxGraph::Node& node) {
  Message out;
  for (const OnnxValue input : node.inputs) out.text(1, graph.name(input));
  for (const OnnxValue output : node.outputs) out.text(2, graph.name(output));
  out.text(3, graph.name(node.outputs.front())).text(4, node.op);
  for (const OnnxAttribute& attribute : node.attributes) out.message(5, attribute_message(attribute));
  if (!node.domain.empty()) out.text(7, node.domain);
  return out;
}

Message constant_message(const OnnxGraph& graph, const OnnxGraph::Constant& constant) {
  Message out;
  out.numbers(1, constant.shape).number(2, static_cast<int64_t>(constant.type));
  if (constant.type == OnnxType::text) {
    out.texts(6, constant.texts).text(8, graph.name(constant.value));
  } else {
    out.text(8, graph.name(constant.value)).text(9, constant.bytes);
  }
  return out;
}

Message port_message(const OnnxGraph::Port& port) {
  Message shape;
  shape.message(1, Message().text(2, "rows"));
  for (const int64_t size : port.shape) shape.message(1, Message().number(1, size));
  Message tensor;
  tensor.number(1, static_cast<int64_t>(port.type)).message(2, shape);
  Message out;
  out.text(1, port.name).message(2, Message().message(1, tensor));
  return out;
}

uint64_t constant_bytes(const OnnxGraph& graph) {
  uint64_t bytes = 0;
  for (const OnnxGraph::Constant& constant : graph.constants()) bytes += constant.bytes.size();
  return bytes;
}

}  // namespace

void check_onnx_size(uint64_t bytes) {
  if (bytes < kMostBytes) return;
  throw DataError(cat("the ONNX file would have ", bytes, " bytes, and such a file must have fewer than ", kMostBytes),
                  {}, "predict with the model file itself, or train a smaller model");
}

std::string onnx_bytes(const OnnxGraph& graph, const OnnxFileArgs& args) {
  check_onnx_size(constant_bytes(graph));  // before memory is taken for them
  Message body;
  for (const OnnxGraph::Node& node : graph.nodes()) body.message(1, node_message(graph, node));
  body.text(2, args.name);
  for (const OnnxGraph::Constant& constant : graph.constants()) body.message(5, constant_message(graph, constant));
  for (const OnnxGraph::Port& port : graph.inputs()) body.message(11, port_message(port));
  for (const OnnxGraph::Port& port : graph.outputs()) body.message(12, port_message(port));

  Message out;
  out.number(1, graph.opset() < 20 ? kIrVersion : kIrVersionOfOpset20);
  out.text(2, args.producer).text(3, args.version).message(7, body);
  out.message(8, Message().text(1, "").number(2, graph.opset()));
  if (graph.uses_ml()) out.message(8, Message().text(1, "ai.onnx.ml").number(2, kMlOpset));
  for (const auto& [key, value] : args.facts) out.message(14, Message().text(1, key).text(2, value));
  check_onnx_size(out.bytes().size());
  return std::move(out.bytes());
}

}  // namespace millrace

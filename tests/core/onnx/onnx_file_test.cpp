#include "millrace/core/onnx/onnx_file.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

using namespace std::literals;

// The bytes, where printable ones stand for themselves.
std::string shown(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 32 && byte < 127) {
      out += c;
    } else {
      const char* const digits = "0123456789abcdef";
      (out += '<') += digits[byte >> 4];
      (out += digits[byte & 15]) += '>';
    }
  }
  return out;
}

// Field by field, as onnx.proto numbers them: a tag is the field's number times 8, plus 0 for a number, 5 for 4 bytes
// and 2 for a length and as many bytes.
TEST(OnnxFileTest, WritesTheBytesOfEachMessage) {
  OnnxGraph graph;
  const OnnxValue x = graph.input("x", OnnxType::f32, {3});
  graph.output("y", graph.add("Elu", {x}, {{"alpha", 0.5F}}), OnnxType::f32, {3});
  const std::string node =
      "\x0a\x01x\x12\x03"
      "Elu\x1a\x03"
      "Elu\x22\x03"
      "Elu\x2a\x0f\x0a\x05"
      "alpha\x15\x00\x00\x00\x3f\xa0\x01\x01"s;
  const std::string identity =
      "\x0a\x03"
      "Elu\x12\x01y\x1a\x01y\x22\x08"
      "Identity"s;
  const std::string type = "\x0a\x10\x08\x01\x12\x0c\x0a\x06\x12\x04rows\x0a\x02\x08\x03"s;
  std::string type_of_x = "\x0a\x01x\x12"s;
  type_of_x += static_cast<char>(type.size());
  std::string type_of_y = "\x0a\x01y\x12"s;
  type_of_y += static_cast<char>(type.size());
  const auto field = [](char tag, const std::string& bytes) { return tag + (static_cast<char>(bytes.size()) + bytes); };
  const std::string body = field('\x0a', node) + field('\x0a', identity) + "\x12\x05model" +
                           field('\x5a', type_of_x + type) + field('\x62', type_of_y + type);
  const std::string bytes = onnx_bytes(graph, {.producer = "P", .version = "7", .facts = {{"k", "v"}}});
  std::string expected =
      "\x08\x08\x12\x01P\x1a\x01"
      "7"s +
      field('\x3a', body);
  expected += "\x42\x04\x0a\x00\x10\x11"s + "\x72\x06\x0a\x01k\x12\x01v"s;
  EXPECT_EQ(shown(bytes), shown(expected));
}

TEST(OnnxFileTest, WritesConstantsAsTheyLieInMemory) {
  OnnxGraph graph;
  graph.list({-1, 2});
  graph.texts({"a", ""}, {2});
  const std::string bytes = onnx_bytes(graph, {});
  const std::string numbers =
      "\x08\x02\x10\x07\x42\x08"
      "constant\x4a\x10\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x00\x00\x00"s;
  EXPECT_NE(bytes.find(numbers), std::string::npos) << shown(bytes);
  EXPECT_NE(bytes.find("\x08\x02\x10\x08\x32\x01"
                       "a\x32\x00\x42\x05texts"s),
            std::string::npos)
      << shown(bytes);
}

TEST(OnnxFileTest, WritesAttributesOfEveryType) {
  OnnxGraph graph;
  const std::vector<int64_t> wholes = {1, -1};
  const std::vector<std::string> texts = {"u", "v"};
  graph.add("Op", {}, {{"i", int64_t{300}}, {"s", "t"}, {"n", wholes}, {"t", texts}});
  const std::string bytes = onnx_bytes(graph, {});
  for (const std::string& attribute :
       {"\x2a\x09\x0a\x01i\x18\xac\x02\xa0\x01\x02"s, "\x2a\x09\x0a\x01s\x22\x01t\xa0\x01\x03"s,
        "\x2a\x13\x0a\x01n\x40\x01\x40\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xa0\x01\x07"s,
        "\x2a\x0c\x0a\x01t\x4a\x01u\x4a\x01v\xa0\x01\x08"s}) {
    EXPECT_NE(bytes.find(attribute), std::string::npos) << shown(attribute) << " is not in " << shown(bytes);
  }
}

TEST(OnnxFileTest, SaysWhichOpsAreNeeded) {
  OnnxGraph graph;
  graph.need_opset(20);
  graph.add_ml("LabelEncoder", {graph.input("x", OnnxType::text, {1})}, {});
  const std::string bytes = onnx_bytes(graph, {});
  EXPECT_TRUE(bytes.starts_with("\x08\x09"s));
  EXPECT_TRUE(
      bytes.ends_with("\x42\x04\x0a\x00\x10\x14\x42\x0e\x0a\x0a"
                      "ai.onnx.ml\x10\x03"s))
      << shown(bytes);
}

TEST(OnnxFileTest, RefusesTwoGigabytes) {
  EXPECT_NO_THROW(check_onnx_size((uint64_t{1} << 31) - 1));
  try {
    check_onnx_size(uint64_t{1} << 31);
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_EQ(error.message(),
              "the ONNX file would have 2147483648 bytes, and such a file must have fewer than 2147483648");
  }
}

}  // namespace
}  // namespace millrace

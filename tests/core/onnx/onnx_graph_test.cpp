#include "millrace/core/onnx/onnx_graph.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

TEST(OnnxGraphTest, NamesAreUnique) {
  OnnxGraph graph;
  graph.set_scope("dense");
  const OnnxValue x = graph.input("dense/Relu", OnnxType::f32, {1});
  std::set<std::string> names = {graph.name(x)};
  for (int i = 0; i < 4; ++i) names.insert(graph.name(graph.add("Relu", {x})));
  graph.set_scope("dense/Relu");
  names.insert(graph.name(graph.add("2", {x})));
  EXPECT_EQ(names.size(), 6u);
}

// Columns may have any name.
TEST(OnnxGraphTest, AnInputOrAnOutputKeepsItsNameWhateverHadItBefore) {
  OnnxGraph graph;
  graph.set_scope("dense");
  const OnnxValue inner = graph.constant(1.0F);
  const OnnxValue x = graph.input("dense/constant", OnnxType::f32, {1});
  EXPECT_EQ(graph.name(x), "dense/constant");
  EXPECT_NE(graph.name(inner), "dense/constant");
  const OnnxValue y = graph.add("Relu", {x});
  graph.output("dense/Relu", y, OnnxType::f32, {1});
  EXPECT_NE(graph.name(y), "dense/Relu");
  EXPECT_EQ(graph.name(graph.nodes().back().outputs[0]), "dense/Relu");
  EXPECT_EQ(graph.nodes().back().inputs[0], y);
}

TEST(OnnxGraphTest, AnInputMayBeAskedForAgainButNotAsAnother) {
  OnnxGraph graph;
  const OnnxValue a = graph.input("a", OnnxType::f32, {1});
  EXPECT_EQ(graph.name(a), "a");
  EXPECT_EQ(graph.input("a", OnnxType::f32, {1}), a);
  EXPECT_EQ(graph.inputs().size(), 1u);
  try {
    graph.input("a", OnnxType::text, {1});
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(), "two inputs would have the name \"a\", but not the same type and shape");
  }
}

TEST(OnnxGraphTest, EqualScalarsShareATensor) {
  OnnxGraph graph;
  EXPECT_EQ(graph.constant(1.5F), graph.constant(1.5F));
  EXPECT_NE(graph.constant(1.5F), graph.constant(1.5));
  EXPECT_NE(graph.constant(int32_t{0}), graph.constant(0.0F));
  EXPECT_EQ(graph.text("a"), graph.text("a"));
  EXPECT_NE(graph.text("a"), graph.text(""));
  EXPECT_EQ(graph.constants().size(), 6u);
  EXPECT_EQ(graph.constants().back().texts, std::vector<std::string>{""});
}

TEST(OnnxGraphTest, ANodeMayHaveSeveralOutputs) {
  OnnxGraph graph;
  const OnnxValue first = graph.add("StringSplit", {graph.text("x")}, {}, 2);
  EXPECT_EQ(graph.nodes().back().outputs.size(), 2u);
  EXPECT_EQ(graph.nodes().back().outputs[0], first);
  EXPECT_NE(graph.nodes().back().outputs[1], first);
}

TEST(OnnxGraphTest, TheOpsetIsTheLeastThatSuffices) {
  OnnxGraph graph;
  EXPECT_EQ(graph.opset(), 17);
  graph.need_opset(20);
  graph.need_opset(18);
  EXPECT_EQ(graph.opset(), 20);
}

TEST(OnnxGraphTest, ReshapeKeepsTheRows) {
  OnnxGraph graph;
  graph.reshape(graph.text("x"), Shape{2, 3});
  const int64_t sizes[] = {0, 2, 3};
  EXPECT_EQ(graph.constants().back().bytes, std::string(reinterpret_cast<const char*>(sizes), sizeof sizes));
}

}  // namespace
}  // namespace millrace

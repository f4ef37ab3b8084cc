#include "millrace/input/onnx_rows.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

FieldSpec text_field_of(std::string name) {
  FieldSpec field{std::move(name), DType::u8, Shape{2}};
  field.text = true;
  return field;
}

TEST(OnnxRowsTest, AFieldThatNoOpMakesIsAnInputAsSoonAsItIsRead) {
  OnnxGraph graph;
  OnnxRows rows(
      graph, RowSpec{{{"image", DType::u8, Shape{1, 2, 3}}, text_field_of("names"), {"unread", DType::f32, Shape{1}}}});
  const OnnxValue image = rows.tensor("image");
  EXPECT_EQ(graph.name(image), "image");
  EXPECT_EQ(graph.name(rows.tensor("names")), "names");
  EXPECT_EQ(rows.tensor("image"), image);
  const std::vector<OnnxGraph::Port> expected = {{"image", OnnxType::u8, {1, 2, 3}}, {"names", OnnxType::text, {2}}};
  EXPECT_EQ(graph.inputs(), expected);
}

TEST(OnnxRowsTest, SetReplacesAFieldOrAddsOne) {
  OnnxGraph graph;
  OnnxRows rows(graph, RowSpec{{{"a", DType::u8, Shape{1}}}});
  const OnnxValue wide = graph.text("wide"), other = graph.text("other");
  rows.set({"a", DType::f32, Shape{1}}, wide);
  rows.set({"b", DType::i32, Shape{4}}, other);
  EXPECT_EQ(rows.tensor("a"), wide);
  EXPECT_EQ(rows.find("a")->dtype, DType::f32);
  EXPECT_EQ(rows.tensor("b"), other);
  EXPECT_EQ(rows.find("c"), nullptr);
  EXPECT_TRUE(graph.inputs().empty());
}

TEST(OnnxRowsTest, ARaggedFieldIsAnErrorUntilItIsPadded) {
  OnnxGraph graph;
  FieldSpec field{"tags", DType::i32, Shape{0}};
  field.split = ' ';
  OnnxRows rows(graph, RowSpec{{field}});
  try {
    rows.tensor("tags");
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(),
              "the field \"tags\" has another number of values in each row, which cannot be written as ONNX");
    EXPECT_EQ(error.hint(), "put pad: {fields: tags, length: ..} after the op that reads it");
  }
  EXPECT_THROW(rows.ragged("tags"), ConfigError);
  const OnnxValue values = graph.text("values"), counts = graph.text("counts");
  rows.set_ragged("tags", {values, counts});
  EXPECT_EQ(rows.ragged("tags").counts, counts);
}

TEST(OnnxRowsTest, AFieldAndAColumnOfOneNameAreNotTheSame) {
  OnnxGraph graph;
  OnnxRows rows(graph, {});
  rows.add_text_input({"a", {"3"}});
  rows.add_text_input({"a", {"3"}});
  EXPECT_EQ(rows.text_inputs().size(), 1u);
  EXPECT_THROW(rows.add_text_input({"a", {"a"}}), ConfigError);
}

TEST(OnnxRowsTest, RefusedRowsAreJoined) {
  OnnxGraph graph;
  OnnxRows rows(graph, RowSpec{});
  EXPECT_EQ(rows.refused(), kNoOnnxValue);
  rows.refuse(graph.text("a"));
  const OnnxValue one = rows.refused();
  EXPECT_EQ(graph.nodes().back().op, "Greater");
  EXPECT_EQ(graph.nodes().back().outputs[0], one);
  rows.refuse(graph.text("b"));
  rows.refused();
  EXPECT_EQ(graph.nodes().back().op, "Or");
}

}  // namespace
}  // namespace millrace

// tests/cli/export compares the values with those of Answers.
#include "millrace/trainer/export/onnx_answers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace {
namespace {

std::vector<OnnxGraph::Port> outputs_of(const AnswersArgs& args, const std::string& input = "x") {
  OnnxGraph graph;
  const OnnxValue x = graph.input(input, OnnxType::f32, {args.outputs});
  add_answers(graph, Answers(args), x, kNoOnnxValue);
  return graph.outputs();
}

TEST(OnnxAnswersTest, OutputsAreNamedAsInPredict) {
  using Ports = std::vector<OnnxGraph::Port>;
  EXPECT_EQ(outputs_of({.predictions = Predictions::softmax_logits, .outputs = 3}),
            (Ports{{"class", OnnxType::i64, {}}, {"probability", OnnxType::f32, {3}}}));
  EXPECT_EQ(outputs_of({.predictions = Predictions::sigmoid_logits,
                        .outputs = 1,
                        .label = {.field = "label", .texts = {"no", "yes"}}}),
            (Ports{{"class", OnnxType::i64, {}}, {"name", OnnxType::text, {}}, {"probability", OnnxType::f32, {1}}}));
  EXPECT_EQ(outputs_of({.predictions = Predictions::sigmoid_logits, .outputs = 2}),
            (Ports{{"class", OnnxType::i64, {2}}, {"probability", OnnxType::f32, {2}}}));
  EXPECT_EQ(outputs_of({.predictions = Predictions::numbers, .outputs = 2}),
            (Ports{{"prediction", OnnxType::f32, {2}}}));
}

TEST(OnnxAnswersTest, AnOutputGivesWayToAnInputOfItsName) {
  EXPECT_EQ(outputs_of({.predictions = Predictions::numbers}, "prediction").front().name, "prediction_");
}

}  // namespace
}  // namespace millrace

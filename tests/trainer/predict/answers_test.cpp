#include "millrace/trainer/predict/answers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace millrace {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

Answer answer(Predictions predictions, const std::vector<float>& outputs, const FieldHistory& label = {}) {
  return Answers({.predictions = predictions, .outputs = std::ssize(outputs), .label = label}).answer(outputs);
}

TEST(AnswersTest, TheLossSaysWhatTheyAre) {
  EXPECT_EQ(prediction_kind(Predictions::sigmoid_logits, 1), PredictionKind::yes_or_no);
  EXPECT_EQ(prediction_kind(Predictions::sigmoid_logits, 2), PredictionKind::each_yes_or_no);
  EXPECT_EQ(prediction_kind(Predictions::softmax_logits, 3), PredictionKind::one_of_many);
  EXPECT_EQ(prediction_kind(Predictions::numbers, 1), PredictionKind::values);
  EXPECT_EQ(prediction_kind(Predictions::unknown, 3), PredictionKind::values);
  EXPECT_EQ(prediction_kind(Predictions::softmax_logits, 0), PredictionKind::values);
}

TEST(AnswersTest, YesOrNo) {
  const auto of = [](float output) { return answer(Predictions::sigmoid_logits, {output}); };
  EXPECT_EQ(of(0).classes, std::vector<int64_t>{0});
  EXPECT_EQ(of(0).values, std::vector<double>{0.5});
  EXPECT_EQ(of(1e-30f).classes, std::vector<int64_t>{1});
  EXPECT_NEAR(of(1.5f).values[0], 0.8175744761936437, 1e-15);
  EXPECT_NEAR(of(-1.5f).values[0], 0.18242552380635635, 1e-15);
  EXPECT_EQ(of(1000).values[0], 1);
  EXPECT_EQ(of(-kInfinity).values[0], 0);
  EXPECT_EQ(of(kNaN).classes, std::vector<int64_t>{-1});
  EXPECT_TRUE(std::isnan(of(kNaN).values[0]));
}

TEST(AnswersTest, EachYesOrNo) {
  const Answer each = answer(Predictions::sigmoid_logits, {1000, 0, kNaN}, {.field = "", .texts = {"no", "yes"}});
  EXPECT_EQ(each.classes, (std::vector<int64_t>{1, 0, -1}));
  EXPECT_EQ(each.texts, (std::vector<std::string>{"yes", "no", ""}));
  EXPECT_EQ(each.values[1], 0.5);
  EXPECT_EQ(Answers({.predictions = Predictions::sigmoid_logits, .outputs = 3}).choices(), 3);
}

TEST(AnswersTest, AClassIsYesAboveTheThreshold) {
  const auto classes = [](double threshold, const std::vector<float>& logits) {
    return Answers({.predictions = Predictions::sigmoid_logits, .outputs = std::ssize(logits), .threshold = threshold})
        .answer(logits)
        .classes;
  };
  EXPECT_EQ(classes(0.5, {1e-30f, 0, -1e-30f}), (std::vector<int64_t>{1, 0, 0}));
  // log(0.3 / 0.7) = -0.8472978...
  EXPECT_EQ(classes(0.3, {-0.8472f, -0.8473f, kNaN}), (std::vector<int64_t>{1, 0, -1}));
  EXPECT_EQ(classes(0, {-kInfinity, -1000}), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(classes(1, {kInfinity, 1000}), (std::vector<int64_t>{0, 0}));
}

TEST(AnswersTest, OneOfMany) {
  const auto of = [](const std::vector<float>& outputs) { return answer(Predictions::softmax_logits, outputs); };
  EXPECT_EQ(of({0, 0, -kInfinity}).classes, std::vector<int64_t>{0}) << "the first of the largest";
  EXPECT_EQ(of({0, 0, -kInfinity}).values, (std::vector<double>{0.5, 0.5, 0}));
  EXPECT_EQ(of({-1000, 1000, 1000}).classes, std::vector<int64_t>{1});
  EXPECT_EQ(of({3}).values, std::vector<double>{1});
  EXPECT_EQ(of({0, kNaN, 1}).classes, std::vector<int64_t>{-1});
  EXPECT_EQ(of({0, kInfinity, 1}).classes, std::vector<int64_t>{-1});
  EXPECT_EQ(of({0, -kInfinity, 1}).classes, std::vector<int64_t>{2});
}

TEST(AnswersTest, NumbersAreAsTheLabelWas) {
  const FieldHistory label = {.field = "price", .scale = {100000}, .offset = {250000}};
  EXPECT_EQ(answer(Predictions::numbers, {0.25f}, label).values, std::vector<double>{275000});
  EXPECT_EQ(answer(Predictions::numbers, {0.25f}, label).classes, std::vector<int64_t>{});
  EXPECT_EQ(answer(Predictions::unknown, {0.25f}, label).values, std::vector<double>{0.25});
  EXPECT_EQ(answer(Predictions::numbers, {0.1f}).values, std::vector<double>{0.1f});
  const FieldHistory two = {.field = "p", .scale = {2, 3}, .offset = {0, 1}};
  EXPECT_EQ(answer(Predictions::numbers, {1, 2}, two).values, (std::vector<double>{2, 7}));
  EXPECT_EQ(answer(Predictions::numbers, {1, 2, 3}, two).values, (std::vector<double>{1, 2, 3}))
      << "they do not belong together";
  EXPECT_TRUE(Answers({.predictions = Predictions::numbers, .outputs = 3, .label = two}).cannot_undo());
  EXPECT_FALSE(Answers({.predictions = Predictions::numbers, .outputs = 2, .label = two}).cannot_undo());
  EXPECT_FALSE(Answers({.predictions = Predictions::numbers, .outputs = 3}).cannot_undo()) << "nothing was done";
  const FieldHistory unknown = {.field = "p", .scale = {2}, .complete = false};
  const Answers as_they_are({.predictions = Predictions::numbers, .label = unknown});
  EXPECT_EQ(as_they_are.answer(std::vector<float>{1}).values, std::vector<double>{1});
  EXPECT_TRUE(as_they_are.cannot_undo());
  EXPECT_FALSE(Answers({.predictions = Predictions::unknown, .label = unknown}).cannot_undo());
  EXPECT_FALSE(Answers({.predictions = Predictions::sigmoid_logits, .label = unknown}).cannot_undo());
}

TEST(AnswersTest, ClassesHaveTextsIfTheLabelWasTexts) {
  const FieldHistory label = {.field = "kind", .texts = {"no", "yes"}};
  const Answers answers({.predictions = Predictions::softmax_logits, .outputs = 3, .label = label});
  EXPECT_EQ(answers.choices(), 1);
  EXPECT_EQ(answers.classes(), label.texts);
  EXPECT_EQ(*answers.class_text(1), "yes");
  EXPECT_EQ(answers.class_text(2), nullptr);
  EXPECT_EQ(answers.class_text(-1), nullptr);
  EXPECT_EQ(answers.answer(std::vector<float>{0, 1, 0}).texts, std::vector<std::string>{"yes"});
  EXPECT_EQ(answers.answer(std::vector<float>{0, 1, 2}).texts, std::vector<std::string>{""}) << "it has none";
  EXPECT_EQ(answers.answer(std::vector<float>{0, kNaN, 2}).texts, std::vector<std::string>{""});
  // Without classes there are none to name.
  const Answers amounts({.predictions = Predictions::numbers, .label = label});
  EXPECT_EQ(amounts.choices(), 0);
  EXPECT_TRUE(amounts.classes().empty());
}

}  // namespace
}  // namespace millrace

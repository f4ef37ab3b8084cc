#include "millrace/cli/rows/prediction_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace millrace::cli {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

// The lines of predictions of this kind.
PredictionText lines_of(const std::string& format, PredictionKind kind, int64_t outputs, const FieldHistory& label = {},
                        double threshold = 0.5, std::vector<std::string> kept = {}) {
  const bool yes_or_no = kind == PredictionKind::yes_or_no || kind == PredictionKind::each_yes_or_no;
  const Predictions predictions = yes_or_no                             ? Predictions::sigmoid_logits
                                  : kind == PredictionKind::one_of_many ? Predictions::softmax_logits
                                                                        : Predictions::numbers;
  return PredictionText(
      {.format = format,
       .answers = Answers({.predictions = predictions, .outputs = outputs, .threshold = threshold, .label = label}),
       .kept = std::move(kept)});
}

std::string text(const std::string& format, PredictionKind kind, const std::vector<float>& output,
                 std::string_view place = "a.csv:3", const FieldHistory& label = {}) {
  const PredictionText lines = lines_of(format, kind, std::ssize(output), label);
  std::string out = lines.head();
  lines.append(out, {.place = place, .output = output});
  return out;
}
std::string csv(PredictionKind kind, const std::vector<float>& output, std::string_view place = "a.csv:3") {
  return text("csv", kind, output, place);
}
std::string json(PredictionKind kind, const std::vector<float>& output) { return text("jsonl", kind, output); }

TEST(PredictionTextTest, YesOrNo) {
  EXPECT_EQ(csv(PredictionKind::yes_or_no, {0}), "row,class,probability\na.csv:3,0,0.5\n");
  EXPECT_EQ(json(PredictionKind::yes_or_no, {0}), "{\"v\":1,\"row\":\"a.csv:3\",\"class\":0,\"probability\":0.5}\n");
  // 1 / (1 + exp(-1.5)) = 0.81757447..., its complement 0.18242552...
  EXPECT_EQ(csv(PredictionKind::yes_or_no, {1.5F}), "row,class,probability\na.csv:3,1,0.8175745\n");
  EXPECT_EQ(csv(PredictionKind::yes_or_no, {-1.5F}), "row,class,probability\na.csv:3,0,0.18242553\n");
  EXPECT_EQ(csv(PredictionKind::yes_or_no, {1000}), "row,class,probability\na.csv:3,1,1\n");
  EXPECT_EQ(csv(PredictionKind::yes_or_no, {-kInfinity}), "row,class,probability\na.csv:3,0,0\n");
  EXPECT_EQ(csv(PredictionKind::yes_or_no, {kNaN}), "row,class,probability\na.csv:3,,nan\n");
  EXPECT_EQ(json(PredictionKind::yes_or_no, {kNaN}),
            "{\"v\":1,\"row\":\"a.csv:3\",\"class\":null,\"probability\":\"NaN\"}\n");
}

TEST(PredictionTextTest, EachYesOrNo) {
  EXPECT_EQ(csv(PredictionKind::each_yes_or_no, {1000, 0, kNaN}),
            "row,class_0,class_1,class_2,probability_0,probability_1,probability_2\na.csv:3,1,0,,1,0.5,nan\n");
  EXPECT_EQ(json(PredictionKind::each_yes_or_no, {1000, 0, kNaN}),
            "{\"v\":1,\"row\":\"a.csv:3\",\"class\":[1,0,null],\"probability\":[1,0.5,\"NaN\"]}\n");
}

// What the classes of these logits are with a threshold.
std::string classes(double threshold, const std::vector<float>& logits) {
  const PredictionText predictions =
      lines_of("jsonl", PredictionKind::each_yes_or_no, std::ssize(logits), {}, threshold);
  std::string out;
  predictions.append(out, {.place = "a", .output = logits});
  const size_t begin = out.find('[');
  return out.substr(begin, out.find(']') + 1 - begin);
}

TEST(PredictionTextTest, AClassIsYesAboveTheThreshold) {
  EXPECT_EQ(classes(0.5, {1e-30F, 0, -1e-30F, kNaN}), "[1,0,0,null]");
  // log(0.3 / 0.7) = -0.8472978...
  EXPECT_EQ(classes(0.3, {-0.8472F, -0.8473F, 0, kNaN}), "[1,0,1,null]");
  EXPECT_EQ(classes(0.9, {2.1972F, 2.1973F}), "[0,1]");
  EXPECT_EQ(classes(0, {-kInfinity, -1000, 0}), "[0,1,1]");
  EXPECT_EQ(classes(1, {kInfinity, 1000}), "[0,0]");
}

TEST(PredictionTextTest, RepeatsColumns) {
  for (const bool csv : {true, false}) {
    const PredictionText predictions = lines_of(csv ? "csv" : "jsonl", PredictionKind::yes_or_no, 1, {}, 0.5,
                                                {"id", "last, first", "class", "class_", "error"});
    std::string out = predictions.head();
    const std::vector<float> logit = {0};
    predictions.append(out, {.place = "a:1", .kept = {"7", "Doe, \"J\"", "", "b\n", "\xff"}, .output = logit});
    EXPECT_EQ(out, csv ? "row,id,\"last, first\",class_,class__,error_,class,probability\n"
                         "a:1,7,\"Doe, \"\"J\"\"\",,\"b\n\",\xff,0,0.5\n"
                       : "{\"v\":1,\"row\":\"a:1\",\"id\":\"7\",\"last, first\":\"Doe, \\\"J\\\"\",\"class_\":\"\","
                         "\"class__\":\"b\\n\",\"error_\":\"\xef\xbf\xbd\",\"class\":0,\"probability\":0.5}\n");
  }
}

TEST(PredictionTextTest, BadRowsHaveNoPrediction) {
  const auto bad = [](const std::string& format, PredictionKind kind, int64_t outputs, const FieldHistory& label = {}) {
    const PredictionText predictions = lines_of(format, kind, outputs, label, 0.5, {"id"});
    std::string out = predictions.head();
    predictions.append(out, {.place = "a:1", .kept = {"7"}, .error = "torn"});
    return out;
  };
  EXPECT_EQ(bad("csv", PredictionKind::values, 1), "row,id,prediction\na:1,7,\n");
  EXPECT_EQ(bad("csv", PredictionKind::one_of_many, 2, {.field = "label", .texts = {"a", "b"}}),
            "row,id,class,name,probability_0,probability_1\na:1,7,,,,\n");
  EXPECT_EQ(bad("jsonl", PredictionKind::values, 2),
            "{\"v\":1,\"row\":\"a:1\",\"id\":\"7\",\"prediction\":null,\"error\":\"torn\"}\n");
  EXPECT_EQ(bad("jsonl", PredictionKind::each_yes_or_no, 2),
            "{\"v\":1,\"row\":\"a:1\",\"id\":\"7\",\"class\":null,\"probability\":null,\"error\":\"torn\"}\n");
}

TEST(PredictionTextTest, OneOfMany) {
  const std::string head = "row,class,probability_0,probability_1,probability_2\n";
  EXPECT_EQ(csv(PredictionKind::one_of_many, {0, 0, -kInfinity}), head + "a.csv:3,0,0.5,0.5,0\n")
      << "the first of the largest";
  EXPECT_EQ(csv(PredictionKind::one_of_many, {-1000, 1000, 1000}), head + "a.csv:3,1,0,0.5,0.5\n");
  EXPECT_EQ(json(PredictionKind::one_of_many, {1, 1, 1, 1}),
            "{\"v\":1,\"row\":\"a.csv:3\",\"class\":0,\"probability\":[0.25,0.25,0.25,0.25]}\n");
  EXPECT_EQ(csv(PredictionKind::one_of_many, {0, kNaN, 1}), head + "a.csv:3,,nan,nan,nan\n");
  EXPECT_EQ(json(PredictionKind::one_of_many, {3}), "{\"v\":1,\"row\":\"a.csv:3\",\"class\":0,\"probability\":[1]}\n");
}

TEST(PredictionTextTest, Values) {
  EXPECT_EQ(csv(PredictionKind::values, {0.1F}), "row,prediction\na.csv:3,0.1\n");
  EXPECT_EQ(csv(PredictionKind::values, {1e-45F, -kInfinity}), "row,prediction_0,prediction_1\na.csv:3,1e-45,-inf\n");
  EXPECT_EQ(json(PredictionKind::values, {0.1F}), "{\"v\":1,\"row\":\"a.csv:3\",\"prediction\":0.1}\n");
  EXPECT_EQ(json(PredictionKind::values, {1, kInfinity}),
            "{\"v\":1,\"row\":\"a.csv:3\",\"prediction\":[1,\"Infinity\"]}\n");
}

TEST(PredictionTextTest, PlacesAreQuotedWhereTheyMustBe) {
  EXPECT_EQ(csv(PredictionKind::values, {1}, "d,e/\"f\".csv:1"), "row,prediction\n\"d,e/\"\"f\"\".csv:1\",1\n");
}

std::string with_label(const std::string& format, PredictionKind kind, const std::vector<float>& output,
                       const FieldHistory& label) {
  return text(format, kind, output, "a.csv:3", label);
}

TEST(PredictionTextTest, NamesTheClassesOfAVocabulary) {
  const FieldHistory label = {.field = "kind", .texts = {"no", "yes, \"so\""}};
  EXPECT_EQ(with_label("csv", PredictionKind::yes_or_no, {1000}, label),
            "row,class,name,probability\na.csv:3,1,\"yes, \"\"so\"\"\",1\n");
  EXPECT_EQ(with_label("csv", PredictionKind::yes_or_no, {kNaN}, label), "row,class,name,probability\na.csv:3,,,nan\n");
  EXPECT_EQ(with_label("csv", PredictionKind::one_of_many, {0, -kInfinity, -kInfinity}, label),
            "row,class,name,probability_0,probability_1,probability_2\na.csv:3,0,no,1,0,0\n");
  EXPECT_EQ(with_label("csv", PredictionKind::one_of_many, {0, 0, 1000}, label),
            "row,class,name,probability_0,probability_1,probability_2\na.csv:3,2,,0,0,1\n")
      << "a class that has no text";
  EXPECT_EQ(with_label("jsonl", PredictionKind::yes_or_no, {-kInfinity}, label),
            "{\"v\":1,\"row\":\"a.csv:3\",\"class\":0,\"name\":\"no\",\"probability\":0}\n");
}

TEST(PredictionTextTest, NamesEachClass) {
  const FieldHistory label = {.field = "kind", .texts = {"no", "yes"}};
  EXPECT_EQ(with_label("csv", PredictionKind::each_yes_or_no, {1000, kNaN}, label),
            "row,class_0,class_1,name_0,name_1,probability_0,probability_1\na.csv:3,1,,yes,,1,nan\n");
  EXPECT_EQ(with_label("jsonl", PredictionKind::each_yes_or_no, {1000, kNaN}, label),
            "{\"v\":1,\"row\":\"a.csv:3\",\"class\":[1,null],\"name\":[\"yes\",null],\"probability\":[1,\"NaN\"]}\n");
}

TEST(PredictionTextTest, UndoesWhatWasDoneToTheLabel) {
  const FieldHistory label = {.field = "price", .scale = {100000}, .offset = {250000}};
  EXPECT_EQ(with_label("csv", PredictionKind::values, {0.5F}, label), "row,prediction\na.csv:3,3e+05\n");
  EXPECT_EQ(with_label("jsonl", PredictionKind::values, {0.25F}, label),
            "{\"v\":1,\"row\":\"a.csv:3\",\"prediction\":275000}\n");
  const FieldHistory two = {.field = "p", .scale = {2, 3}, .offset = {0, 1}};
  EXPECT_EQ(with_label("csv", PredictionKind::values, {1, 2}, two), "row,prediction_0,prediction_1\na.csv:3,2,7\n");
  EXPECT_EQ(with_label("csv", PredictionKind::values, {1, 2, 3}, two),
            "row,prediction_0,prediction_1,prediction_2\na.csv:3,1,2,3\n")
      << "they do not belong together";
  const FieldHistory unknown = {.field = "p", .scale = {2}, .complete = false};
  EXPECT_EQ(with_label("csv", PredictionKind::values, {1}, unknown), "row,prediction\na.csv:3,1\n");
}

}  // namespace
}  // namespace millrace::cli

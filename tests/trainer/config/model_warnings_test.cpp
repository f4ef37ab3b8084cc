#include "millrace/trainer/config/model_warnings.h"

#include <gtest/gtest.h>

#include "millrace/trainer/files/yaml.h"

namespace millrace {
namespace {

std::vector<std::string> warnings(const std::string& model, const std::string& loss) {
  return model_warnings(parse_yaml("model: " + model + "\nloss: " + loss + "\n", "t.yaml"), {});
}

TEST(ModelWarnings, ALossThatAppliesTheLastLayerItself) {
  EXPECT_EQ(warnings("[{dense: {units: 3}}, softmax]", "{softmax_cross_entropy: {label_smoothing: 0.1}}"),
            std::vector<std::string>{"the model ends in softmax, but softmax_cross_entropy takes what comes before it "
                                     "and applies softmax itself: leave it out"});
  EXPECT_EQ(warnings("[{dense: {units: 1, activation: sigmoid}}]", "sigmoid_cross_entropy"),
            std::vector<std::string>{"the model ends in sigmoid, but sigmoid_cross_entropy takes what comes before it "
                                     "and applies sigmoid itself: leave it out"});
}

TEST(ModelWarnings, MetricsOfAnotherSortThanTheLoss) {
  const auto of = [](const std::string& loss, const std::string& metrics) {
    return model_warnings(parse_yaml("loss: " + loss + "\nmetrics: " + metrics + "\n", "t.yaml"), {});
  };
  EXPECT_EQ(of("{huber: {delta: 2}}", "[r2, accuracy, f1]"),
            std::vector<std::string>{"metrics: the predictions are numbers under the loss huber, and accuracy and f1 "
                                     "would take them for logits of classes: r2, rmse or mae tell how near they are"});
  EXPECT_EQ(of("hinge", "[accuracy, mse, {top_k: {k: 2}}]"),
            std::vector<std::string>{"metrics: the predictions are logits under the loss hinge, and mse would compare "
                                     "them with the labels: accuracy or auc tell how often they are right"});
}

TEST(ModelWarnings, KnowTheSortOfAKind) {
  const auto count = [](const std::string& loss, const std::string& metric) {
    return model_warnings(parse_yaml("loss: " + loss + "\nmetrics: [" + metric + "]\n", "t.yaml"), {}).size();
  };
  for (const char* metric : {"accuracy", "auc", "f1", "precision", "recall", "top_k"}) {
    EXPECT_EQ(count("mse", metric), 1u) << metric;
    EXPECT_EQ(count("hinge", metric) + count("of_a_plug_in", metric), 0u) << metric;
  }
  for (const char* metric : {"mse", "mae", "rmse", "r2"}) {
    EXPECT_EQ(count("hinge", metric), 1u) << metric;
    EXPECT_EQ(count("mse", metric) + count("of_a_plug_in", metric), 0u) << metric;
  }
  for (const char* loss : {"mse", "mae", "huber"}) EXPECT_EQ(count(loss, "accuracy"), 1u) << loss;
  for (const char* loss : {"sigmoid_cross_entropy", "softmax_cross_entropy", "hinge"}) {
    EXPECT_EQ(count(loss, "r2"), 1u) << loss;
  }
}

TEST(ModelWarnings, APatternThatNoParameterMatches) {
  std::vector<Parameter> parameters(2);
  parameters[0].name = "dense.weight";
  parameters[1].name = "dense.bias";
  const auto of = [&](const std::string& optimizer) {
    return model_warnings(parse_yaml("optimizer: " + optimizer + "\n", "t.yaml"), parameters);
  };
  EXPECT_EQ(of("{adamw: {no_decay: ['*.bias', '*.baias', dense.wieght]}}"),
            (std::vector<std::string>{"adamw: no parameter is called as no_decay \"*.baias\" says",
                                      "adamw: no parameter is called as no_decay \"dense.wieght\" says; there is "
                                      "dense.weight"}));
  EXPECT_TRUE(of("{adamw: {no_decay: []}}").empty());
  EXPECT_TRUE(of("{adamw: {weight_decay: 0.1}}").empty());
}

TEST(ModelWarnings, FieldsThatNothingReads) {
  const auto of = [](const std::string& fields, const std::string& ops, const std::vector<std::string>& readers) {
    const Spec config = parse_yaml("input:\n- decode_csv: {fields: " + fields + "}\n" + ops, "t.yaml");
    RowSpec rows;
    for (const char* name : {"id", "x", "y", "w"}) rows.fields.push_back({name, DType::f32, {1}});
    return warning_of_unread_fields(*config.find("input"), rows, readers);
  };
  const std::string all = "{id: {columns: id}, x: {columns: 1}, y: {columns: 2}, w: {columns: 3}, gone: {columns: 4}}";
  EXPECT_EQ(of(all, "", {"x", "y"}),
            "input: nothing reads the fields id and w: leave out what is not needed, or name it where it is to be read "
            "(from, weight)");
  EXPECT_EQ(of(all, "- filter: {field: id, op: \">\", value: 3}\n", {"x", "y"}).substr(0, 38),
            "input: nothing reads the field w: leav");
  EXPECT_EQ(of(all, "- filter: {field: id, op: \">\", value: 3}\n- normalize: {fields: [x, w]}\n", {"x", "y"}), "");
  EXPECT_EQ(of(all, "- print: {every: 3}\n", {"x", "y"}), "");
  EXPECT_EQ(of(all, "", {"x", "y", "id", "w"}), "");
  EXPECT_EQ(of("{x: {columns: 1}}", "", {"x"}), "") << "no text is decoded into the others";
}

TEST(ModelWarnings, AreSilentOtherwise) {
  EXPECT_TRUE(warnings("[softmax, {dense: {units: 3}}]", "softmax_cross_entropy").empty());
  EXPECT_TRUE(warnings("[{dense: {units: 1, activation: none}}]", "sigmoid_cross_entropy").empty());
  EXPECT_TRUE(warnings("[sigmoid]", "mse").empty());
  EXPECT_TRUE(model_warnings(Spec::map(), {}).empty());
}

}  // namespace
}  // namespace millrace

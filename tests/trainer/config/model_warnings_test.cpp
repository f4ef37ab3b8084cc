#include "millrace/trainer/config/model_warnings.h"

#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/support/renamed.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// The warnings about a configuration that has only these keys. The label has the shape of the prediction, or is one
// class.
std::vector<std::string> warnings_of(const std::string& yaml, const std::vector<Parameter>& parameters = {},
                                     const LayerCatalog& kinds = LayerCatalog::builtin(), const Shape& prediction = {1},
                                     bool one_class = false) {
  Config config;
  config.resolved = parse_yaml(yaml, "t.yaml");
  if (const Spec* loss = config.resolved.find("loss")) {
    const KindAndOptions wanted = kind_and_options(*loss, "a loss");
    config.loss.kind = wanted.kind;
    config.loss.loss = kinds.losses.make(wanted, *loss);
  }
  if (const Spec* metrics = config.resolved.find("metrics")) {
    for (const Spec& item : metrics->items()) {
      const KindAndOptions wanted = kind_and_options(item, "a metric");
      config.metrics.push_back({wanted.kind, kinds.metrics.make(wanted, item)});
    }
  }
  ModelFacts facts{.parameters = parameters, .prediction = {prediction, DType::f32}, .label = {}};
  facts.label.shape = one_class ? Shape{1} : prediction;
  if (config.loss.loss != nullptr) facts.label.dtype = config.loss.loss->label(facts.prediction).dtype;
  return model_warnings(config, kinds, facts);
}

std::vector<std::string> warnings(const std::string& model, const std::string& loss) {
  return warnings_of("model: " + model + "\nloss: " + loss + "\n");
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
  const auto of = [](const std::string& loss, const std::string& metrics, const Shape& prediction = {1},
                     bool one_class = false) {
    return warnings_of("loss: " + loss + "\nmetrics: " + metrics + "\n", {}, LayerCatalog::builtin(), prediction,
                       one_class);
  };
  EXPECT_EQ(
      of("{huber: {delta: 2}}", "[r2, accuracy, f1]"),
      std::vector<std::string>{"metrics: the predictions are numbers under the loss huber, and accuracy and f1 "
                               "would take them for logits of classes: mae, mse, r2 or rmse tell how near they are"});
  EXPECT_EQ(of("hinge", "[accuracy, mse, {top_k: {k: 2}}]"),
            std::vector<std::string>{
                "metrics: the predictions are logits under the loss hinge, and mse would compare "
                "them with the labels: accuracy, auc, f1, precision or recall tell how often they are right"});
  // Only those that fit the model and its label.
  EXPECT_EQ(of("softmax_cross_entropy", "[mse]", {9}, true),
            std::vector<std::string>{
                "metrics: the predictions are logits under the loss softmax_cross_entropy, and mse would compare them "
                "with the labels: accuracy, f1, precision, recall or top_k tell how often they are right"});
  EXPECT_EQ(of("sigmoid_cross_entropy", "[mse, r2]", {9}),
            std::vector<std::string>{"metrics: the predictions are logits under the loss sigmoid_cross_entropy, and "
                                     "mse and r2 would compare them with the labels: leave them out"});
}

TEST(ModelWarnings, KnowTheSortOfEveryKind) {
  LayerCatalog kinds = LayerCatalog::builtin();
  kinds.losses.add("of_a_plug_in", test::renamed(kinds.losses, "hinge", {}));
  const auto count = [&](const std::string& loss, const std::string& metric) {
    return warnings_of("loss: " + loss + "\nmetrics: [" + metric + "]\n", {}, kinds).size();
  };
  for (const char* metric : {"accuracy", "auc", "f1", "precision", "recall", "top_k"}) {
    EXPECT_EQ(count("mse", metric), 1u) << metric;
    EXPECT_EQ(count("hinge", metric) + count("of_a_plug_in", metric), 0u) << metric;
  }
  for (const char* metric : {"mse", "mae", "rmse", "r2"}) {
    EXPECT_EQ(count("hinge", metric), 1u) << metric;
    EXPECT_EQ(count("of_a_plug_in", metric), 1u) << metric;
    EXPECT_EQ(count("mse", metric), 0u) << metric;
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
    return warnings_of("optimizer: " + optimizer + "\n", parameters);
  };
  EXPECT_EQ(of("{adamw: {no_decay: ['*.bias', '*.baias', dense.wieght]}}"),
            (std::vector<std::string>{
                "optimizer.adamw.no_decay: no parameter has a name that matches \"*.baias\"",
                "optimizer.adamw.no_decay: no parameter has a name that matches \"dense.wieght\"; there is "
                "dense.weight"}));
  EXPECT_TRUE(of("{adamw: {no_decay: []}}").empty());
  EXPECT_TRUE(of("{adamw: {weight_decay: 0.1}}").empty());
}

TEST(ModelWarnings, FieldsThatNothingReads) {
  TempFolder folder;
  folder.write("a.csv", "id,x,y,w,v\n1,2,3,4,5\n");
  const auto of = [&](const std::string& fields, const std::string& ops, const std::vector<std::string>& readers) {
    const Spec list = parse_yaml(cat("- filename_queue: {files: ", quote(folder.path("a.csv"), 4096),
                                     "}\n- csv_reader: {header: true}\n- decode_csv: {fields: ", fields, "}\n", ops,
                                     "- batch: {batch_size: 1}\n"),
                                 "t.yaml");
    return warning_of_unread_fields(InputGraph::build(list, builtin_ops(), {}), readers);
  };
  const std::string all = "{id: {columns: id}, x: {columns: 1}, y: {columns: 2}, w: {columns: 3}}";
  EXPECT_EQ(of(all, "", {"x", "y"}),
            "input: nothing reads the fields id and w: leave out what is not needed, or name it where it is to be read "
            "(from, weight)");
  EXPECT_EQ(of(all, "- filter: {field: id, op: \">\", value: 3}\n", {"x", "y"}).substr(0, 38),
            "input: nothing reads the field w: leav");
  EXPECT_EQ(of(all, "- filter: {field: id, op: \">\", value: 3}\n- normalize: {fields: [x, w], std: 2}\n", {"x", "y"}),
            "");
  EXPECT_EQ(of(all, "- print: {every: 3}\n", {"x", "y"}), "");
  EXPECT_EQ(of(all, "", {"x", "y", "id", "w"}), "");
  EXPECT_EQ(of("{x: {columns: 1}}", "- map: {field: x, as: z}\n", {"x"}), "") << "no text is decoded into z";
}

TEST(ModelWarnings, AreSilentOtherwise) {
  EXPECT_TRUE(warnings("[softmax, {dense: {units: 3}}]", "softmax_cross_entropy").empty());
  EXPECT_TRUE(warnings("[{dense: {units: 1, activation: none}}]", "sigmoid_cross_entropy").empty());
  EXPECT_TRUE(warnings("[sigmoid]", "mse").empty());
  EXPECT_TRUE(warnings_of("seed: 1\n").empty());
}

}  // namespace
}  // namespace millrace

#include "millrace/trainer/config/validation_options.h"

#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "millrace/layers/catalog.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

std::vector<NamedMetric> make_metrics(const std::vector<std::pair<std::string, std::string>>& names_and_kinds) {
  std::vector<NamedMetric> metrics;
  for (const auto& [name, kind] : names_and_kinds) {
    metrics.push_back({name, LayerCatalog::builtin().metrics.make({kind, Spec::map()}, Spec::map())});
  }
  return metrics;
}

ValidationOptions read(const std::string& text, Spec* resolved = nullptr) {
  Spec ignored;
  Spec node = parse_yaml(text, "f.yaml");
  node.set_path("validation");
  const auto metrics = make_metrics({{"accuracy", "accuracy"}, {"mae_2", "mae"}});
  return read_validation(node, metrics, resolved != nullptr ? *resolved : ignored);
}
std::string rejects(const std::string& text) {
  return error_of<ConfigError>([&] { read(text); });
}

TEST(ValidationOptions, HasEachDefault) {
  Spec resolved;
  const ValidationOptions options = read("input: [a]\n", &resolved);
  EXPECT_EQ(options.every, 1000);
  EXPECT_FALSE(options.keep_best.has_value());
  EXPECT_FALSE(options.patience.has_value());
  EXPECT_EQ(options.watched(), "loss");
  EXPECT_FALSE(options.more_is_better());
  EXPECT_EQ(to_yaml(resolved), "held_out: false\ninput: [a]\nevery: 1000\n");
}

TEST(ValidationOptions, TakesOneSourceOfRowsAlone) {
  Spec resolved;
  EXPECT_TRUE(read("held_out: true\n", &resolved).held_out);
  EXPECT_FALSE(read("held_out: false\nfiles: x\n", &resolved).held_out);
  EXPECT_NE(rejects("held_out: true\nfiles: x\n").find("expected either files, held_out or input"), std::string::npos);
  EXPECT_NE(rejects("held_out: false\n").find("expected either files, held_out or input"), std::string::npos);
}

TEST(ValidationOptions, TakesFilesAsAListOrForEachField) {
  const auto files = [](const std::string& text) {
    Spec resolved;
    read("files: " + text + "\n", &resolved);
    return to_yaml(*resolved.find("files"));
  };
  EXPECT_EQ(files("x"), files("[x]"));
  EXPECT_EQ(files("{features: x, label: [y, z]}"), "features: x\nlabel: [y, z]\n");
  EXPECT_NE(rejects("files: {features: {x: y}}\n").find("validation.files.features: expected a text, got a map"),
            std::string::npos);
}

TEST(ValidationOptions, ReadsEveryKey) {
  Spec resolved;
  const ValidationOptions options =
      read("input: [a, b]\nevery: 20\nkeep_best: {metric: accuracy, mode: min}\npatience: 3\n", &resolved);
  EXPECT_EQ(options.input.size(), 2u);
  EXPECT_EQ(options.every, 20);
  EXPECT_EQ(options.watched(), "accuracy");
  EXPECT_FALSE(options.more_is_better());
  EXPECT_EQ(options.patience, 3);
  const std::string text = to_yaml(resolved);
  EXPECT_EQ(to_yaml((read(text, &resolved), resolved)), text);
}

TEST(ValidationOptions, KeepBestMayBeWrittenShort) {
  EXPECT_EQ(read("input: [a]\nkeep_best: true\n").keep_best->metric, "loss");
  EXPECT_EQ(read("input: [a]\nkeep_best: accuracy\n").keep_best->metric, "accuracy");
  Spec without;
  EXPECT_FALSE(read("input: [a]\nkeep_best: false\n", &without).keep_best.has_value());
  EXPECT_EQ(without.find("keep_best"), nullptr) << "as if it were absent";
  for (const char* text : {"true", "false", "accuracy"}) {
    Spec resolved, again;
    const ValidationOptions options = read(cat("input: [a]\nkeep_best: ", text, "\n"), &resolved);
    EXPECT_EQ(read(to_yaml(resolved), &again).keep_best.has_value(), options.keep_best.has_value()) << text;
    EXPECT_EQ(to_yaml(again), to_yaml(resolved));
  }
  EXPECT_EQ(rejects("input: [a]\nkeep_best: acuracy\n"),
            "f.yaml:2:12: validation.keep_best: there is no metric \"acuracy\"; did you mean accuracy?");
}

TEST(ValidationOptions, WhatIsBetterGoesByTheMetric) {
  const auto more_is_better = [](const std::string& keep_best) {
    return read("input: [a]\nkeep_best: " + keep_best + "\n").more_is_better();
  };
  EXPECT_FALSE(more_is_better("{}"));
  EXPECT_FALSE(more_is_better("{metric: loss}"));
  EXPECT_FALSE(more_is_better("{mode: min}"));
  EXPECT_TRUE(more_is_better("{mode: max}"));
  EXPECT_TRUE(more_is_better("{metric: accuracy}"));
  EXPECT_FALSE(more_is_better("{metric: accuracy, mode: min}"));
  EXPECT_FALSE(more_is_better("{metric: mae_2}"));
  EXPECT_TRUE(more_is_better("{metric: mae_2, mode: max}"));
}

TEST(ValidationOptions, ANameSaysNothingOfWhatIsBetter) {
  const auto metrics = make_metrics({{"regret", "mae"}, {"mse", "r2"}});
  Spec resolved;
  const auto more_is_better = [&](const char* metric) {
    const Spec node = Spec::map().set("files", "x").set("keep_best", Spec::map().set("metric", metric));
    return read_validation(node, metrics, resolved).more_is_better();
  };
  EXPECT_FALSE(more_is_better("regret"));
  EXPECT_TRUE(more_is_better("mse"));
}

TEST(ValidationOptions, RejectsWhatMakesNoSense) {
  EXPECT_EQ(rejects("every: 5\n"),
            "f.yaml:1:1: validation: expected either files, held_out or input; for example validation: {files: "
            "\"held-out/*.csv\"}, or {held_out: true} with the op hold_out");
  EXPECT_EQ(rejects("input: [a]\nfiles: x\n"),
            "f.yaml:1:1: validation: expected either files, held_out or input; for example validation: {files: "
            "\"held-out/*.csv\"}, or {held_out: true} with the op hold_out");
  EXPECT_EQ(rejects("input: []\n"), "f.yaml:1:8: validation.input: expected at least one item, got an empty list");
  EXPECT_EQ(rejects("input: [a]\nevery: 0\n"), "f.yaml:2:8: validation.every: expected at least 1, got 0");
  EXPECT_EQ(rejects("input: [a]\npatience: 0\n"), "f.yaml:2:11: validation.patience: expected at least 1, got 0");
  EXPECT_EQ(rejects("input: [a]\nkeep_best: {metric: acuracy}\n"),
            "f.yaml:2:21: validation.keep_best.metric: there is no metric \"acuracy\"; did you mean accuracy?");
  EXPECT_EQ(rejects("input: [a]\nkeep_best: {metric: gini}\n"),
            "f.yaml:2:21: validation.keep_best.metric: there is no metric \"gini\"; there is loss, accuracy and mae_2; "
            "others are named under metrics");
  EXPECT_EQ(rejects("input: [a]\nkeep_best: {mode: least}\n"),
            "f.yaml:2:19: validation.keep_best.mode: expected auto, min or max, got \"least\"");
  EXPECT_EQ(rejects("input: [a]\nkeep_last: {}\n").substr(0, 50), "f.yaml:2:1: validation: unknown key keep_last; did");
}

}  // namespace
}  // namespace millrace

// Trains with every layer, loss, metric and optimizer of a catalog; each training is saved at every border and restored
// (open_training.h). New kinds are tried without a change here. Tests that include this must link the program's
// library.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "millrace/cli/reference/reference.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/catalog.h"
#include "tests/trainer/checkpoint/open_training.h"

namespace millrace::testing {

// A node for each kind, with the options that its author gives as an example, or with plausible ones.
template <class Base>
std::map<std::string, std::string> example_nodes(const Registry<Base>& registry) {
  std::map<std::string, std::string> out;
  for (const KindInfo& kind : registry.describe()) out[kind.kind] = cli::kind_example(kind);
  return out;
}

// The node with one more option.
inline std::string with_option(const std::string& node, const std::string& option) {
  const size_t brace = node.find('{');
  if (brace == std::string::npos) return cat(node, ": {", option, '}');
  return cat(node.substr(0, brace + 1), option, ", ", node.substr(brace + 1));
}

// `node` as the value of a key.
inline std::string as_value(const std::string& node) {
  return node.find(':') == std::string::npos ? node : cat('{', node, '}');
}

// A training with five batches of 6 rows and one of 2 rows. Each row has a label of 0 or 1.
inline std::string training_of(int features, const std::string& model, const std::string& more) {
  return cat("seed: 5\ndevice: cpu\nthreads: 2\ninput:\n  - synthetic: {features: ", features,
             ", rows: 32}\n  - batch: {batch_size: 6, allow_smaller_final_batch: true}\nmodel:\n", model, more);
}

// Trainings that try a layer on a vector, an image or two vectors. A layer that reads something else needs a line here.
inline std::vector<std::string> trainings_with_layer(const std::string& node, int inputs) {
  const std::string end = "  - dense: {units: 1}\n";
  const std::string more =
      "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.05}}\ntrain: {log_every: 2}\n";
  if (inputs > 1) {
    const std::string joined = node.find("from:") == std::string::npos
                                   ? with_option(node, "from: [x, y]")
                                   : std::regex_replace(node, std::regex(R"(from: \[[^\]]*\])"), "from: [x, y]");
    return {training_of(
        16, cat("  - dense: {units: 20, name: x}\n  - dense: {units: 20, name: y}\n  - ", joined, '\n', end), more)};
  }
  return {training_of(16, cat("  - dense: {units: 20}\n  - ", node, '\n', end), more),
          training_of(256, cat("  - reshape: [4, 8, 8]\n  - ", node, "\n  - flatten\n", end), more),
          training_of(784, cat("  - ", node, "\n  - flatten\n", end), more)};
}

inline void check_every_layer(const Catalog& catalog) {
  const LayerRegistry& layers = catalog.layers.layers;
  for (const auto& [kind, node] : example_nodes(layers)) {
    Spec spec = parse_yaml(node, kind);
    if (Spec* options = spec.find(kind); options != nullptr && options->is_map()) options->erase("from");
    const int inputs = layers.make(layers.read(spec, "a layer"), spec)->min_inputs();
    bool fits = false;
    for (const std::string& yaml : trainings_with_layer(node, inputs)) {
      const Spec training = training_spec(yaml);
      try {
        OpenTraining tried(training, catalog);
      } catch (const ConfigError&) {
        continue;
      }
      fits = true;
      EXPECT_EQ(restore_difference(training, catalog), "") << yaml;
      break;
    }
    EXPECT_TRUE(fits) << kind << " fits no model of trainings_with_layer()";
  }
}

// How many outputs the loss takes with a label of one column: 1 or 7; 0 if it takes neither.
inline int units_of(const Loss& loss) {
  for (const int units : {1, 7}) {
    try {
      loss.check({Shape{units}, DType::f32}, {Shape{1}, DType::f32});
      return units;
    } catch (const ShapeError&) {
    }
  }
  return 0;
}

inline bool fits(const Metric& metric, const Loss& loss, int units) {
  const TensorSpec prediction{Shape{units}, DType::f32};
  try {
    metric.check(prediction, {Shape{1}, loss.label(prediction).dtype});
    return true;
  } catch (const ShapeError&) {
    return false;
  }
}

template <class Base>
std::unique_ptr<Base> made(const Registry<Base>& registry, const std::string& node) {
  const Spec spec = parse_yaml(node, "a kind");
  return registry.make(registry.read(spec, "a kind"), spec);
}

inline void check_every_loss_and_metric(const Catalog& catalog) {
  std::set<std::string> seen;
  const std::map<std::string, std::string> metrics = example_nodes(catalog.layers.metrics);
  for (const auto& [kind, node] : example_nodes(catalog.layers.losses)) {
    const auto loss = made(catalog.layers.losses, node);
    const int units = units_of(*loss);
    ASSERT_GT(units, 0) << kind << " fits no model of check_every_loss_and_metric()";
    std::string list;
    for (const auto& [metric, metric_node] : metrics) {
      if (!fits(*made(catalog.layers.metrics, metric_node), *loss, units)) continue;
      list += cat("  - ", metric_node, '\n');
      seen.insert(metric);
    }
    for (const std::string& of : {node, with_option(node, "weight: label")}) {
      for (const char* over : {"batch", "window"}) {
        const std::string yaml = training_of(
            8, cat("  - dense: {units: ", units, "}\n"),
            cat("loss: ", as_value(of), "\nmetrics:", list.empty() ? " []\n" : cat('\n', list),
                "optimizer: {sgd: {learning_rate: 0.05}}\ntrain: {log_every: 4, report_over: ", over, "}\n"));
        EXPECT_EQ(restore_difference(training_spec(yaml), catalog), "") << yaml;
      }
    }
  }
  EXPECT_EQ(seen.size(), metrics.size()) << "a metric that fits no loss was not looked at";
}

inline void check_every_optimizer(const Catalog& catalog) {
  for (const auto& [kind, node] : example_nodes(catalog.layers.optimizers)) {
    std::string plain = node, rich = node;
    for (const OptionInfo& option : catalog.layers.optimizers.options_of(kind, {})) {
      for (const auto& [name, value] : {std::pair("momentum", "0.9"),
                                        {"weight_decay", "0.01"},
                                        {"no_decay", "\"*.bias\""},
                                        {"schedule", "{cosine: {steps: 8, warmup: 3}}"}}) {
        if (option.name == name && !option.required) rich = with_option(rich, cat(name, ": ", value));
      }
    }
    for (const std::string& optimizer : {plain, rich}) {
      for (const char* rules :
           {"log_every: 1", "accumulate: 4", "clip_norm: 0.1, clip_value: 0.01, on_nonfinite: fail",
            "accumulate: 2, clip_norm: 0.1, clip_value: 0.01, on_nonfinite: skip, report_over: window, log_every: 4"}) {
        const std::string yaml = training_of(
            8, "  - dense: {units: 5, activation: tanh}\n  - dense: {units: 1}\n",
            cat("loss: sigmoid_cross_entropy\noptimizer: ", as_value(optimizer), "\ntrain: {", rules, "}\n"));
        EXPECT_EQ(restore_difference(training_spec(yaml), catalog), "") << yaml;
      }
    }
  }
}

}  // namespace millrace::testing

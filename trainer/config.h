// Config: a configuration as values and objects, each key checked, each default in its one place.
//
//   Config config = read_config(read_yaml_file("mlp.yaml"), Catalog::builtin());
//
// Nothing is opened, built or run yet. Move-only; used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/catalog.h"
#include "millrace/trainer/delivery.h"
#include "millrace/trainer/step.h"

namespace millrace {

struct TrainOptions {
  std::optional<int64_t> steps;  // absent: until the data ends
  int64_t log_every = 100;

  void declare(OptionReader& o);
};

struct LossConfig {
  std::unique_ptr<Loss> loss;
  std::string kind;
  std::string label = "label";  // the field that it compares with
  std::string weight;           // the field of row weights; empty: every row counts the same
  Spec spec;                    // where it was written, for messages
};

struct Config {
  uint64_t seed = 0;
  std::string device = "auto";  // as written; parse_device() reads it
  int threads = 0;              // 0: auto
  Spec input;                   // the list of ops, as written; InputGraph::build() reads it
  DeliveryOptions delivery;
  std::vector<LayerNode> layers;  // names are empty where none was given; Model::build() fills them in
  LossConfig loss;
  std::vector<NamedMetric> metrics;
  std::unique_ptr<Optimizer> optimizer;
  TrainOptions train;
  std::optional<std::string> save;

  // The configuration with every default; `input` and the layers' names are as written until complete_resolved().
  Spec resolved;

  // Where the top-level key `key` was written, else the whole: the place for an error about it.
  const Spec& node(std::string_view key) const;
  Spec written;  // the configuration as it was given
};

// What a configuration is wanted for decides which keys must be there.
enum class ConfigUse {
  training,  // input, model, loss and optimizer
  input,     // input; the others are checked where they are
};

// Throws ConfigError: unknown, absent or ill-typed keys, unknown kinds.
Config read_config(const Spec& spec, const Catalog& catalog, ConfigUse use = ConfigUse::training);

// Completes `config.resolved` with what is known once graph and model are built: every option of the ops
// (InputGraph::resolved()) and the layers' names, in order.
void complete_resolved(Config& config, const Spec& input, std::span<const std::string> layer_names);

}  // namespace millrace

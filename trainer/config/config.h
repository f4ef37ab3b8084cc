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

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/options.h"
#include "millrace/core/spec.h"
#include "millrace/layers/gradients/gradient_options.h"
#include "millrace/layers/loss.h"
#include "millrace/layers/model/model.h"
#include "millrace/layers/optimizer.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/checkpoint_options.h"
#include "millrace/trainer/config/compare_options.h"
#include "millrace/trainer/config/log_options.h"
#include "millrace/trainer/config/validation_options.h"
#include "millrace/trainer/config/worker_options.h"
#include "millrace/trainer/delivery/delivery_options.h"
#include "millrace/trainer/step/scores.h"

namespace millrace {

// How to treat a loss, a gradient or a state of a layer that is not finite. `warn` looks at loss and states when the
// host has the loss anyway: in every step on the CPU, else when it is reported, and at the end. `fail` and `skip` look
// at all three in every step.
enum class OnNonfinite : uint8_t { warn, fail, skip, off };

template <>
struct EnumNames<OnNonfinite> {
  static constexpr std::pair<std::string_view, OnNonfinite> kNames[] = {
      {"warn", OnNonfinite::warn}, {"fail", OnNonfinite::fail}, {"skip", OnNonfinite::skip}, {"off", OnNonfinite::off}};
};

// Which batches a report's loss and metrics are over: only its own, or all since the previous report.
enum class ReportOver : uint8_t { batch, window };

template <>
struct EnumNames<ReportOver> {
  static constexpr std::pair<std::string_view, ReportOver> kNames[] = {{"batch", ReportOver::batch},
                                                                       {"window", ReportOver::window}};
};

template <>
struct EnumNames<Precision> {
  static constexpr std::pair<std::string_view, Precision> kNames[] = {{"float32", Precision::float32},
                                                                      {"tf32", Precision::tf32}};
};

struct MILLRACE_EXPORT TrainOptions {
  std::optional<int64_t> steps;  // absent: until the data ends
  int64_t log_every = 100;
  ReportOver report_over = ReportOver::batch;
  int64_t accumulate = 1;
  std::optional<double> clip_norm, clip_value;
  OnNonfinite on_nonfinite = OnNonfinite::warn;

  // For StepArgs::window_batches.
  int64_t window_batches() const { return report_over == ReportOver::window ? log_every : 0; }
  bool checks_gradients() const { return on_nonfinite == OnNonfinite::fail || on_nonfinite == OnNonfinite::skip; }
  GradientOptions gradients() const {
    return {
        .accumulate = accumulate, .clip_value = clip_value, .clip_norm = clip_norm, .check_finite = checks_gradients()};
  }

  void declare(OptionReader& o);
};

// A model file: `FILE`, or `{file: FILE, optimizer: true}`.
struct MILLRACE_EXPORT ModelFileOptions {
  std::string file;
  bool optimizer = false;  // with the optimizer's state

  // The file next to `file` for the model of the last step, if `file` gets a better one: "m.last.safetensors" for
  // "m.safetensors".
  std::string last_file() const;

  void declare(OptionReader& o);
};

MILLRACE_DECLARE_OPTION_TYPE(ModelFileOptions);

struct LossConfig {
  std::unique_ptr<Loss> loss;
  std::string kind;
  std::string label = "label";  // the field that it compares with
  std::string weight;           // the field of row weights; empty: every row counts the same
  Spec spec;                    // where it was written, for messages
};

struct MILLRACE_EXPORT Config {
  uint64_t seed = 0;
  std::string device = "auto";  // as written; parse_device() reads it
  Precision precision = Precision::float32;
  int threads = 0;  // 0: auto
  Spec input;       // the list of ops, as written; InputGraph::build() reads it
  DeliveryOptions delivery;
  std::vector<LayerNode> layers;  // a name is empty if none was given; Model::build() fills it in
  LossConfig loss;
  std::vector<NamedMetric> metrics;
  std::unique_ptr<Optimizer> optimizer;
  TrainOptions train;
  std::optional<ValidationOptions> validation;
  std::optional<CompareOptions> compare;
  std::optional<ModelFileOptions> save, load;
  std::optional<CheckpointOptions> checkpoint;
  std::optional<LogOptions> log;
  std::optional<WorkerOptions> workers;

  // The configuration with every default; the lists of ops and the layers' names are as written until
  // complete_resolved().
  Spec resolved;

  // The top-level key `key` as written, else the whole configuration: it has the place for an error about the key.
  const Spec& node(std::string_view key) const;
  Spec written;  // the configuration as it was given
};

// The purpose for which a configuration is read. It decides which keys are required.
enum class ConfigUse {
  training,  // input, model, loss and optimizer
  input,     // input; the others are checked if they are there
};

// The top-level keys; those that this use needs are required.
MILLRACE_EXPORT std::vector<OptionInfo> describe_config(ConfigUse use = ConfigUse::training);

// Throws ConfigError: unknown, absent or ill-typed keys, unknown kinds.
MILLRACE_EXPORT Config read_config(const Spec& spec, const Catalog& catalog, ConfigUse use = ConfigUse::training);

// The device that `config.device` names, for this model; warnings about the choice are added to `warnings`. Throws
// ConfigError and DeviceError, with the place.
MILLRACE_EXPORT Device device_of(const Config& config, std::vector<std::string>& warnings);

// Completes `config.resolved` with what is known once graph and model are built: every option of the ops
// (InputGraph::resolved()) and the layers' names, in order.
MILLRACE_EXPORT void complete_resolved(Config& config, const Spec& input, std::span<const std::string> layer_names);

}  // namespace millrace

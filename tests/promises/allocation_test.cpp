// P4: our code allocates nothing in a steady step; what the libraries allocate inside their own calls is constant.
// P5: a run holds no more memory than the bound of its configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "tests/promises/training.h"
#include "tests/support/allocation_counter.h"

namespace millrace::testing {
namespace {

// Allocations of each of the steps `first`..`last` of a training, which ends then.
std::vector<AllocationCounts> count_steps(Trainer& trainer, int first, int last) {
  std::vector<AllocationCounts> counts;
  counts.reserve(static_cast<size_t>(last - first) + 1);
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport& report) {
    if (report.step > first && report.step <= last) counts.push_back(stop_counting());
    if (report.step >= first && report.step < last) start_counting();
    if (report.step == last) trainer.stop();
  };
  trainer.run(callbacks);
  return counts;
}

std::vector<AllocationCounts> count_steps(const std::string& yaml, int first, int last) {
  Trainer trainer = Trainer::from_spec(parse_yaml(yaml, "test.yaml"));
  return count_steps(trainer, first, last);
}

std::string endless(std::string yaml) {
  yaml.replace(yaml.find(", epochs: 2"), 11, "");
  return yaml + "train: {log_every: 1, steps: 400}\n";
}

int64_t own_allocations(const TempFolder& folder, const char* delivery, int threads) {
  const auto counts = count_steps(endless(training_yaml(folder, {.threads = threads, .delivery = delivery})), 200, 400);
  EXPECT_EQ(counts.size(), 200u);
  int64_t own = 0;
  for (const AllocationCounts& step : counts) own += step.own;
  return own;
}

TEST(Allocation, ASteadyStepAllocatesNothingOfOurs) {
  TempFolder folder;
  write_data(folder);
  EXPECT_EQ(own_allocations(folder, "feed", 1), 0);
  EXPECT_EQ(own_allocations(folder, "feed", 2), 0);
  for (int threads : {1, 2, 3}) {
    EXPECT_EQ(own_allocations(folder, "native", threads), 0) << threads;
    EXPECT_EQ(own_allocations(folder, "queue", threads), 0) << threads;
  }
}

// With the key, steps after which no checkpoint is due, also in a training that went on from one.
TEST(Allocation, ASteadyStepBetweenCheckpointsAllocatesNothing) {
  TempFolder folder;
  write_data(folder);
  for (const char* delivery : {"native", "feed", "queue", "staging"}) {
    const std::string key = cat("checkpoint: {dir: ", quote(folder.path(delivery), 4096), ", every: 1000000}\n");
    const std::string yaml = endless(training_yaml(folder, {.delivery = delivery, .more = key}));
    for (const bool resumed : {false, true}) {
      Trainer trainer = Trainer::from_spec(parse_yaml(yaml, "test.yaml"));
      EXPECT_EQ(trainer.resume().has_value(), resumed);
      const auto counts = resumed ? count_steps(trainer, 300, 400) : count_steps(trainer, 100, 200);
      EXPECT_EQ(counts.size(), 100u);
      int64_t own = 0;
      for (const AllocationCounts& step : counts) own += step.own;
      EXPECT_EQ(own, 0) << delivery << (resumed ? ", resumed" : "");
    }
  }
}

// Among the ops are all that save lists.
TEST(Allocation, AStateTakesTheMemoryOfTheOneBeforeIt) {
  TempFolder folder;
  write_data(folder);
  const auto reading = [&](const std::string& name, const std::string& epochs, const std::string& readers) {
    return cat("- filename_queue: {name: ", name, "_files, files: ", quote(folder.path("part-*.csv"), 4096), epochs,
               "}\n- csv_reader: {name: ", name, "_reader", readers, "}\n- decode_csv: {name: ", name,
               ", fields: {x: {columns: 0-5}, y: {columns: 7}}}\n");
  };
  const std::string lists[] = {
      cat(reading("a", "", ", readers: 3"), reading("b", "", ""),
          "- mix: {from: [a, b]}\n- map: {field: x, scale: 2}\n- filter: {field: y, op: '>', value: 0}\n"
          "- skip: {rows: 3}\n- print: {every: 7}\n- shuffle_batch: {batch_size: 16, min_after_dequeue: 40}\n"),
      cat(reading("a", ", epochs: 2", ""), reading("b", ", epochs: 2", ""),
          "- interleave: {from: [a, b]}\n- cache\n- repeat\n- map: {field: x, scale: 2}\n- take: {rows: 100000}\n"
          "- batch: {batch_size: 16}\n"),
      "- synthetic: {features: 3, rows: 20}\n- repeat\n- shuffle_batch: {batch_size: 3, min_after_dequeue: 9}\n"};
  for (const std::string& list : lists) {
    Pipeline pipeline(InputGraph::build(parse_yaml(list, "test.yaml"), builtin_ops(), {.seed = 5}), {});
    RowBlock batch = pipeline.make_slot();
    State state;
    int64_t own = 0;
    for (int i = 0; i < 200; ++i) {
      ASSERT_GT(pipeline.next(batch), 0) << list;
      start_counting();
      pipeline.save(state);
      const AllocationCounts counts = stop_counting();
      if (i >= 100) own += counts.own;
    }
    EXPECT_EQ(own, 0) << list;
    EXPECT_EQ(state, pipeline.save()) << list;
  }
}

// Some of these write the rows anew, with other fields than they had.
TEST(Allocation, TransformsOfRowsAllocateNothing) {
  TempFolder folder;
  write_data(folder);
  for (const char* op :
       {"map: {field: features, scale: 2, as: features_times_two}", "augment: {fields: features, noise: 0.1}",
        "augment: {fields: features, shift: 1, flip: both, crop: [2, 2], noise: 0.1}"}) {
    for (const int threads : {1, 2}) {
      std::string yaml = endless(training_yaml(folder, {.threads = threads, .op = op}));
      yaml.insert(yaml.find("columns: 0-5") + 12, ", reshape: [1, 2, 3]");
      yaml.insert(yaml.find("model:\n") + 7, "  - flatten\n");
      int64_t own = 0;
      for (const AllocationCounts& step : count_steps(yaml, 200, 400)) own += step.own;
      EXPECT_EQ(own, 0) << op << " on " << threads;
    }
  }
}

// Bytes that the step makes numbers of, and bytes of which transforms do.
TEST(Allocation, FieldsOfBytesAllocateNothing) {
  TempFolder folder;
  std::string text;
  for (int row = 0; row < 100; ++row) text += cat(row % 5, ',', row % 3, ",1,2,0,", row % 4, ",t,", row % 2, '\n');
  for (int file = 0; file < kFiles; ++file) folder.write(cat("part-", file, ".csv"), text);
  for (const char* op : {"map: {field: features}", "normalize: {fields: features, mean: 1, std: 2}",
                         "augment: {fields: features, shift: 1, noise: 1}"}) {
    for (const int threads : {1, 2}) {
      std::string yaml = endless(training_yaml(folder, {.threads = threads, .op = op}));
      yaml.insert(yaml.find("columns: 0-5") + 12, ", reshape: [1, 2, 3], type: uint8");
      yaml.insert(yaml.find("model:\n") + 7, "  - flatten\n");
      int64_t own = 0;
      for (const AllocationCounts& step : count_steps(yaml, 200, 400)) own += step.own;
      EXPECT_EQ(own, 0) << op << " on " << threads;
    }
  }
}

// Which block of a pool gets which rows is a matter of timing, so each must have the memory for all that any had.
TEST(Allocation, ABlockTakesTheFieldsOfOthersWithoutAny) {
  const auto spec = [](std::initializer_list<const char*> names) {
    RowSpec rows;
    for (const char* name : names) rows.fields.push_back({name, DType::f32, Shape{5}});
    return std::make_shared<const RowSpec>(rows);
  };
  const SharedRowSpec few = spec({"a"}), many = spec({"a", "a name that needs memory of its own", "c"});
  RowBlock first, second;
  first.configure(many, 7);
  first.configure(few, 1);
  first.grow(7);
  second.reserve(first.memory());
  start_counting();
  for (int round = 0; round < 2; ++round) {
    second.configure(few, 1);
    second.grow(7);
    second.configure(many, 7);
  }
  EXPECT_EQ(stop_counting().own, 0);
}

TEST(Allocation, TheLibrariesShareIsConstant) {
  const std::string yaml =
      "seed: 1\ndevice: cpu\nthreads: 1\ninput:\n  - synthetic: {task: sum, features: 200}\n"
      "  - batch: {batch_size: 32}\nmodel:\n  - dense: {units: 300, activation: relu}\n  - dense: {units: 1}\n"
      "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\ntrain: {log_every: 1, steps: 120}\n";
  const auto counts = count_steps(yaml, 40, 120);
  ASSERT_EQ(counts.size(), 80u);
  for (const AllocationCounts& step : counts) {
    EXPECT_EQ(step.own, 0);
    EXPECT_EQ(step.library, counts[0].library);
  }
}

// Of a training of its own, after which the chunks of its source have come round several times.
int64_t own_allocations(int units, const std::string& keys) {
  const auto counts = count_steps(cat("seed: 1\ndevice: cpu\nthreads: 2\ninput:\n  - synthetic: {features: 64}\n"
                                      "  - batch: {batch_size: 16}\nmodel:\n  - dense: {units: 8, activation: relu}\n"
                                      "  - dense: {units: ",
                                      units, "}\n", keys),
                                  60, 120);
  EXPECT_GE(counts.size(), 15u);
  int64_t own = 0;
  for (const AllocationCounts& step : counts) own += step.own;
  return own;
}

std::string sgd() { return "optimizer: {sgd: {learning_rate: 0.01}}\n"; }

bool fits(const Metric& metric, const Loss& loss, int units) {
  const TensorSpec prediction{Shape{units}, DType::f32};
  try {
    metric.check(prediction, {Shape{1}, loss.label(prediction).dtype});
    return true;
  } catch (const ShapeError&) {
    return false;
  }
}

TEST(Allocation, NoLossOrMetricAllocates) {
  const LayerCatalog catalog = LayerCatalog::builtin();
  std::set<std::string> seen;
  for (const auto& [kind, entry] : catalog.losses.entries()) {
    const int units = kind == "softmax_cross_entropy" ? 7 : 1;
    std::string metrics;
    for (const auto& [metric, made] : catalog.metrics.entries()) {
      if (!fits(*made.make(Spec::map(), nullptr), *entry.make(Spec::map(), nullptr), units)) continue;
      metrics += cat(metrics.empty() ? "" : ", ", metric);
      seen.insert(metric);
    }
    for (const char* weight : {"", "weight: label"}) {
      for (const char* train : {"log_every: 1", "log_every: 3", "log_every: 4, report_over: window"}) {
        const std::string keys = cat("loss: {", kind, ": {", weight, "}}\nmetrics: [", metrics, "]\n", sgd(),
                                     "train: {", train, ", steps: 120}\n");
        EXPECT_EQ(own_allocations(units, keys), 0) << keys;
      }
    }
  }
  EXPECT_EQ(seen.size(), catalog.metrics.entries().size()) << "a metric that fits no loss was not looked at";
}

TEST(Allocation, NoOptimizerOrRuleOfGradientsAllocates) {
  const LayerCatalog catalog = LayerCatalog::builtin();
  for (const auto& [kind, entry] : catalog.optimizers.entries()) {
    std::string more = ", weight_decay: 0.01, no_decay: \"*.bias\", schedule: {cosine: {steps: 100}}";
    for (const OptionInfo& option : entry.describe()) more += option.name == "momentum" ? ", momentum: 0.9" : "";
    for (const std::string& options : {std::string(), more}) {
      for (const char* rules :
           {"", "accumulate: 3", "clip_norm: 0.1", "clip_value: 0.01", "on_nonfinite: fail", "on_nonfinite: skip",
            "accumulate: 2, clip_norm: 0.1, clip_value: 0.01, on_nonfinite: skip, report_over: window"}) {
        const std::string keys =
            cat("loss: mse\nmetrics: [mse]\noptimizer: {", kind, ": {learning_rate: 0.001", options,
                "}}\ntrain: {log_every: 1, steps: 120", *rules != 0 ? ", " : "", rules, "}\n");
        EXPECT_EQ(own_allocations(1, keys), 0) << keys;
      }
    }
  }
}

// Keeps gradients and two slots beside the parameters.
class Slotted final : public Optimizer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "gradient descent with state that it does not need";
  explicit Slotted(const Options&) {}
  int state_slots() const override { return 2; }
  void scalars(uint64_t, std::span<float> out) const override { out[0] = 0.01F; }
  void update(Context&, const UpdateArgs& args) const override {
    for (int64_t i = 0; i < args.parameters.elements(); ++i) {
      args.parameters.as<float>()[i] -= args.scalars[0] * args.gradients.as<float>()[i];
    }
  }
};

// What is not counted: the configuration, threads, and what libraries keep for themselves.
constexpr int64_t kFixedBytes = 1 << 20;

// Trains on a batch of 257 rows and one of 256, and saves the model.
void expect_within_bound(const std::string& yaml) {
  Catalog catalog = Catalog::builtin();
  catalog.layers.optimizers.add<Slotted>("slotted");
  const Spec config = parse_yaml(yaml, "test.yaml");
  const TempFolder folder;
  const int64_t before = held_bytes();
  begin_peak();
  Trainer trainer = Trainer::from_spec(config, catalog);
  const auto bound = static_cast<int64_t>(trainer.memory_bound());
  const TrainResult result = trainer.run();
  trainer.save(folder.path("model.safetensors"));
  const int64_t most = peak_bytes() - before;
  EXPECT_LE(most, bound + kFixedBytes) << yaml;
  EXPECT_GE(most, bound / 2) << yaml;
  EXPECT_EQ(static_cast<int64_t>(trainer.memory_bound()), bound) << yaml;
  EXPECT_EQ(result.last_batch, 256);
}

TEST(Memory, StaysWithinTheBoundWithASmallerLastBatch) {
  for (const char* delivery : {"native", "feed"}) {
    for (const char* optimizer : {"{sgd: {learning_rate: 0.01}}", "slotted"}) {
      for (const int threads : {1, 4}) {
        expect_within_bound(cat("seed: 1\ndevice: cpu\nthreads: ", threads,
                                "\ninput:\n  - synthetic: {task: sum, features: 600, rows: 513}\n",
                                "  - batch: {batch_size: 257, allow_smaller_final_batch: true}\ndelivery: ", delivery,
                                "\nmodel:\n  - dense: {units: 1000, activation: relu}\n  - dense: {units: 700}\n",
                                "  - dense: {units: 1}\nloss: sigmoid_cross_entropy\nmetrics: [accuracy]\n",
                                "optimizer: ", optimizer, "\n"));
      }
    }
  }
}

TEST(Memory, StaysWithinTheBoundWithAValidation) {
  const TempFolder folder;
  const int64_t before = held_bytes();
  begin_peak();
  Trainer trainer = Trainer::from_spec(parse_yaml(
      "seed: 1\ndevice: cpu\nthreads: 2\ninput: [{synthetic: {features: 600, rows: 640}}, {batch: {batch_size: 64}}]\n"
      "model: [{dense: {units: 1000, activation: relu}}, {dense: {units: 1}}]\nloss: sigmoid_cross_entropy\n"
      "metrics: [accuracy]\noptimizer: {sgd: {learning_rate: 0.01}}\nvalidation:\n"
      "  input: [{synthetic: {features: 600, rows: 1100, name: other}}, {batch: {batch_size: 400}}]\n"
      "  every: 3\n  keep_best: {metric: accuracy}\n",
      "test.yaml"));
  const auto bound = static_cast<int64_t>(trainer.memory_bound());
  trainer.run();
  trainer.save(folder.path("model.safetensors"));
  const int64_t most = peak_bytes() - before;
  EXPECT_LE(most, bound + kFixedBytes);
  EXPECT_GE(most, bound / 2);
  EXPECT_EQ(static_cast<int64_t>(trainer.memory_bound()), bound);
}

// The copy, what is written of it, and what is read to go on from it.
TEST(Memory, StaysWithinTheBoundWithCheckpoints) {
  const TempFolder folder;
  Catalog catalog = Catalog::builtin();
  catalog.layers.optimizers.add<Slotted>("slotted");
  const std::string yaml = cat(
      "seed: 1\ndevice: cpu\nthreads: 2\ninput: [{synthetic: {features: 600, rows: 640}}, {batch: {batch_size: 64}}]\n"
      "model: [{dense: {units: 1000, activation: relu}}, batch_norm, {dense: {units: 1}}]\n"
      "loss: sigmoid_cross_entropy\nmetrics: [accuracy]\noptimizer: slotted\n"
      "train: {accumulate: 3, on_nonfinite: skip}\nvalidation:\n"
      "  input: [{synthetic: {features: 600, rows: 100, name: other}}, {batch: {batch_size: 50}}]\n"
      "  every: 3\n  keep_best: {metric: accuracy}\ncheckpoint: {every: 1, dir: ",
      quote(folder.path("checkpoints"), 4096), "}\n");
  for (const bool resumed : {false, true}) {
    const Spec config = parse_yaml(yaml, "test.yaml");
    const int64_t before = held_bytes();
    begin_peak();
    Trainer trainer = Trainer::from_spec(config, catalog);
    const auto bound = static_cast<int64_t>(trainer.memory_bound());
    EXPECT_EQ(trainer.resume().has_value(), resumed);
    TrainCallbacks callbacks;
    callbacks.on_batch = [&](const BatchReport& report) {
      if (!resumed && report.step == 7) trainer.stop();
    };
    EXPECT_GT(trainer.run(callbacks).checkpoints.written, 0);
    const int64_t most = peak_bytes() - before;
    EXPECT_LE(most, bound + kFixedBytes) << resumed;
    EXPECT_GE(most, bound / 2) << resumed;
    EXPECT_EQ(static_cast<int64_t>(trainer.memory_bound()), bound);
  }
}

// A window of auc has a number for each of its rows, which are many more than the model's.
TEST(Memory, StaysWithinTheBoundWithCheckpointsOfAWindow) {
  const TempFolder folder;
  const std::string yaml = cat(
      "seed: 1\ndevice: cpu\nthreads: 2\n"
      "input: [{synthetic: {features: 2, rows: 2000000}}, {batch: {batch_size: 4096}}]\nmodel: [{dense: {units: 1}}]\n"
      "loss: sigmoid_cross_entropy\nmetrics: [auc]\noptimizer: {sgd: {learning_rate: 0.01}}\n"
      "train: {steps: 250, report_over: window, log_every: 256}\ncheckpoint: {every: 1000, dir: ",
      quote(folder.path("checkpoints"), 4096), "}\n");
  for (const bool resumed : {false, true}) {
    const Spec config = parse_yaml(yaml, "test.yaml");
    const int64_t before = held_bytes();
    begin_peak();
    Trainer trainer = Trainer::from_spec(config);
    const auto bound = static_cast<int64_t>(trainer.memory_bound());
    EXPECT_EQ(trainer.resume().has_value(), resumed);
    TrainCallbacks callbacks;
    callbacks.on_batch = [&](const BatchReport& report) {
      if (!resumed && report.step == 200) trainer.stop();
    };
    EXPECT_EQ(trainer.run(callbacks).checkpoints.written, 1);
    const int64_t most = peak_bytes() - before;
    EXPECT_GT(most, 200 * 4096 * 8 * 2) << "else the window is in no checkpoint";
    EXPECT_LE(most, bound + kFixedBytes) << resumed;
    EXPECT_GE(most, bound / 2) << resumed;
  }
}

// P3: an executor starts or says why not, whichever of the caller's allocations fails. A thread that were left behind
// would end the process.
TEST(Allocation, AnExecutorThatCannotStartSaysSo) {
  { const Executor first(3); }  // OpenMP's runtime ends the process when what it keeps of a thread cannot be had
  std::set<std::string> messages;
  int64_t number = 0;
  for (bool failed = true; failed; ++number) {
    fail_allocation(number);
    try {
      const Executor executor(3);
      failed = allocation_failed();
      EXPECT_EQ(executor.started_threads(), 3);
    } catch (const InternalError& error) {
      EXPECT_TRUE(allocation_failed());
      messages.insert(error.what());
    }
  }
  EXPECT_GE(number, 5);  // the executor, its list of threads, two threads; then all went well
  EXPECT_THAT(messages, ::testing::Contains("could not start 3 threads: out of memory; lower threads"));
}

}  // namespace
}  // namespace millrace::testing

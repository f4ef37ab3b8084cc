// The whole input path from the page cache, reading, decoding, shuffling and placing, against `pread` and decode_csv of
// the same bytes; and trainings from text against what their halves take alone.
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/budgets/data.h"
#include "bench/budgets/decoder.h"
#include "bench/budgets/network.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/trainer.h"
#include "millrace/trainer/yaml.h"

namespace millrace::bench {

namespace {

constexpr int64_t kBatch = 256;
constexpr int kSteps = 150;
constexpr int kWarmUp = 10;

std::string input_yaml(const std::string& file, const std::string& epochs) {
  return cat("input:\n  - filename_queue: {files: \"", file, "\", shuffle: false", epochs,
             "}\n  - csv_reader\n  - decode_csv: {fields: {features: {columns: 0-1023}, label: {columns: 1024}}}\n"
             "  - shuffle_batch: {batch_size: ",
             kBatch, ", capacity: 1024, min_after_dequeue: 512, threads: 2}\n");
}

void bare(const std::string& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  std::string buffer(kChunk + 16384, ' ');
  Decoder decoder;
  for (off_t at = 0;;) {
    const ssize_t got = pread(descriptor, buffer.data(), buffer.size(), at);
    if (got <= 0) break;
    const std::string_view text(buffer.data(), static_cast<size_t>(got));
    at += static_cast<off_t>(decoder.run(text, std::min(kChunk, text.size())));
  }
  close(descriptor);
}

void graph(Executor& executor, const Spec& list) {
  Pipeline pipeline(InputGraph::build(list, builtin_ops(), {.seed = 23}), {.executor = &executor});
  RowBlock batch = pipeline.make_slot();
  while (pipeline.next(batch) > 0) {
  }
}

Ratio path_over_bare(const Setting& setting) {
  const std::string file = data_file(setting);
  const Spec list = *parse_yaml(input_yaml(file, ", epochs: 1"), "bench").find("input");
  Executor executor(2);
  return compare(
      setting.rounds, [&] { return timed(process_seconds, [&] { bare(file); }); },
      [&] { return timed(process_seconds, [&] { graph(executor, list); }); });
}

// Seconds of a step of a training on the file's rows, in the model with these layers before the last.
double train(const std::string& file, std::string_view layers) {
  Trainer trainer = Trainer::from_spec(
      parse_yaml(cat("seed: 23\nthreads: 2\n", input_yaml(file, ""), "model:\n", layers,
                     "  - dense: {units: 1}\n"
                     "loss: sigmoid_cross_entropy\nmetrics: [accuracy]\noptimizer: {sgd: {learning_rate: 0.01}}\n"
                     "train: {log_every: 1, steps: ",
                     kSteps, "}\n"),
                 "bench"));
  double begin = 0;
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport& report) {
    if (report.step == kWarmUp) begin = wall_seconds();
  };
  trainer.run(callbacks);
  return (wall_seconds() - begin) / (kSteps - kWarmUp);
}

// What a step would take if its processor time and that of its input were shared out over the processors without loss.
class Halves {
 public:
  explicit Halves(const std::string& file)
      : executor_(2),
        context_(Device::cpu(), executor_),
        network_(context_, kBatch),
        list_(*parse_yaml(input_yaml(file, ", epochs: 1"), "bench").find("input")) {}

  double seconds() {
    const double steps = timed(process_seconds, [&] {
      for (int i = 0; i < kSteps; ++i) network_.step();
    });
    const double input = timed(process_seconds, [&] { graph(executor_, list_); });
    return (steps / kSteps + input / (kRowsOfFile / kBatch)) / executor_.threads();
  }

 private:
  Executor executor_;
  Context context_;
  Network network_;
  Spec list_;
};

Ratio training_over_halves(const Setting& setting) {
  if (Executor::available_threads() < 2) throw Skip{"not so many processors"};
  const std::string file = data_file(setting);
  Halves halves(file);
  return compare(
      setting.rounds, [&] { return halves.seconds(); },
      [&] { return train(file, "  - dense: {units: 1024, activation: relu}\n"); });
}

// Of a model whose step is nothing beside its input.
Ratio tiny_over_input(const Setting& setting) {
  if (Executor::available_threads() < 2) throw Skip{"not so many processors"};
  const std::string file = data_file(setting);
  constexpr int kEpochs = 6;
  const Spec list = *parse_yaml(input_yaml(file, cat(", epochs: ", kEpochs)), "bench").find("input");
  Executor executor(2);
  return compare(
      setting.rounds,
      [&] { return timed(wall_seconds, [&] { graph(executor, list); }) / (kEpochs * kRowsOfFile / kBatch); },
      [&] { return train(file, ""); });
}

}  // namespace

void add_input_budgets(Budgets& out) {
  out.push_back(
      {"input/path", "processor time of the input path over pread and decode_csv", 1.25, false, path_over_bare});
  out.push_back({"input/training", "a step on text over the processor time of step and input, shared out", 1.05, false,
                 training_over_halves});
  out.push_back({"input/tiny", "a step of a model without hidden layers, on text, over its input alone", 1.11, false,
                 tiny_over_input});
}

}  // namespace millrace::bench

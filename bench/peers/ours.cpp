// This library as one of the peers that scripts/bench-peers compares; protocol.py says how a worker is spoken to.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "bench/budgets/compare.h"
#include "bench/budgets/network.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"
#include "millrace/version.h"

namespace millrace::bench {

namespace {

constexpr int64_t kBatch = 256;
constexpr int kSteps = 8;  // steps between two looks at the clock

struct Task {
  std::string variant;
  std::string data;
  int threads = 0;
};

void tell_ready(const std::string& unequal) {
  std::cout << R"({"versions": {"millrace": ")" << version() << R"("}, "unequal": )" << unequal << '}' << std::endl;
}

void tell(uint64_t amount, double seconds) {
  std::cout << R"({"amount": )" << amount << R"(, "seconds": )" << seconds << '}' << std::endl;
}

// Works in windows; see window() in protocol.py.
void serve(FunctionRef<uint64_t()> run) {
  for (std::string line; std::getline(std::cin, line);) {
    const double seconds = std::atof(line.c_str());
    const double lead = wall_seconds();
    while (wall_seconds() - lead < seconds / 4) run();
    const double begin = wall_seconds();
    uint64_t amount = 0;
    double elapsed = 0;
    while ((elapsed = wall_seconds() - begin) < seconds) amount += run();
    tell(amount, elapsed);
  }
}

// A file's rows, in memory.
std::vector<float> read_floats(const std::string& path) {
  std::vector<float> floats(std::filesystem::file_size(path) / sizeof(float));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(floats.data()), static_cast<std::streamsize>(floats.size() * sizeof(float)));
  return floats;
}

// Reads files once: as one block of all rows, or as batches in the same memory.
class Files {
 public:
  // `ops` is YAML, the ops before the batch; `expected` is a file with the numbers that all rows should have.
  Files(const Task& task, const std::string& ops, uint64_t batch, const std::string& expected)
      : executor_(task.threads),
        expected_(read_floats(expected)),
        list_(parse_yaml(cat(ops, "- batch: {batch_size: ", batch, ", threads: ", task.threads,
                             ", allow_smaller_final_batch: true}\n"),
                         "peers")) {}

  // Calls body(batch, rows) for every batch.
  template <class Body>
  void pass(const Body& body) {
    Pipeline pipeline(InputGraph::build(list_, builtin_ops(), {}), {.executor = &executor_});
    RowBlock batch = pipeline.make_slot();
    while (const int64_t rows = pipeline.next(batch)) body(batch, rows);
  }

  // How many numbers have other bits than they should.
  int64_t unequal() {
    int64_t count = 0;
    const float* at = expected_.data();
    pass([&](const RowBlock& batch, int64_t rows) {
      for (int64_t row = 0; row < rows; ++row) {
        for (size_t field = 0; field < batch.spec().fields.size(); ++field) {
          for (const float& got : batch.numbers<float>(field, row)) count += std::memcmp(&got, at++, sizeof got) != 0;
        }
      }
    });
    if (at != expected_.data() + expected_.size()) throw InternalError("a row is missing");
    return count;
  }

 private:
  Executor executor_;
  std::vector<float> expected_;
  Spec list_;
};

void decode(const Task& task) {
  const std::string path = task.data + "/decode/examples-00.csv", expected = task.data + "/decode/strtof.f32";
  const uint64_t rows = std::filesystem::file_size(expected) / sizeof(float) / (kFeatures + 1);
  const std::string ops = cat("- filename_queue: {files: \"", path,
                              "\", shuffle: false, epochs: 1}\n- csv_reader\n"
                              "- decode_csv: {fields: {features: {columns: 0-1023}, label: {columns: 1024}}}\n");
  Files text(task, ops, task.variant == "whole" ? rows : kBatch, expected);
  tell_ready(cat(text.unequal()));
  serve([&] {
    text.pass([](const RowBlock&, int64_t) {});
    return std::filesystem::file_size(path);
  });
}

// The variant is a store that store_peer.py made, together with the ops that read it.
void store(const Task& task) {
  const std::string folder = task.data + "/store/";
  std::ifstream ops(folder + task.variant + ".yaml");
  Files files(task, {std::istreambuf_iterator<char>(ops), {}}, kBatch, folder + "rows.f32");
  tell_ready(cat(files.unequal()));
  serve([&]() -> uint64_t {
    files.pass([](const RowBlock&, int64_t) {});
    return 1;
  });
}

void step(const Task& task) {
  Executor executor(task.threads);
  Context context(Device::cpu(), executor);
  Network network(context, kBatch);
  const auto run = [&]() -> uint64_t {
    for (int i = 0; i < kSteps; ++i) network.step();
    return kSteps;
  };
  run();
  tell_ready("null");
  serve(run);
}

// The variant is FEATURES/UNITS, of the network FEATURES -> UNITS -> 1.
void row(const Task& task) {
  const int64_t features = std::atoll(task.variant.c_str());
  const std::string units = task.variant.substr(task.variant.find('/') + 1);
  Trainer trainer =
      Trainer::from_string(cat("device: cpu\nthreads: 1\ninput: [{synthetic: {features: ", features,
                               ", rows: 64}}, {batch: {batch_size: 32}}]\nmodel: [{dense: {units: ", units,
                               ", activation: relu}}, {dense: {units: 1}}]\n",
                               "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.01}}\n"),
                           "row.yaml");
  trainer.run();
  const ::millrace::Network network = trainer.network({.threads = task.threads});
  const std::vector<float> values(static_cast<size_t>(features), 0.5F);
  std::array<float, 1> output{};
  const auto run = [&]() -> uint64_t {
    constexpr uint64_t kRows = 32;
    for (uint64_t i = 0; i < kRows; ++i) network.predict(values, output);
    return kRows;
  };
  run();
  tell_ready("null");
  serve(run);
}

// A training that never ends: the driver's windows begin and end at its reports.
class Windows {
 public:
  // `amount` is the work of one step.
  explicit Windows(int64_t amount) : amount_(amount) {}

  // Returns whether the training goes on.
  bool at(const StepReport& report) {
    const double now = wall_seconds();
    if (!told_) {
      tell_ready("null");
      told_ = true;
    } else if (now - begin_ < (leading_ ? seconds_ / 4 : seconds_)) {
      return true;
    } else if (leading_) {
      leading_ = false;
      begin_ = now;
      step_ = report.step;
      return true;
    } else {
      tell(static_cast<uint64_t>((report.step - step_) * amount_), now - begin_);
    }
    std::string line;
    if (!std::getline(std::cin, line)) return false;
    seconds_ = std::atof(line.c_str());
    leading_ = true;
    begin_ = wall_seconds();
    return true;
  }

 private:
  int64_t amount_;
  bool told_ = false;
  bool leading_ = false;
  double seconds_ = 0;
  double begin_ = 0;
  int64_t step_ = 0;
};

void train(const char* config, std::span<const std::string> overrides, int64_t amount) {
  Trainer trainer = Trainer::from_file(config, overrides);
  Windows windows(amount);
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport& report) {
    if (!windows.at(report)) trainer.stop();
  };
  trainer.run(callbacks);
}

void training(const Task& task) {
  const std::vector<std::string> overrides = {cat("threads=", task.threads), cat("delivery=", task.variant),
                                              cat("input.shuffle_batch.threads=", task.threads)};
  train("bench/peers/training.yaml", overrides, kBatch);
}

void lenet(const Task& task) {
  const std::string overrides[] = {cat("threads=", task.threads)};
  train("bench/peers/lenet.yaml", overrides, 1);
}

}  // namespace

}  // namespace millrace::bench

int main(int count, char** words) {
  using namespace millrace::bench;
  if (count != 5) {
    std::fputs("usage: peer WORK VARIANT DATA THREADS\n", stderr);
    return 2;
  }
  const std::string work = words[1];
  const Task task{words[2], words[3], std::atoi(words[4])};
  try {
    (work == "decode"  ? decode
     : work == "store" ? store
     : work == "step"  ? step
     : work == "lenet" ? lenet
     : work == "row"   ? row
                       : training)(task);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer: %s\n", error.what());
    return 70;
  }
  return 0;
}

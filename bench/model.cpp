// Predicts the speed of a training from text on larger machines: a model with few constants, all measured in this run,
// checked against this machine with 1, 2, .. threads. See docs/performance.md.
//
//   model FOLDER [ROUNDS]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench/budgets/compare.h"
#include "bench/budgets/data.h"
#include "bench/budgets/input_path.h"
#include "bench/budgets/network.h"
#include "bench/budgets/training.h"
#include "millrace/core/kernels/tile_grid.h"
#include "millrace/input/catalog.h"
#include "millrace/input/files/read_ahead.h"
#include "millrace/input/graph/pipeline.h"

namespace {

using namespace millrace;
using namespace millrace::bench;

constexpr int64_t kRows = 36000;
constexpr double kRowBytes = (kFeatures + 1) * 4;

// Seconds of one thread for one row, unless it says otherwise.
struct Constants {
  double step = 0;          // the whole step
  double parallel = 0;      // reading and decoding
  double serial = 0;        // only on the training thread: shuffling and placing
  double tiles = 0;         // tiles of the step's large products; a tile is the work of one thread
  double text_bytes = 0;    // of a row
  double memory_bytes = 0;  // per second, copied by all threads of this machine
};

struct Storage {
  const char* name;
  double bytes_a_second;  // 0: the page cache
  double seconds;         // until a read is answered
};

struct Prediction {
  double seconds;  // for a row
  const char* bound;
};

Prediction predict(const Constants& of, int threads, const Storage& storage) {
  const double tiles_of_slowest = std::ceil(of.tiles / threads);
  const double under_way = static_cast<double>(ReadAhead::kAhead);
  const double come =
      storage.bytes_a_second == 0 ? 0 : std::max(1 / storage.bytes_a_second, storage.seconds / under_way);
  const Prediction bounds[] = {
      {(of.step + of.parallel + of.serial) / threads, "work"},
      {of.serial + of.step * tiles_of_slowest / of.tiles, "training thread"},
      {of.text_bytes * come, "storage"},
  };
  return *std::max_element(std::begin(bounds), std::end(bounds),
                           [](const Prediction& a, const Prediction& b) { return a.seconds < b.seconds; });
}

constexpr int kSteps = 40;

// Everything is timed once in each round, so that other work of the machine disturbs all equally.
struct Samples {
  std::vector<double> step, input, serial, memory;
};
struct Check {
  int threads;
  std::vector<double> step = {}, input = {}, training = {};
};

// Processor time of the input path on one thread, and the part of the last op.
void sample_input(Samples& out, Constants& constants, const Files& files) {
  Executor executor(1);
  const Spec list = input_list({.files = files.pattern, .threads = 1});
  const double before = process_seconds();
  Pipeline pipeline(InputGraph::build(list, builtin_ops(), {.seed = 23}), {.executor = &executor});
  RowBlock batch = pipeline.make_slot();
  while (pipeline.next(batch) > 0) {
  }
  out.input.push_back((process_seconds() - before) / kRows);
  out.serial.push_back(pipeline.statistics().ops.back().busy_seconds / kRows);
  constants.text_bytes = static_cast<double>(pipeline.summary().bytes) / kRows;
}

double steps(Network& network, double (*clock)()) {
  network.step();
  return timed(clock,
               [&] {
                 for (int i = 0; i < kSteps; ++i) network.step();
               }) /
         kSteps / kBatch;
}

void sample_step(Samples& out) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  Network network(context, kBatch);
  out.step.push_back(steps(network, process_seconds));
}

void sample(Check& out, const std::string& folder, const Files& files) {
  {
    Executor executor(out.threads);
    Context context(Device::cpu(), executor);
    Network network(context, kBatch);
    out.step.push_back(steps(network, wall_seconds));
    const Spec list = input_list({.files = files.pattern, .threads = out.threads});
    out.input.push_back(timed(wall_seconds, [&] { read_all(executor, list); }) / kRows);
  }
  out.training.push_back(step_seconds(data_file(folder), out.threads) / kBatch);
}

// Bytes that all threads copy in a second, each in memory too large for any cache.
double copied_bytes(std::vector<std::vector<char>>& memory) {
  const size_t half = memory.front().size() / 2;
  const double seconds = timed(wall_seconds, [&] {
    std::vector<std::thread> copying;
    for (std::vector<char>& own : memory) {
      copying.emplace_back([&own, half] { std::memcpy(own.data(), own.data() + half, half); });
    }
    for (std::thread& one : copying) one.join();
  });
  return static_cast<double>(memory.size() * half) / seconds;
}

void print_constants(const Constants& of) {
  std::printf(
      "| constant | value |\n|---|---|\n"
      "| S, the step, us of one processor a row | %.2f (%.0f GFLOP/s) |\n"
      "| D, reading and decoding, us of one processor a row | %.2f (%.2f GB/s of text) |\n"
      "| P, shuffling and placing, us of the training thread a row | %.2f |\n"
      "| G, tiles of the products of a step | %.0f |\n"
      "| b, bytes of text a row | %.0f |\n"
      "| M, copied by all processors of this machine | %.1f GB/s; a row moves %.0f KB at most, so %.0f krows/s |\n\n",
      1e6 * of.step, 1e-9 * (6.0 - 2.0) * kUnits * kUnits / of.step, 1e6 * of.parallel,
      1e-9 * of.text_bytes / of.parallel, 1e6 * of.serial, of.tiles, of.text_bytes, 1e-9 * of.memory_bytes,
      1e-3 * (of.text_bytes + 3 * kRowBytes), 1e-3 * of.memory_bytes / (of.text_bytes + 3 * kRowBytes));
}

void print_checks(const Constants& of, const std::vector<Check>& checks) {
  std::printf(
      "| threads of this machine | what | predicted krows/s | measured krows/s | measured over predicted |\n"
      "|---|---|---|---|---|\n");
  Constants step = of, input = of;
  step.parallel = step.serial = input.step = 0;
  for (const Check& check : checks) {
    const auto print = [&](const char* what, const Constants& part, const std::vector<double>& seconds) {
      const double predicted = predict(part, check.threads, {"page cache", 0, 0}).seconds, measured = median(seconds);
      std::printf("| %d | %s | %.1f | %.1f | %.2f |\n", check.threads, what, 1e-3 / predicted, 1e-3 / measured,
                  predicted / measured);
    };
    print("the step alone", step, check.step);
    print("the input alone", input, check.input);
    print("the training", of, check.training);
  }
  std::printf("\n");
}

void print_predictions(const Constants& of) {
  const Storage storages[] = {
      {"page cache", 0, 0}, {"NVMe, 3 GB/s, 0.1 ms", 3e9, 1e-4}, {"network, 1 GB/s, 10 ms", 1e9, 1e-2}};
  std::printf("| threads | storage | predicted krows/s | bound by |\n|---|---|---|---|\n");
  for (const int threads : {2, 16, 96}) {
    for (const Storage& storage : storages) {
      const Prediction predicted = predict(of, threads, storage);
      std::printf("| %d | %s | %.0f | %s |\n", threads, storage.name, 1e-3 / predicted.seconds, predicted.bound);
    }
  }
  std::puts("\nStorage other than the page cache: for large files, behind the first 4 MiB of each.");
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("usage: model FOLDER [ROUNDS]\n", stderr);
    return 2;
  }
  const std::string folder = words[1];
  const int rounds = count > 2 ? std::atoi(words[2]) : 9;
  const int processors = Executor::available_threads();
  const Files files = data_files(folder, kRows, 1);
  std::vector<std::vector<char>> memory(static_cast<size_t>(processors), std::vector<char>(size_t{1} << 28, 1));
  Samples samples;
  Constants of;
  std::vector<Check> checks;
  for (int threads = 1; threads <= processors; threads *= 2) checks.push_back({threads});
  for (int round = 0; round < rounds; ++round) {
    sample_input(samples, of, files);
    sample_step(samples);
    samples.memory.push_back(copied_bytes(memory));
    for (Check& check : checks) sample(check, folder, files);
  }
  of.step = median(samples.step);
  of.serial = median(samples.serial);
  of.parallel = median(samples.input) - of.serial;
  of.memory_bytes = median(samples.memory);
  // A copy of kLimits of core/kernels/gemm_matmul.cpp: change both. The weight's gradient has the same number of tiles.
  of.tiles = static_cast<double>(cpu::TileGrid(kBatch, kUnits, kUnits, {256, 128, 64, 64}).count());
  print_constants(of);
  print_checks(of, checks);
  print_predictions(of);
  return 0;
}

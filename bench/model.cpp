// What a training from text should reach on larger machines: a model with few constants, all measured in this run,
// checked against what this machine does with 1, 2, .. threads. See docs/performance.md.
//
//   model FOLDER [ROUNDS]
#include <algorithm>
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
#include "millrace/input/graph/pipeline.h"
#include "millrace/input/graph/read_ahead.h"

namespace {

using namespace millrace;
using namespace millrace::bench;

constexpr int64_t kRows = 36000;
constexpr double kRowBytes = (kFeatures + 1) * 4;

// Seconds of one thread and one row, except where it says otherwise.
struct Constants {
  double step = 0;          // of the step, all of it
  double parallel = 0;      // of reading and decoding
  double serial = 0;        // of the training thread alone: shuffling and placing
  double tiles = 0;         // of the step's large products: so many threads work on one at most
  double text_bytes = 0;    // of a row
  double memory_bytes = 0;  // a second, copied by all threads of this machine
};

struct Storage {
  const char* name;
  double bytes_a_second;  // 0: the page cache
  double seconds;         // until a read is answered
};

struct Prediction {
  double seconds;  // a row
  const char* bound;
};

Prediction predict(const Constants& of, int threads, const Storage& storage) {
  const double on_step = std::min<double>(threads, of.tiles);
  const double under_way = static_cast<double>(ReadAhead::kAhead);
  const double come =
      storage.bytes_a_second == 0 ? 0 : std::max(1 / storage.bytes_a_second, storage.seconds / under_way);
  const Prediction bounds[] = {
      {(of.step + of.parallel + of.serial) / threads, "work"},
      {of.serial + of.step / on_step, "training thread"},
      {of.text_bytes * come, "storage"},
  };
  return *std::max_element(std::begin(bounds), std::end(bounds),
                           [](const Prediction& a, const Prediction& b) { return a.seconds < b.seconds; });
}

// Processor time of the input path on one thread, and of what in it the last op does.
void measure_input(Constants& out, const Files& files, int rounds) {
  std::vector<double> all, serial;
  Executor executor(1);
  const Spec list = input_list({.files = files.pattern, .threads = 1});
  for (int round = 0; round <= rounds; ++round) {
    const double before = process_seconds();
    Pipeline pipeline(InputGraph::build(list, builtin_ops(), {.seed = 23}), {.executor = &executor});
    RowBlock batch = pipeline.make_slot();
    while (pipeline.next(batch) > 0) {
    }
    const double seconds = process_seconds() - before;
    if (round == 0) continue;
    const InputStatistics statistics = pipeline.statistics();
    const double rows = static_cast<double>(files.rows);
    serial.push_back(statistics.ops.back().busy_seconds / rows);
    all.push_back(seconds / rows);
    out.text_bytes = static_cast<double>(pipeline.summary().bytes) / rows;
  }
  out.serial = median(serial);
  out.parallel = median(all) - out.serial;
}

void measure_step(Constants& out, int rounds) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  Network network(context, kBatch);
  constexpr int kSteps = 20;
  out.step = median_of(rounds,
                       [&] {
                         return timed(process_seconds, [&] {
                           for (int i = 0; i < kSteps; ++i) network.step();
                         });
                       })
                 .median /
             kSteps / kBatch;
}

// Bytes that all threads copy in a second, each within memory that no cache holds.
double copied_bytes(int threads, int rounds) {
  constexpr size_t kBytes = size_t{1} << 28;
  std::vector<std::vector<char>> memory(static_cast<size_t>(threads), std::vector<char>(2 * kBytes, 1));
  const double seconds = median_of(rounds, [&] {
                           return timed(wall_seconds, [&] {
                             std::vector<std::thread> copying;
                             for (std::vector<char>& own : memory) {
                               copying.emplace_back([&own] { std::memcpy(own.data(), own.data() + kBytes, kBytes); });
                             }
                             for (std::thread& one : copying) one.join();
                           });
                         }).median;
  return static_cast<double>(threads) * static_cast<double>(kBytes) / seconds;
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

// Seconds of a row on the clock on the wall.
struct Measured {
  double step, input, training;
};

Measured measure(const std::string& folder, int threads, int rounds) {
  Measured out;
  {
    Executor executor(threads);
    Context context(Device::cpu(), executor);
    Network network(context, kBatch);
    constexpr int kSteps = 40;
    out.step = median_of(rounds,
                         [&] {
                           return timed(wall_seconds, [&] {
                             for (int i = 0; i < kSteps; ++i) network.step();
                           });
                         })
                   .median /
               kSteps / kBatch;
    const Files files = data_files(folder, kRows, 1);
    const Spec list = input_list({.files = files.pattern, .threads = threads});
    out.input =
        median_of(rounds, [&] { return timed(wall_seconds, [&] { read_all(executor, list); }); }).median / kRows;
  }
  out.training = median_of(rounds, [&] { return step_seconds(data_file(folder), threads); }).median / kBatch;
  return out;
}

void print_check(const Constants& of, const std::string& folder, int rounds) {
  const Storage cache = {"page cache", 0, 0};
  std::printf(
      "| threads of this machine | what | predicted krows/s | measured krows/s | measured over predicted "
      "|\n|---|---|---|---|---|\n");
  for (int threads = 1; threads <= Executor::available_threads(); threads *= 2) {
    const auto print = [&](const char* what, const Constants& part, double seconds) {
      const double predicted = predict(part, threads, cache).seconds;
      std::printf("| %d | %s | %.1f | %.1f | %.2f |\n", threads, what, 1e-3 / predicted, 1e-3 / seconds,
                  predicted / seconds);
    };
    const Measured measured = measure(folder, threads, rounds);
    Constants step = of, input = of;
    step.parallel = step.serial = input.step = 0;
    print("the step alone", step, measured.step);
    print("the input alone", input, measured.input);
    print("the training", of, measured.training);
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
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("usage: model FOLDER [ROUNDS]\n", stderr);
    return 2;
  }
  const int rounds = count > 2 ? std::atoi(words[2]) : 5;
  const int processors = Executor::available_threads();
  Constants of;
  of.tiles = static_cast<double>(cpu::TileGrid(kBatch, kUnits, kUnits, {256, 128, 64, 64}).count());
  measure_input(of, data_files(words[1], kRows, 1), rounds);
  measure_step(of, rounds);
  of.memory_bytes = copied_bytes(processors, rounds);
  print_constants(of);
  print_check(of, words[1], rounds);
  print_predictions(of);
  return 0;
}

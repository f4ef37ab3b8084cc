// The cost of a row as files, bytes and threads grow: processor time of the whole input path, from the page cache.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/budgets/budget.h"
#include "bench/budgets/data.h"
#include "bench/budgets/input_path.h"
#include "millrace/core/text.h"

namespace millrace::bench {

namespace {

constexpr int64_t kRows = 36000;  // 402 MB
constexpr int kThreads = 2;

// Processor time of a row, including everything before the first row.
double row_seconds(Executor& executor, const Files& files, int epochs = 1) {
  const Spec list = input_list({.files = files.pattern, .epochs = epochs, .threads = executor.threads()});
  return timed(process_seconds, [&] { read_all(executor, list); }) / static_cast<double>(files.rows * epochs);
}

// Either of them may take longer.
Ratio either_way(Ratio ratio) { return {std::max(ratio.median, 1 / ratio.median), ratio.noise}; }

// Both are written now, in one way, because the cost of copying from the page cache depends on how the files got there.
Ratio over_files(const Setting& setting) {
  const Files one = fresh_data_files(setting.folder, kRows, 1), many = fresh_data_files(setting.folder, kRows, 1000);
  Executor executor(kThreads);
  return either_way(compare(
      setting.rounds, [&] { return row_seconds(executor, one); }, [&] { return row_seconds(executor, many); }));
}

// Reads the same file again and again.
Ratio over_size(const Setting& setting) {
  const Files files = data_files(setting.folder, kRows / 4, 1);
  Executor executor(kThreads);
  return either_way(compare(
      setting.rounds, [&] { return row_seconds(executor, files); }, [&] { return row_seconds(executor, files, 100); }));
}

// The cost of a file besides its rows: 1000 files of three rows, against the same rows in one file.
Ratio of_file(const Setting& setting) {
  constexpr int kFiles = 1000, kRowsOfEach = 3;
  const Files one = fresh_data_files(setting.folder, kFiles * kRowsOfEach, 1);
  const Files many = fresh_data_files(setting.folder, kFiles * kRowsOfEach, kFiles);
  Executor executor(kThreads);
  return median_of(setting.rounds,
                   [&] { return 1e6 * kRowsOfEach * (row_seconds(executor, many) - row_seconds(executor, one)); });
}

// The wall time of one thread over the wall time of `threads` threads.
Ratio over_threads(const Setting& setting, int threads) {
  if (Executor::available_threads() < threads) throw Skip{"not so many processors"};
  const Files files = data_files(setting.folder, kRows, 1);
  Executor one(1), many(threads);
  const auto read = [&](Executor& executor) {
    const Spec list = input_list({.files = files.pattern, .threads = executor.threads()});
    return timed(wall_seconds, [&] { read_all(executor, list); });
  };
  return inverse(compare(
      setting.rounds, [&] { return read(one); }, [&] { return read(many); }));
}

}  // namespace

void add_scaling_budgets(Budgets& out) {
  out.push_back(
      {"scaling/files", "processor time of a row in 1000 files over 1, or the inverse", 1.05, false, over_files});
  out.push_back(
      {"scaling/size", "processor time of a row in 10 GB over 100 MB, or the inverse", 1.05, false, over_size});
  out.push_back(
      {"scaling/each_file", "microseconds of processor time that a file costs beside its rows", 100, false, of_file});
  for (const int threads : {2, 4, 8, 16}) {
    out.push_back({cat("scaling/threads/", threads), cat("the input path on ", threads, " threads over one"),
                   0.9 * std::min(threads, 8), true,
                   [=](const Setting& setting) { return over_threads(setting, threads); }});
  }
}

}  // namespace millrace::bench

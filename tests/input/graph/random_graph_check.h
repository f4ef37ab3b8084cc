// Runs a random graph in many ways, and compares what comes out with its reference.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/core/threads/executor.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/graph/random_graph.h"

namespace millrace::testing_support {

// Reads yield and spin for a random while, so that tasks end in another order each time.
class DelayedFiles : public FileSystem {
 public:
  explicit DelayedFiles(FileSystem& files) : files_(files) {}
  std::unique_ptr<File> open(const std::string& path) override {
    return std::make_unique<DelayedFile>(*this, files_.open(path));
  }
  std::unique_ptr<ByteStream> open_stream(const std::string& path) override { return files_.open_stream(path); }
  Type type(const std::string& path) override { return files_.type(path); }
  std::vector<std::string> match(const std::string& pattern) override { return files_.match(pattern); }
  std::vector<std::string> list(const std::string& folder) override { return files_.list(folder); }

 private:
  class DelayedFile : public File {
   public:
    DelayedFile(DelayedFiles& owner, std::unique_ptr<File> file) : owner_(owner), file_(std::move(file)) {}
    uint64_t size() const override { return file_->size(); }
    size_t read(uint64_t offset, void* to, size_t bytes) const override {
      const uint64_t bits = reference::philox64(offset, 0, owner_.reads_++);
      for (uint64_t i = bits % 4; i > 0; --i) std::this_thread::yield();
      for (std::atomic<uint64_t> spins = (bits >> 32) % 200; spins > 0; --spins) {
      }
      return file_->read(offset, to, bytes);
    }

   private:
    DelayedFiles& owner_;
    std::unique_ptr<File> file_;
  };

  FileSystem& files_;
  std::atomic<uint64_t> reads_ = 0;
};

class RandomGraphCheck {
 public:
  using Lines = std::vector<std::string>;

  explicit RandomGraphCheck(uint64_t seed)
      : graph_(seed), draws_(seed, "runs"), speed_(seed, "speed"), files_(graph_.files()) {
    run_reference();
  }

  // False, and the test has failed, when something differs.
  bool run() {
    try {
      for (Executor* executor : executors()) {
        if (!check_run(executor)) return false;
      }
      return check_restored(batches_) && check_restored(draws_.below(batches_ + 1));
    } catch (const Error& error) {
      return fail(error.what());
    }
  }

 private:
  // Graphs that never end, and few others, have more.
  static constexpr uint64_t kMostBatches = 40;

  // No executor, and those of 1, 2, 3 and 8 threads.
  static const std::vector<Executor*>& executors() {
    static Executor one(1), two(2), three(3), eight(8);
    static const std::vector<Executor*> all = {nullptr, &one, &two, &three, &eight};
    return all;
  }

  void run_reference() {
    uint64_t rows = 0, passes = 0;
    try {
      while (batches_ < kMostBatches) {
        const std::vector<reference::Row> batch = graph_.batches().next();
        if (batch.empty()) {
          expected_.emplace_back("end");
          break;
        }
        for (const reference::Row& row : batch) {
          expected_.push_back(row_line(row));
          passes = std::max(passes, row.pass + 1);
        }
        expected_.emplace_back("--");
        rows += batch.size();
        ++batches_;
      }
    } catch (const reference::Failure& failure) {
      expected_.push_back(cat("error ", failure.kind, ' ', failure.place));
      // How much of endless data without a row is read is not defined.
      exact_counts_ = !failure.place.empty();
    }
    const reference::Counts counts = graph_.batches().counts();
    exact_counts_ = exact_counts_ && counts.exact;
    summary_ = {cat("rows ", rows), cat("batches ", batches_), cat("passes ", passes)};
    counts_ = {cat("bad rows ", counts.bad_rows)};
    for (const auto& [cause, dropped] : counts.dropped) {
      if (dropped > 0) counts_.push_back(cat("dropped ", cause, ' ', dropped));
    }
  }

  bool failed() const { return expected_.back().starts_with("error"); }

  // What one run is made of.
  struct Run {
    std::unique_ptr<Pipeline> pipeline;
    RowBlock slot;
    Lines lines;
  };

  Run start(Executor* executor) {
    Run run;
    yaml_ = graph_.yaml(speed_);
    run.pipeline = std::make_unique<Pipeline>(
        InputGraph::build(parse_yaml(yaml_, "input.yaml"), builtin_ops(), {.seed = graph_.seed(), .files = &files_}),
        PipelineOptions{.executor = executor});
    run.slot = run.pipeline->make_slot();
    return run;
  }

  // Adds up to `most` batches, and how the run ends where it does.
  static void add_batches(Run& run, uint64_t most) {
    try {
      for (; most > 0; --most) {
        if (run.pipeline->next(run.slot) == 0) return run.lines.emplace_back("end"), void();
        for (int64_t row = 0; row < run.slot.size(); ++row) run.lines.push_back(row_line(run, row));
        run.lines.emplace_back("--");
      }
    } catch (const Error& error) {
      run.lines.push_back(cat("error ", to_string(error.kind()), ' ', error.place().text()));
    }
  }

  bool check_run(Executor* executor) {
    Run run = start(executor);
    add_batches(run, kMostBatches);
    const std::string what = cat("with ", executor != nullptr ? executor->threads() : 0, " threads");
    if (executor == nullptr && !failed()) bytes_ = run.pipeline->summary().bytes;
    return same(what, run.lines, expected_) && same_summary(run, what, exact_counts_);
  }

  // Saves behind batch `behind`, and goes on elsewhere.
  bool check_restored(uint64_t behind) {
    Run run = start(any_executor());
    const std::string before = run.pipeline->save().encode();
    add_batches(run, behind);
    const std::string what = cat("restored behind batch ", behind);
    const auto lines = static_cast<std::ptrdiff_t>(std::min(run.lines.size(), expected_.size()));
    if (!same(what + ", before", run.lines, {expected_.begin(), expected_.begin() + lines})) return false;
    const std::string state = run.pipeline->save().encode();
    if (state.size() > before.size() + state_bound()) {
      return fail(cat(what, ": the state has ", state.size(), " bytes, that before the first batch ", before.size()));
    }
    Run rest = start(any_executor());
    rest.pipeline->restore(State::decode(state));
    if (rest.pipeline->save().encode() != state) return fail(cat(what, ": saved at once, the state is another"));
    rest.lines = run.lines;
    add_batches(rest, kMostBatches - behind);
    return same(what, rest.lines, expected_) && same_summary(rest, what, exact_counts_);
  }

  Executor* any_executor() { return executors()[draws_.below(executors().size())]; }
  // Ids of rows, and counters and positions of ops.
  uint64_t state_bound() const { return 7 * sizeof(uint64_t) * graph_.held_rows() + 2000; }

  bool same_summary(const Run& run, const std::string& what, bool with_counts) {
    const InputSummary summary = run.pipeline->summary();
    Lines lines = {cat("rows ", summary.rows), cat("batches ", summary.batches), cat("passes ", summary.passes)};
    Lines expected = summary_;
    if (with_counts) {
      if (bytes_) lines.push_back(cat("bytes ", summary.bytes));
      lines.push_back(cat("bad rows ", summary.bad_rows));
      std::map<std::string, uint64_t> dropped;
      for (const Dropped& one : summary.dropped) dropped[one.cause] += one.rows;
      for (const auto& [cause, rows] : dropped) lines.push_back(cat("dropped ", cause, ' ', rows));
      if (bytes_) expected.push_back(cat("bytes ", *bytes_));
      expected.insert(expected.end(), counts_.begin(), counts_.end());
    }
    return same(what + ", summary", lines, expected);
  }

  bool same(const std::string& what, const Lines& lines, const Lines& expected) {
    const auto differ = std::mismatch(lines.begin(), lines.end(), expected.begin(), expected.end());
    if (differ.first == lines.end() && differ.second == expected.end()) return true;
    const auto at = static_cast<size_t>(differ.first - lines.begin());
    std::string text = cat(what, ": line ", at, " of ", expected.size(), " differs");
    for (size_t i = at - std::min<size_t>(at, 3); i < at; ++i) text += cat("\n      both  ", lines[i]);
    text += cat("\n  expected  ", at < expected.size() ? expected[at] : "nothing more");
    text += cat("\n       got  ", at < lines.size() ? lines[at] : "nothing more");
    return fail(text);
  }

  bool fail(const std::string& text) {
    ADD_FAILURE() << "MILLRACE_RANDOM_GRAPH=" << graph_.seed() << '\n' << yaml_ << text;
    return false;
  }

  // "data0/f1.csv:3 in pass 0 k=1 y=0.5", of a run and of the reference.
  static std::string row_line(const Run& run, int64_t row) {
    const RowBlock& rows = run.slot;
    return cat(run.pipeline->place(rows.id(row)).text(), " in pass ", rows.id(row).pass, ' ', row_text(rows, row));
  }
  static std::string row_line(const reference::Row& row) {
    std::string out = cat(row.place(), " in pass ", row.pass);
    for (const reference::Field& field : row.fields) {
      out += cat(' ', field.name);
      std::visit(
          [&](const auto& values) {
            for (size_t i = 0; i < values.size(); ++i) out += cat(i == 0 ? '=' : ',', values[i]);
          },
          field.values);
    }
    return out;
  }

  RandomGraph graph_;
  Draws draws_, speed_;
  DelayedFiles files_;
  std::string yaml_;  // of the newest run
  Lines expected_, summary_, counts_;
  uint64_t batches_ = 0;
  bool exact_counts_ = true;
  std::optional<uint64_t> bytes_;  // as the first run counts them; an error leaves open how many were read
};

// Checks `cases` graphs from seed `first` on, or the one that the environment variable MILLRACE_RANDOM_GRAPH names.
inline void check_random_graphs(uint64_t first, uint64_t cases) {
  const char* only = std::getenv("MILLRACE_RANDOM_GRAPH");
  if (only != nullptr) {
    RandomGraphCheck(std::strtoull(only, nullptr, 10)).run();
    return;
  }
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    if (!RandomGraphCheck(seed).run()) return;
  }
}

}  // namespace millrace::testing_support

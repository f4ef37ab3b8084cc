// The ops that decide which rows come and in what order, written down once more from docs/input_graph.md, a row at a
// time and in the plainest way. Shares no code with the pipeline, random numbers included.
//
// Data come as records whose values and faults are known already; cutting text is reference_csv.h's business.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "tests/input/graph/reference_random.h"

namespace millrace::testing_support::reference {

using Values = std::variant<std::vector<float>, std::vector<double>, std::vector<int32_t>, std::vector<int64_t>>;

struct Field {
  std::string name;
  Values values;
};

struct Row {
  std::string path;
  int64_t line = 0;
  uint64_t pass = 0;
  std::vector<Field> fields;

  Field& field(std::string_view name) {
    return *std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.name == name; });
  }
  std::string place() const { return cat(path, ':', line); }
};

// What ends a run: the error's kind and place.
struct Failure {
  std::string kind, place;
};

struct Counts {
  uint64_t bad_rows = 0;
  std::map<std::string, uint64_t> dropped;  // by cause
  bool exact = true;                        // false: the documentation leaves open how much was read
};

// Rows in their order. What draws or counts goes on from run to run.
class Rows {
 public:
  explicit Rows(std::vector<std::shared_ptr<Rows>> inputs) : inputs_(std::move(inputs)) {}
  virtual ~Rows() = default;

  // The next row, nothing at the end. Throws Failure.
  virtual std::optional<Row> pull() = 0;
  virtual void rewind(uint64_t run) {
    for (const auto& input : inputs_) input->rewind(run);
  }
  // Passes of one run.
  virtual uint64_t passes() const {
    uint64_t most = 0;
    for (const auto& input : inputs_) most = std::max(most, input->passes());
    return most;
  }
  virtual void count(Counts& counts) const {
    for (const auto& input : inputs_) input->count(counts);
  }

 protected:
  Rows& input(size_t index = 0) const { return *inputs_[index]; }
  size_t inputs() const { return inputs_.size(); }

 private:
  std::vector<std::shared_ptr<Rows>> inputs_;
};

using RowsPtr = std::shared_ptr<Rows>;

struct Record {
  enum class Kind { row, bad, fatal } kind = Kind::row;
  int64_t line = 0;
  std::vector<Field> fields;
  std::string fault;  // its place, "a.csv:3:1"
};

struct DataFile {
  std::string path;
  std::vector<Record> records;
};

// filename_queue, csv_reader and decode_csv.
struct SourceOptions {
  uint64_t seed = 0;
  std::string name;                                    // of the filename_queue
  std::vector<std::shared_ptr<const DataFile>> files;  // as matched
  bool shuffle = true;
  std::optional<uint64_t> epochs;
  uint64_t shard_index = 0, shard_count = 1;
  std::optional<uint64_t> max_bad_rows;
};

class Source final : public Rows {
 public:
  explicit Source(SourceOptions options) : Rows({}), options_(std::move(options)) { Source::rewind(0); }

  std::optional<Row> pull() override {
    for (;;) {
      if (order_.empty() && !begin_pass()) return std::nullopt;
      const DataFile& file = *order_.front();
      if (record_ == file.records.size()) {
        order_.erase(order_.begin());
        record_ = 0;
        continue;
      }
      const Record& record = file.records[record_++];
      if (record.kind == Record::Kind::fatal) throw Failure{"data", record.fault};
      if (record.kind == Record::Kind::row) {
        pass_has_rows_ = true;
        return Row{file.path, record.line, next_pass_ - 1, record.fields};
      }
      if (++bad_rows_ > options_.max_bad_rows.value_or(UINT64_MAX)) throw Failure{"data", record.fault};
    }
  }
  void rewind(uint64_t run) override {
    next_pass_ = run * passes();
    end_pass_ = options_.epochs ? next_pass_ + *options_.epochs : UINT64_MAX;
    order_.clear();
    record_ = 0;
    pass_has_rows_ = true;
  }
  uint64_t passes() const override { return options_.epochs.value_or(1); }
  void count(Counts& counts) const override { counts.bad_rows += bad_rows_; }

 private:
  bool begin_pass() {
    if (next_pass_ == end_pass_) return false;
    if (!options_.epochs && !pass_has_rows_) throw Failure{"data", ""};
    order_ = order_of(next_pass_++);
    pass_has_rows_ = false;
    return true;
  }

  std::vector<std::shared_ptr<const DataFile>> order_of(uint64_t pass) const {
    auto files = options_.files;
    for (uint64_t i = files.size() - 1; options_.shuffle && i > 0; --i) {
      const uint64_t index = pass * 0x100000000 + i;
      std::swap(files[i], files[scale_to(philox64(options_.seed, fnv1a64(options_.name), index), i + 1)]);
    }
    std::vector<std::shared_ptr<const DataFile>> out;
    for (uint64_t i = options_.shard_index; i < files.size(); i += options_.shard_count) out.push_back(files[i]);
    return out;
  }

  SourceOptions options_;
  uint64_t next_pass_ = 0, end_pass_ = 0;
  std::vector<std::shared_ptr<const DataFile>> order_;  // files of this pass that are not read yet
  size_t record_ = 0;
  bool pass_has_rows_ = true;
  uint64_t bad_rows_ = 0;
};

class Take final : public Rows {
 public:
  Take(RowsPtr from, uint64_t rows) : Rows({std::move(from)}), rows_(rows) {}
  std::optional<Row> pull() override {
    if (taken_ == rows_) return std::nullopt;
    std::optional<Row> row = input().pull();
    if (row) ++taken_;
    return row;
  }
  void rewind(uint64_t run) override {
    taken_ = 0;
    Rows::rewind(run);
  }

 private:
  uint64_t rows_, taken_ = 0;
};

class Skip final : public Rows {
 public:
  Skip(RowsPtr from, uint64_t rows) : Rows({std::move(from)}), rows_(rows) {}
  std::optional<Row> pull() override {
    for (; skipped_ < rows_; ++skipped_, ++dropped_) {
      if (!input().pull()) return std::nullopt;
    }
    return input().pull();
  }
  void rewind(uint64_t run) override {
    skipped_ = 0;
    Rows::rewind(run);
  }
  void count(Counts& counts) const override {
    counts.dropped["skip"] += dropped_;
    Rows::count(counts);
  }

 private:
  uint64_t rows_, skipped_ = 0, dropped_ = 0;
};

class Repeat final : public Rows {
 public:
  Repeat(RowsPtr from, std::optional<uint64_t> epochs) : Rows({std::move(from)}), epochs_(epochs) {}
  std::optional<Row> pull() override {
    for (;;) {
      if (std::optional<Row> row = input().pull()) {
        run_has_rows_ = true;
        return row;
      }
      if (epochs_ && run_ + 1 == first_run_ + *epochs_) return std::nullopt;
      if (!epochs_ && !run_has_rows_) throw Failure{"data", ""};
      begin(run_ + 1);
    }
  }
  void rewind(uint64_t run) override {
    first_run_ = run * epochs_.value_or(1);
    begin(first_run_);
  }
  uint64_t passes() const override { return epochs_.value_or(1) * Rows::passes(); }

 private:
  void begin(uint64_t run) {
    run_ = run;
    run_has_rows_ = false;
    Rows::rewind(run);
  }

  std::optional<uint64_t> epochs_;
  uint64_t first_run_ = 0, run_ = 0;
  bool run_has_rows_ = false;
};

// Rows that were met once are never asked for again, whatever the pipeline reads again behind the scenes.
class Cache final : public Rows {
 public:
  explicit Cache(RowsPtr from) : Rows({std::move(from)}) {}
  std::optional<Row> pull() override {
    if (given_ == kept_.size() && !whole_) {
      std::optional<Row> row = input().pull();
      whole_ = !row;
      if (row) kept_.push_back(std::move(*row));
    }
    if (given_ == kept_.size()) return std::nullopt;
    Row row = kept_[given_++];
    row.pass += run_ * passes();
    return row;
  }
  void rewind(uint64_t run) override {
    run_ = run;
    given_ = 0;
    cut_short_ = cut_short_ || !whole_;
  }
  void count(Counts& counts) const override {
    counts.exact = counts.exact && !cut_short_;
    Rows::count(counts);
  }

 private:
  std::vector<Row> kept_;
  bool whole_ = false, cut_short_ = false;
  size_t given_ = 0;
  uint64_t run_ = 0;
};

class Interleave final : public Rows {
 public:
  explicit Interleave(std::vector<RowsPtr> from) : Rows(std::move(from)) { begin(); }
  std::optional<Row> pull() override {
    while (!left_.empty()) {
      const size_t turn = left_.front();
      left_.erase(left_.begin());
      if (std::optional<Row> row = input(turn).pull()) {
        left_.push_back(turn);
        return row;
      }
    }
    return std::nullopt;
  }
  void rewind(uint64_t run) override {
    begin();
    Rows::rewind(run);
  }

 private:
  void begin() {
    left_.clear();
    for (size_t i = 0; i < inputs(); ++i) left_.push_back(i);
  }
  std::vector<size_t> left_;  // those that have not ended, in the order of their turns
};

struct MixOptions {
  uint64_t seed = 0;
  std::string name;
  std::vector<double> weights;
  bool stop_first = true;
};

class Mix final : public Rows {
 public:
  Mix(std::vector<RowsPtr> from, MixOptions options)
      : Rows(std::move(from)), options_(std::move(options)), left_(options_.weights) {}
  std::optional<Row> pull() override {
    for (;;) {
      double sum = 0;
      for (const double weight : left_) sum += weight;
      if (sum == 0) return std::nullopt;
      const size_t drawn = draw(sum);
      if (std::optional<Row> row = input(drawn).pull()) return row;
      left_[drawn] = 0;
      if (options_.stop_first) left_.assign(left_.size(), 0);
    }
  }
  void rewind(uint64_t run) override {
    left_ = options_.weights;
    Rows::rewind(run);
  }

 private:
  size_t draw(double sum) {
    const double mark = to_unit(philox64(options_.seed, fnv1a64(options_.name), draws_++)) * sum;
    double running = 0;
    for (size_t i = 0;; ++i) {
      running += left_[i];
      if (running > mark) return i;
    }
  }

  MixOptions options_;
  std::vector<double> left_;  // weights of those in the draw, else 0
  uint64_t draws_ = 0;
};

}  // namespace millrace::testing_support::reference

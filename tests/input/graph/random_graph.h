// RandomGraph: a random list of ops over random files, as YAML and as its reference. All of it from one seed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "tests/input/graph/random_csv.h"
#include "tests/input/graph/reference_graph.h"
#include "tests/input/op_testing.h"

namespace millrace::testing_support {

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : seed_(seed), draws_(seed, "graph") {
    may_fail_ = draws_.one_in(3);
    Made rows = joined(draws_.between(1, 3));
    for (uint64_t i = draws_.below(3); i > 0; --i) add_op(rows, true);
    add_batch(std::move(rows));
  }

  uint64_t seed() const { return seed_; }
  MemoryFiles& files() { return files_; }
  reference::Batches& batches() { return *batches_; }
  // Whether rows are read anew, and so counted anew, after a restore.
  // The most rows that ops hold between two batches.
  uint64_t held_rows() const { return held_rows_; }

  // The list, with options that change nothing but speed drawn by `speed`.
  std::string yaml(Draws& speed) const {
    std::string out;
    for (const OpText& op : ops_) {
      const std::string options = op.options + speed_options(op, speed);
      out += cat("- ", op.kind, options.empty() ? "" : cat(": {", options.substr(0, options.size() - 2), '}'), '\n');
    }
    return out;
  }

 private:
  // Options end with ", ".
  struct OpText {
    std::string kind, options;
    uint64_t least_capacity = 0;  // of a shuffle_batch
  };

  // Rows on their way, and the name of the op that gives them.
  struct Made {
    reference::RowsPtr rows;
    std::string name;
    uint64_t most_rows = 0;  // an upper bound
    bool endless = false;
    bool varied = false;  // other runs may have other rows
  };

  static std::string speed_options(const OpText& op, Draws& speed) {
    const std::string threads = speed.one_in(2) ? cat("threads: ", speed.between(1, 9), ", ") : "";
    const uint64_t more = speed.pick<uint64_t>({1, 2, 10, 100});
    if (op.kind == "csv_reader") {
      return cat("chunk_bytes: ", speed.pick<uint64_t>({1, 2, 3, 7, 16, 40, 100, 300, 262144}), ", ");
    }
    if (op.kind == "shuffle_batch") return cat("capacity: ", op.least_capacity + more, ", ", threads);
    if (op.kind == "batch" || op.kind == "queue") {
      return speed.one_in(2) ? cat("capacity: ", more, ", ", threads) : threads;
    }
    if (op.kind == "cache" && speed.one_in(2)) return "memory: 1MiB, ";
    return {};
  }

  // Adds an op and returns its name: sometimes its own, else that of its kind.
  std::string add(const std::string& kind, const std::string& options) {
    if (draws_.one_in(3)) {
      const std::string name = cat(draws_.pick({"some-", "my_", "Z"}), ops_.size());
      ops_.push_back({kind, cat("name: ", name, ", ", options)});
      return name;
    }
    ops_.push_back({kind, options});
    const uint64_t number = ++unnamed_[kind];
    return number == 1 ? kind : cat(kind, '_', number);
  }

  Made joined(uint64_t sources) {
    Made rows;
    if (sources == 1) {
      rows = source();
    } else {
      const uint64_t left = draws_.between(1, sources - 1);
      Made first = joined(left);
      rows = join(std::move(first), joined(sources - left));
    }
    for (uint64_t i = draws_.below(4); i > 0; --i) add_op(rows, false);
    return rows;
  }

  Made source() {
    RandomCsv csv(draws_);
    reference::SourceOptions options;
    options.seed = seed_;
    const std::string folder = cat("data", folders_++);
    std::string pattern = add_files(csv, folder, options.files);
    if (draws_.one_in(4)) {
      pattern = cat("[", folder, "/f0.csv, \"", pattern, "\"]");
      options.files.insert(options.files.begin(), options.files.front());
    } else {
      pattern = cat('"', pattern, '"');
    }
    std::string text = cat("files: ", pattern, ", ");
    options.shuffle = !draws_.one_in(3);
    if (!options.shuffle) text += "shuffle: false, ";
    if (!draws_.one_in(8)) options.epochs = draws_.between(1, 3);
    if (options.epochs) text += cat("epochs: ", *options.epochs, ", ");
    if (options.epochs && draws_.one_in(4)) {
      options.shard_count = draws_.between(1, options.files.size());
      options.shard_index = draws_.below(options.shard_count);
      text += cat("shard: {index: ", options.shard_index, ", count: ", options.shard_count, "}, ");
    }
    options.name = add("filename_queue", text);
    add("csv_reader", csv.reader_options());
    std::string decode = csv.decode_options();
    if (csv.skips_bad_rows() && may_fail_ && draws_.one_in(3)) {
      options.max_bad_rows = draws_.below(4);
      decode += cat("max_bad_rows: ", *options.max_bad_rows, ", ");
    }
    Made out;
    out.name = add("decode_csv", decode);
    for (const auto& file : options.files) out.most_rows += file->records.size() * options.epochs.value_or(1);
    out.endless = !options.epochs;
    out.varied = options.shard_count > 1;
    out.rows = std::make_shared<reference::Source>(std::move(options));
    return out;
  }

  // The pattern that matches them.
  std::string add_files(RandomCsv& csv, const std::string& folder,
                        std::vector<std::shared_ptr<const reference::DataFile>>& out) {
    const uint64_t files = draws_.between(1, 6);
    const uint64_t failing = may_fail_ && draws_.one_in(3) ? draws_.below(files) : files;
    for (uint64_t i = 0; i < files; ++i) {
      const std::string path = cat(folder, "/f", i, ".csv");
      const FatalFault fault = i == failing ? csv.any_fatal_fault(i == 0) : FatalFault::none;
      out.push_back(std::make_shared<reference::DataFile>(csv.write(path, i == 0, fault, files_.files[path])));
    }
    return cat(folder, "/f*.csv");
  }

  Made join(Made first, Made second) {
    Made out;
    const std::string from = cat("from: [", first.name, ", ", second.name, "], ");
    std::vector<reference::RowsPtr> inputs = {first.rows, second.rows};
    out.most_rows = first.most_rows + second.most_rows;
    out.endless = first.endless || second.endless;
    out.varied = true;
    if (draws_.one_in(2)) {
      out.name = add("interleave", from);
      out.rows = std::make_shared<reference::Interleave>(std::move(inputs));
      return out;
    }
    reference::MixOptions options = {seed_, {}, {1, 1}, !draws_.one_in(2)};
    std::string text = from;
    if (draws_.one_in(2)) {
      options.weights = {static_cast<double>(draws_.between(0, 3)) / 2, static_cast<double>(draws_.between(1, 5)) / 4};
      text += cat("weights: [", options.weights[0], ", ", options.weights[1], "], ");
    }
    if (!options.stop_first) text += "stop: all, ";
    out.name = options.name = add("mix", text);
    // The one that is never drawn has no say.
    if (options.weights[0] == 0) out.endless = second.endless;
    if (options.stop_first && !(first.endless && second.endless) && options.weights[0] > 0) out.endless = false;
    out.rows = std::make_shared<reference::Mix>(std::move(inputs), options);
    return out;
  }

  // An op of rows. Only behind the last join may rows get more fields.
  void add_op(Made& rows, bool more_fields) {
    switch (draws_.below(9)) {
      case 0: return add_take(rows);
      case 1: return add_skip(rows);
      case 2: return add_repeat(rows);
      case 3: return add_cache(rows);
      case 4: rows.name = add("queue", ""); return;
      case 5: rows.name = add("print", cat("every: ", draws_.between(1, 20), ", ")); return;
      default: {
        auto [name, transform] = any_transform(more_fields);
        rows.name = name;
        rows.rows = std::make_shared<reference::Transformed>(rows.rows, std::move(transform));
        held_rows_ += kMostBatch;
      }
    }
  }

  void add_take(Made& rows) {
    const uint64_t count = draws_.one_in(10) ? 0 : draws_.between(1, 60);
    rows.name = add("take", cat("rows: ", count, ", "));
    rows.rows = std::make_shared<reference::Take>(rows.rows, count);
    rows.most_rows = rows.endless ? count : std::min(count, rows.most_rows);
    rows.endless = false;
    rows.varied = true;
  }

  void add_skip(Made& rows) {
    const uint64_t count = draws_.below(12);
    rows.name = add("skip", cat("rows: ", count, ", "));
    rows.rows = std::make_shared<reference::Skip>(rows.rows, count);
    rows.varied = true;
  }

  void add_repeat(Made& rows) {
    if (rows.endless) return;
    std::optional<uint64_t> epochs = draws_.between(1, 4);
    // Of endless data each run must give a row: what is left out of one must not be in the next.
    if (!rows.varied && draws_.one_in(8)) epochs.reset();
    if (epochs.value_or(0) * rows.most_rows > kMostRows) return;
    rows.name = add("repeat", epochs ? cat("epochs: ", *epochs, ", ") : std::string());
    rows.rows = std::make_shared<reference::Repeat>(rows.rows, epochs);
    rows.most_rows *= epochs.value_or(1);
    rows.endless = !epochs;
  }

  void add_cache(Made& rows) {
    if (rows.endless) return;
    rows.name = add("cache", "");
    rows.rows = std::make_shared<reference::Cache>(rows.rows);
    if (draws_.one_in(2)) add_repeat(rows);
  }

  std::pair<std::string, reference::Transform> any_transform(bool more_fields) {
    switch (draws_.below(more_fields ? 4 : 3)) {
      case 0: return any_filter();
      case 1: return any_normalize();
      case 2: return any_map(more_fields && draws_.one_in(2));
      default: return any_one_hot();
    }
  }

  std::pair<std::string, reference::Transform> any_filter() {
    const std::string field = draws_.pick({"k", "y", "w", "n"});
    const std::string comparison = draws_.pick({"==", "!=", "!=", "<", "<=", ">", ">="});
    const double value = draws_.pick({0.0, 1.0, 2.0, 0.1, 1.5, 7.5});
    const std::string name = add("filter", cat("field: ", field, ", op: \"", comparison, "\", value: ", value, ", "));
    return {name, reference::filter_of(name, field, comparison, value)};
  }

  std::pair<std::string, reference::Transform> any_normalize() {
    const std::string field = draws_.pick({"y", "w", "x"});
    const size_t columns = field == "x" ? 2 : 1;
    std::vector<double> mean(columns, 0.1), deviation(columns, 3);
    std::string numbers = "mean: 0.1, std: 3";
    if (columns == 2 && draws_.one_in(2)) {
      mean[1] = -2.5;
      numbers = "mean: [0.1, -2.5], std: 3";
    }
    const std::string name = add("normalize", cat("fields: ", field, ", ", numbers, ", "));
    return {name, reference::normalize_of(field, mean, deviation)};
  }

  std::pair<std::string, reference::Transform> any_map(bool as_new) {
    const std::string field = draws_.pick({"k", "y", "x", "w", "n"});
    const bool whole = field == "k" || field == "n";
    double scale = whole ? 1 : draws_.pick({0.1, -3.0}), offset = whole ? 0 : draws_.pick({0.7, -1e-3});
    // What is out of range is an error: of integers only where cases may fail.
    if (field == "k") offset = draws_.pick({0.0, 100.0, -1.0});
    if (field == "n" && may_fail_) scale = draws_.pick({2.0, -1.0});
    if (field == "n" && may_fail_) offset = draws_.pick({0.0, -1.0});
    std::optional<std::string> as;
    if (as_new) as = cat("new", ops_.size());
    const std::string name = add("map", cat("field: ", field, ", scale: ", scale, ", offset: ", offset, ", ",
                                            as ? cat("as: ", *as, ", ") : std::string()));
    return {name, reference::map_of(field, scale, offset, as)};
  }

  std::pair<std::string, reference::Transform> any_one_hot() {
    // k is at most 3, but where a map has changed it.
    const size_t classes = may_fail_ ? 3 : 4;
    const std::string as = cat("hot", ops_.size());
    const std::string name = add("one_hot", cat("field: k, classes: ", classes, ", as: ", as, ", "));
    return {name, reference::one_hot_of("k", classes, as)};
  }

  void add_batch(Made rows) {
    reference::BatchOptions options;
    options.seed = seed_;
    options.batch_size = draws_.between(1, kMostBatch);
    options.allow_smaller_final_batch = draws_.one_in(2);
    std::string text = cat("batch_size: ", options.batch_size, ", ");
    if (options.allow_smaller_final_batch) text += "allow_smaller_final_batch: true, ";
    uint64_t least_capacity = 0;
    if (!draws_.one_in(3)) {
      options.min_after_dequeue = least_capacity = draws_.below(25);
      text += cat("min_after_dequeue: ", *options.min_after_dequeue, ", ");
      held_rows_ += options.batch_size + *options.min_after_dequeue;
    }
    options.name = add(options.min_after_dequeue ? "shuffle_batch" : "batch", text);
    ops_.back().least_capacity = least_capacity;
    std::vector<reference::Transform> behind;
    for (uint64_t i = draws_.below(3); i > 0; --i) {
      if (draws_.one_in(4)) {
        add("queue", "");
      } else {
        behind.push_back(any_transform(true).second);
      }
    }
    batches_ = std::make_unique<reference::Batches>(rows.rows, std::move(options), std::move(behind));
  }

  static constexpr uint64_t kMostBatch = 9;
  static constexpr uint64_t kMostRows = 600;

  const uint64_t seed_;
  Draws draws_;
  bool may_fail_ = false;
  MemoryFiles files_;
  std::vector<OpText> ops_;
  std::map<std::string, uint64_t> unnamed_;  // by kind
  uint64_t folders_ = 0;
  uint64_t held_rows_ = 0;
  std::unique_ptr<reference::Batches> batches_;
};

}  // namespace millrace::testing_support

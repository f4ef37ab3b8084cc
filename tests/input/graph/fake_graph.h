// Ops and a registry for the tests of whole graphs.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "tests/input/graph/fake_ops.h"

namespace millrace::fake {

struct GroupOptions {
  int64_t batch_size = 4;
  bool smaller = true;
  int64_t ahead = 20;
  int64_t threads = 0;
  void declare(OptionReader& o) {
    o.optional("batch_size", batch_size, {.min = 1}, "rows of a batch");
    o.optional("smaller", smaller, "whether the last batch may be smaller");
    o.optional("capacity", ahead, "rows that may wait");
    o.optional("threads", threads, "tasks at once");
    o.stands_alone("batch_size");
    o.only_speed("capacity");
    o.only_speed("threads");
  }
};

// rows -> batches, in order.
class Group : public BatchBuffer {
 public:
  using Options = GroupOptions;
  static constexpr std::string_view kDoc = "groups rows";

  explicit Group(GroupOptions options) : options_(options) {}
  Port bind(const BindArgs& args) override {
    Port port = BatchBuffer::bind(args);
    port.batch_size = options_.batch_size;
    return port;
  }
  Ahead ahead() const override { return {options_.ahead, static_cast<int>(options_.threads)}; }
  int64_t fill(RowBlock& batch) override {
    batch.clear();
    while (batch.size() < options_.batch_size) {
      const RowSpan span = input().pull(options_.batch_size - batch.size());
      if (!span) break;
      const int64_t begin = batch.size();
      batch.resize(begin + span.count);
      for (int64_t i = 0; i < span.count; ++i) batch.copy_row(*span.block, span.begin + i, begin + i);
    }
    if (batch.size() < options_.batch_size && !options_.smaller) {
      dropped_ += static_cast<uint64_t>(batch.size());
      batch.clear();
    }
    return batch.size();
  }
  void save(State& state) const override { state.set("dropped", dropped_); }
  void restore(const State& state) override { dropped_ = state.value("dropped"); }
  void add_dropped(std::vector<Dropped>& out) const override { out.push_back({"last partial batch", dropped_}); }
  std::vector<std::string> warnings() const override {
    return options_.batch_size == 13 ? std::vector<std::string>{"13 is unlucky"} : std::vector<std::string>{};
  }

 private:
  GroupOptions options_;
  uint64_t dropped_ = 0;
};

struct FirstOptions {
  int64_t rows = 0;
  void declare(OptionReader& o) { o.required("rows", rows, "rows to let pass"); }
};

// rows -> rows: the first ones.
class First : public RowBuffer {
 public:
  using Options = FirstOptions;
  static constexpr std::string_view kDoc = "lets the first rows pass";

  explicit First(FirstOptions options) : options_(options) {}
  RowSpan pull(int64_t at_most) override {
    at_most = std::min(at_most, options_.rows - passed_);
    if (at_most <= 0) return {};
    const RowSpan span = input().pull(at_most);
    passed_ += span.count;
    return span;
  }
  void rewind(uint32_t run) override {
    passed_ = 0;
    input().rewind(run);
  }
  void save(State& state) const override { state.set("passed", static_cast<uint64_t>(passed_)); }
  void restore(const State& state) override { passed_ = static_cast<int64_t>(state.value("passed")); }

 private:
  FirstOptions options_;
  int64_t passed_ = 0;
};

struct NoOptions {
  void declare(OptionReader&) {}
};

// rows -> rows: two inputs, one row of each in turn.
class Zip : public RowBuffer {
 public:
  using Options = NoOptions;
  static constexpr std::string_view kDoc = "one row of each input in turn";

  explicit Zip(NoOptions) {}
  std::vector<PortType> inputs() const override { return {PortType::rows, PortType::rows}; }
  RowSpan pull(int64_t) override {
    const RowSpan span = input(turn_).pull(1);
    turn_ = 1 - turn_;
    return span;
  }
  void save(State& state) const override { state.set("turn", turn_); }
  void restore(const State& state) override { turn_ = state.value("turn"); }

 private:
  size_t turn_ = 0;
};

// A source of names, and one of text that reads them: for ports only.
class Names : public NameSource {
 public:
  using Options = NoOptions;
  static constexpr std::string_view kDoc = "names";

  explicit Names(NoOptions) {}
  Port bind(const BindArgs&) override { return {.type = PortType::names, .format = {}, .rows = {}}; }
  bool next(Unit&) override { return false; }
  void rewind(uint32_t) override {}
  void seek(const Position&) override {}
  void save(State&) const override {}
  void check(const State&) const override {}
  Unit unit_of(const RowId&) const override { return {}; }
  Place place(const RowId&) const override { return {}; }
  std::vector<std::shared_ptr<const FileEntry>> files() const override { return {}; }
};

class Reader : public RowSource {
 public:
  using Options = NoOptions;
  static constexpr std::string_view kDoc = "reads names";

  explicit Reader(NoOptions) {}
  std::vector<PortType> inputs() const override { return {PortType::names}; }
  Port bind(const BindArgs& args) override {
    if (args.names == nullptr) throw InternalError("no names");
    return {.type = PortType::text, .format = {}, .rows = {}};
  }
  bool next(Unit&) override { return false; }
  void rewind(uint32_t) override {}
  void seek(const Position&) override {}
  void save(State&) const override {}
  void check(const State&) const override {}
  Unit unit_of(const RowId&) const override { return {}; }
  Place place(const RowId&) const override { return {}; }
  ChunkBound chunk_bound() const override { return {}; }
  const Transform& producer() const override { throw InternalError("nothing is ever read"); }
};

// A step that cannot be bound.
class Refusing : public Step {
 public:
  static constexpr std::string_view kDoc = "refuses";
  using Step::Step;
  Port bind(const BindArgs& args) override { throw ConfigError(cat("nothing to do for ", args.name)); }
  void check_files() const override {}
};

// A step whose files are wrong.
class Unchecked : public Step {
 public:
  static constexpr std::string_view kDoc = "has a file that is wrong";
  using Step::Step;
  void check_files() const override { throw DataError("the header differs", {"b.csv", 1, 0}); }
  uint64_t memory_bound() const override { return 1 << 20; }
};

inline OpRegistry registry() {
  OpRegistry ops("input op");
  ops.add<Integers>("integers");
  ops.add<Step>("step");
  ops.add<Group>("group");
  ops.add<First>("first");
  ops.add<Zip>("zip");
  ops.add<Names>("names");
  ops.add<Reader>("reader");
  ops.add<Refusing>("refusing");
  ops.add<Unchecked>("unchecked");
  return ops;
}

// {kind: {key: value, ...}}
inline Spec op(std::string kind, std::vector<std::pair<std::string, Spec>> options = {}) {
  Spec map = Spec::map();
  for (auto& [key, value] : options) map.set(key, std::move(value));
  return Spec::map().set(std::move(kind), std::move(map));
}

// The list as a configuration holds it under `input`.
inline Spec list(std::vector<Spec> ops) {
  Spec out = Spec::list();
  out.set_path("input");
  for (Spec& item : ops) out.append(std::move(item));
  return out;
}

template <std::integral T>
Spec of(T number) {
  return Spec::of(number);
}
inline Spec of(const char* text) { return Spec::of(text); }

// The fake kinds, and the built-in ones, which hints name.
inline OpRegistry all_kinds() {
  OpRegistry ops = registry();
  const OpRegistry builtin = builtin_ops();
  for (const auto& [kind, entry] : builtin.entries()) ops.add(kind, entry);
  return ops;
}

inline InputGraph build(const Spec& list) {
  return InputGraph::build(list, all_kinds(), {.seed = 1, .files = nullptr});
}

// The message and the hint of the error that the list has, or "built".
inline std::string error_of(const Spec& list) {
  try {
    build(list);
  } catch (const Error& error) {
    return cat(error.message(), error.hint().empty() ? "" : "; ", error.hint());
  }
  return "built";
}

}  // namespace millrace::fake

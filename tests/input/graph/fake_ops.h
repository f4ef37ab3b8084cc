// Ops for the tests of the graph: integers as rows, lines as text, transforms that wait, fail and drop.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/executor.h"
#include "millrace/input/source.h"
#include "millrace/input/transform.h"

namespace millrace::fake {

// Keeps the processor busy for up to `most` steps that depend on `key`.
inline void spin(uint64_t key, int64_t most) {
  if (most <= 0) return;
  volatile uint64_t sink = 0;
  const uint64_t steps = scale_to(philox64(1, 2, key), static_cast<uint64_t>(most));
  for (uint64_t i = 0; i < steps; ++i) sink = sink + i;
}

inline RowSpec integer_rows() { return {{{.name = "x", .dtype = DType::i64, .shape = Shape({1})}}}; }
inline int64_t& value(RowBlock& block, int64_t row) { return *block.row<int64_t>(0, row); }
inline int64_t value(const RowBlock& block, int64_t row) { return *block.row<int64_t>(0, row); }

// Rows 0, 1, 2, ... of each pass.
struct IntegerOptions {
  int64_t rows = 100;
  int64_t unit_rows = 7;  // at most; each unit has its own size
  int64_t passes = 1;     // 0: endless
  int64_t spin = 0;
  int64_t fail_next_at = -1;  // next() throws at the unit that holds this row
  void declare(OptionReader& o) {
    o.optional("rows", rows, "rows of a pass");
    o.optional("unit_rows", unit_rows, "most rows of a unit");
    o.optional("passes", passes, "passes, 0 for no end");
    o.optional("spin", spin, "busy steps of a task");
    o.optional("fail_next_at", fail_next_at, "row at which next() throws");
  }
};

class Integers : public RowSource {
 public:
  using Options = IntegerOptions;
  static constexpr std::string_view kDoc = "integers in order";

  explicit Integers(IntegerOptions options) : options_(options), producer_(options) {}

  std::vector<PortType> inputs() const override { return {}; }
  Port bind(const BindArgs& args) override {
    source_ = args.source_index;
    return {.type = PortType::rows, .format = {}, .rows = integer_rows()};
  }
  bool next(Unit& unit) override {
    const auto rows = static_cast<uint64_t>(options_.rows);
    if (pass_begun_ && offset_ >= rows) {
      offset_ = 0;
      ++pass_;
      pass_begun_ = false;
    }
    if (options_.passes > 0 && pass_ >= options_.passes) return false;
    pass_begun_ = true;
    unit = {};
    unit.begin = offset_;
    unit.end = std::min(rows, offset_ + 1 + philox64(3, pass_, offset_) % static_cast<uint64_t>(options_.unit_rows));
    unit.source = source_;
    unit.pass = run_ * static_cast<uint32_t>(options_.passes) + pass_;
    unit.exact = true;
    offset_ = unit.end;
    const auto bad = static_cast<uint64_t>(options_.fail_next_at);
    if (unit.begin <= bad && bad < unit.end) throw std::runtime_error("no more units");
    return true;
  }
  bool endless() const override { return options_.passes == 0; }
  ChunkBound chunk_bound() const override {
    return {.text_bytes = 0, .rows = static_cast<uint64_t>(options_.unit_rows)};
  }
  void rewind(uint32_t run) override {
    run_ = run;
    pass_ = 0;
    offset_ = 0;
    pass_begun_ = false;
  }
  void seek(const Position& position) override {
    pass_ = position.pass - run_ * static_cast<uint32_t>(options_.passes);
    offset_ = position.offset;
    pass_begun_ = true;
  }
  void save(State& state) const override { state.set("rows", static_cast<uint64_t>(options_.rows)); }
  void check(const State& state) const override {
    if (state.value("rows") != static_cast<uint64_t>(options_.rows)) throw DataError("another number of rows");
  }
  Unit unit_of(const RowId& id) const override {
    Unit unit;
    unit.begin = id.offset;
    unit.end = id.offset + 1;
    unit.source = source_;
    unit.pass = id.pass;
    unit.exact = true;
    return unit;
  }
  Place place(const RowId& id) const override { return {"integers", static_cast<int64_t>(id.line), 0}; }
  const Transform& producer() const override { return producer_; }

  // Called in every task, with the thread that runs it.
  void on_task(std::function<void(const Unit&)> call) { producer_.call = std::move(call); }

 private:
  struct Producer : Transform {
    explicit Producer(IntegerOptions given) : options(given) {}
    std::vector<PortType> inputs() const override { return {}; }
    Port bind(const BindArgs&) override { return {}; }
    void apply(Chunk& chunk) const override {
      if (call) call(chunk.unit);
      spin(chunk.unit.begin * 31 + chunk.unit.pass, options.spin);
      const auto count = static_cast<int64_t>(chunk.unit.end - chunk.unit.begin);
      chunk.rows.configure(integer_rows(), count);
      chunk.rows.resize(count);
      for (int64_t row = 0; row < count; ++row) {
        const uint64_t number = chunk.unit.begin + static_cast<uint64_t>(row);
        value(chunk.rows, row) = static_cast<int64_t>(number);
        chunk.rows.id(row) = {.source = chunk.unit.source,
                              .pass = chunk.unit.pass,
                              .offset = number,
                              .line = number + 1,
                              .next_line = number + 2};
      }
    }
    IntegerOptions options;
    std::function<void(const Unit&)> call;
  };

  IntegerOptions options_;
  Producer producer_;
  uint32_t source_ = 0, run_ = 0, pass_ = 0;
  uint64_t offset_ = 0;
  bool pass_begun_ = false;
};

// rows -> rows, one behaviour each.
struct StepOptions {
  int64_t spin = 0;
  int64_t drop_every = 0;  // leaves out the multiples of this
  int64_t bad_every = 0;   // notes the multiples of this as bad rows and leaves them out
  int64_t max_bad = -1;
  int64_t fail_at = -1;       // gives this value to fail()
  int64_t throw_at = -1;      // throws a runtime_error
  int64_t io_error_at = -1;   // throws an IoError
  int64_t no_memory_at = -1;  // throws bad_alloc
  int64_t add = 0;
  int64_t print_every = 0;
  bool as_float = false;  // changes the field to float32 "y"
  void declare(OptionReader& o) {
    o.optional("spin", spin, "busy steps of a task");
    o.optional("drop_every", drop_every, "multiples to leave out");
    o.optional("bad_every", bad_every, "multiples that are bad rows");
    o.optional("max_bad", max_bad, "limit of bad rows");
    o.optional("fail_at", fail_at, "value that is an error of the data");
    o.optional("throw_at", throw_at, "value that throws");
    o.optional("io_error_at", io_error_at, "value that throws an IoError");
    o.optional("no_memory_at", no_memory_at, "value that throws bad_alloc");
    o.optional("add", add, "added to every value");
    o.optional("print_every", print_every, "multiples that print a line");
    o.optional("as_float", as_float, "rows of another kind");
  }
};

class Step : public Transform {
 public:
  using Options = StepOptions;
  static constexpr std::string_view kDoc = "does something to integers";

  explicit Step(StepOptions options) : options_(options) {}

  Port bind(const BindArgs& args) override {
    Port port = args.inputs[0];
    if (options_.as_float) port.rows = float_rows();
    return port;
  }
  static RowSpec float_rows() { return {{{.name = "y", .dtype = DType::f32, .shape = Shape({1})}}}; }

  void apply(Chunk& chunk) const override {
    spin(chunk.unit.begin * 17 + 5, options_.spin);
    for (int64_t row = 0; row < chunk.rows.size(); ++row) throw_at(value(chunk.rows, row));
    if (options_.bad_every > 0) leave_out_bad(chunk);
    if (options_.drop_every > 0) drop(chunk);
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      const int64_t x = value(chunk.rows, row);
      if (x == options_.fail_at) {
        chunk.fail(row, std::make_exception_ptr(DataError(cat("the value ", x, " is bad"))));
        break;
      }
      if (is_multiple(x, options_.print_every)) {
        chunk.add({.kind = Note::Kind::print, .row = row, .text = cat("seen ", x)});
      }
    }
    for (int64_t row = 0; row < chunk.rows.size(); ++row) value(chunk.rows, row) += options_.add;
    if (options_.as_float) change_field(chunk);
  }
  void report(const BadRow& bad) override { reported.push_back(bad.text); }
  void resume_reports(uint64_t reports) override { resumed = reports; }

  std::vector<std::string> reported;
  uint64_t resumed = 0;

 private:
  static bool is_multiple(int64_t x, int64_t of) { return of > 0 && x % of == 0; }
  void throw_at(int64_t x) const {
    if (x == options_.throw_at) throw std::runtime_error(cat("cannot bear ", x));
    if (x == options_.io_error_at) throw IoError("the disk is broken");
    if (x == options_.no_memory_at) throw std::bad_alloc();
  }
  void leave_out_bad(Chunk& chunk) const {
    RowBlock& rows = chunk.rows;
    int64_t kept = 0;
    for (int64_t row = 0; row < rows.size(); ++row) {
      const int64_t x = value(rows, row);
      if (!is_multiple(x, options_.bad_every)) {
        if (kept != row) rows.copy_row(rows, row, kept);
        ++kept;
        continue;
      }
      Note note = {.kind = Note::Kind::bad_row, .row = kept, .text = "a bad multiple"};
      note.id = rows.id(row);
      note.limit = options_.max_bad < 0 ? UINT64_MAX : static_cast<uint64_t>(options_.max_bad);
      note.value = cat(x);
      chunk.add(std::move(note));
    }
    rows.resize(kept);
  }
  void drop(Chunk& chunk) const {
    auto& keep = chunk.work().get<std::vector<uint8_t>>(this);
    keep.assign(static_cast<size_t>(chunk.rows.size()), 1);
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      if (is_multiple(value(chunk.rows, row), options_.drop_every)) keep[static_cast<size_t>(row)] = 0;
    }
    chunk.keep_rows(keep, "filter");
  }
  static void change_field(Chunk& chunk) {
    chunk.spare.configure(float_rows(), chunk.rows.size());
    chunk.spare.resize(chunk.rows.size());
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      *chunk.spare.row<float>(0, row) = static_cast<float>(value(chunk.rows, row));
      chunk.spare.id(row) = chunk.rows.id(row);
    }
    chunk.swap_rows();
  }

  StepOptions options_;
};

}  // namespace millrace::fake

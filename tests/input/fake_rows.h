// FakeRows: a RowStream of numbered rows, handed out in spans of uneven length; one of them may be an error.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/input/op_testing.h"

namespace millrace::testing_support {

class FakeRows : public RowStream {
 public:
  // `rows` in all. With `bad`, row `bad` cannot be had.
  explicit FakeRows(int64_t rows, std::optional<int64_t> bad = std::nullopt) : rows_(rows), bad_(bad) {
    block_.configure(spec(), kSpan);
  }

  static RowSpec spec() { return {{{"x", DType::i64, Shape{2}}, {"y", DType::f32, Shape{1}}}}; }

  RowSpan pull(int64_t at_most) override {
    ++pulls;
    if (at_ == bad_) throw DataError(cat("row ", at_, " is bad"));
    pauses.erase(at_);
    int64_t end = std::min(bad_.value_or(rows_), rows_);
    if (!pauses.empty()) end = std::min(end, *pauses.begin());
    // Never the same number twice in turn, so that callers cannot rely on one.
    const int64_t count = std::min({at_most, end - at_, 1 + (pulls * 7) % kSpan});
    block_.resize(kSpan);
    for (int64_t i = 0; i < count; ++i) make(at_ + i, block_, i);
    at_ += count;
    return {&block_, 0, count};
  }
  bool ready() override { return !pauses.contains(at_); }
  void rewind(uint32_t) override { at_ = 0; }
  bool has_source(uint32_t source) const override { return source == 1; }
  void fetch(const RowId& id, RowBlock& block, int64_t row) override {
    ++fetches;
    fetched.push_back(id);
    make(static_cast<int64_t>(id.offset), block, row);
  }
  void set_ahead(int64_t, int) override {}
  void set_silent(bool) override {}
  uint32_t passes() const override { return 3; }
  void save(State& state) const override { state.set("at", static_cast<uint64_t>(at_)); }
  void restore(const State& state) override { at_ = static_cast<int64_t>(state.value("at")); }

  int64_t at() const { return at_; }
  int64_t pulls = 0, fetches = 0;
  std::vector<RowId> fetched;
  // Rows that are not there yet, until somebody waits for them. Rows come up to the next of these.
  std::set<int64_t> pauses;

 private:
  static constexpr int64_t kSpan = 5;

  static void make(int64_t number, RowBlock& block, int64_t row) {
    block.row<int64_t>(0, row)[0] = number;
    block.row<int64_t>(0, row)[1] = -number;
    *block.row<float>(1, row) = static_cast<float>(number) / 2;
    const auto at = static_cast<uint64_t>(number);
    block.id(row) = {1, static_cast<uint32_t>(at % 3), static_cast<uint32_t>(at % 5), 7, at, at + 1, at + 2};
  }

  int64_t rows_;
  std::optional<int64_t> bad_;
  int64_t at_ = 0;
  RowBlock block_;
};

// Gives the op rows of FakeRows::spec() from these streams.
inline Port bind_to(Op& op, const std::vector<RowStream*>& streams, uint64_t seed = 0, std::string_view name = "op") {
  const std::vector<Port> inputs(streams.size(), Port{.type = PortType::rows, .rows = FakeRows::spec()});
  op.set_origin({std::string(name)});
  return op.bind({.inputs = inputs, .name = name, .seed = seed, .streams = streams});
}

// A batch buffer over FakeRows.
class BatchRun {
 public:
  BatchRun(const std::string& kind, const Spec& options, FakeRows& rows, uint64_t seed = 23, std::string_view name = {})
      : rows_(rows), op_(make_op<BatchBuffer>(kind, options)) {
    port_ = bind_to(*op_, {&rows}, seed, name.empty() ? std::string_view(kind) : name);
    batch_.configure(port_.rows, port_.batch_size);
  }

  BatchBuffer& op() { return *op_; }
  const Port& port() const { return port_; }

  // The numbers of the rows of the next batch; empty at the end of the data. Every row is checked to be whole.
  std::vector<int64_t> next() {
    std::vector<int64_t> out(static_cast<size_t>(op_->fill(batch_)));
    if (batch_.size() != static_cast<int64_t>(out.size())) throw InternalError("the batch has another size");
    for (size_t i = 0; i < out.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      out[i] = batch_.row<int64_t>(0, row)[0];
      const bool whole = batch_.row<int64_t>(0, row)[1] == -out[i] &&
                         *batch_.row<float>(1, row) == static_cast<float>(out[i]) / 2 &&
                         batch_.id(row).offset == static_cast<uint64_t>(out[i]) &&
                         batch_.id(row).line == static_cast<uint64_t>(out[i]) + 1;
      if (!whole) throw InternalError(cat("row ", out[i], " is torn"));
    }
    return out;
  }
  // All batches that are left.
  std::vector<std::vector<int64_t>> all() {
    std::vector<std::vector<int64_t>> out;
    for (auto batch = next(); !batch.empty(); batch = next()) out.push_back(batch);
    return out;
  }
  uint64_t dropped() const {
    std::vector<Dropped> out;
    op_->add_dropped(out);
    uint64_t rows = 0;
    for (const Dropped& one : out) rows += one.cause == "last partial batch" ? one.rows : 1000000;
    return rows;
  }
  // As a pipeline does: the state of the rows, then that of the op.
  State save() const {
    State state;
    rows_.save(state.scope("rows"));
    op_->save(state.scope("op"));
    return State::decode(state.encode());
  }
  void restore(const State& state) {
    rows_.restore(state.scope("rows"));
    op_->restore(state.scope("op"));
  }

 private:
  FakeRows& rows_;
  std::unique_ptr<BatchBuffer> op_;
  Port port_;
  RowBlock batch_;
};

}  // namespace millrace::testing_support

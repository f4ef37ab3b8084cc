// batch: groups rows into batches, in the order in which they come.
#include <optional>
#include <vector>

#include "millrace/input/catalog.h"
#include "millrace/input/rows/copy_rows.h"

namespace millrace {

namespace {

struct BatchOptions {
  int64_t batch_size = 0;
  std::optional<int64_t> capacity;
  int64_t threads = 1;
  bool allow_smaller_final_batch = false;

  void declare(OptionReader& o) {
    o.required("batch_size", batch_size, {.min = 1, .max = kMaxRows}, "rows of a batch");
    o.used_as("batch_size", OptionUse::batch_rows);
    o.optional("capacity", capacity, {.min = 1, .max = kMaxRows},
               "decoded rows that may wait; absent: (threads + 1) * batch_size");
    o.optional("threads", threads, {.min = 1, .max = 1024}, "how many tasks may decode at once");
    o.only_speed("capacity");
    o.used_as("capacity", OptionUse::waiting);
    o.not_in_pass("capacity");
    o.only_speed("threads");
    o.used_as("threads", OptionUse::tasks);
    o.not_in_pass("threads");
    o.optional("allow_smaller_final_batch", allow_smaller_final_batch,
               "give the rows that are left at the end as a smaller batch");
    o.in_pass("allow_smaller_final_batch", true);
  }

  static constexpr double kMaxRows = 1e12;
};

class Batch final : public BatchBuffer {
 public:
  using Options = BatchOptions;
  static constexpr std::string_view kLeads = "rows to batches";
  static constexpr std::string_view kDoc = "groups rows into batches in the order in which they come";
  static constexpr std::string_view kExample = "batch_size: 64";

  explicit Batch(const Options& options) : options_(options) {}

  Port bind(const BindArgs& args) override {
    Port out = BatchBuffer::bind(args);
    out.batch_size = options_.batch_size;
    return out;
  }

  Ahead ahead() const override {
    return {options_.capacity.value_or((options_.threads + 1) * options_.batch_size),
            static_cast<int>(options_.threads)};
  }

  int64_t fill(RowBlock& batch) override {
    batch.resize(0);
    begins_ = begun_ == 0;
    const int64_t most = options_.batch_size - begun_;
    while (!ended_ && batch.size() < most && add_rows(batch, most)) {
    }
    if (gives_pieces()) {
      begun_ = (begun_ + batch.size()) % options_.batch_size;
      return batch.size();
    }
    if (batch.size() == options_.batch_size || options_.allow_smaller_final_batch) return batch.size();
    dropped_ += static_cast<uint64_t>(batch.size());
    batch.resize(0);
    return 0;
  }

  bool begins() const override { return begins_; }

  // Whether the rows have ended is not saved: in a restored graph they may go on.
  void save(State& state) const override { state.set("dropped", dropped_); }
  void restore(const State& state) override { dropped_ = state.count("dropped"); }

  void add_dropped(std::vector<Dropped>& out) const override {
    if (dropped_ > 0) out.push_back({"last partial batch", dropped_});
  }

 private:
  // False if a piece ends here. The next call then meets the wait or the error that ended it.
  bool add_rows(RowBlock& batch, int64_t most) {
    const int64_t first = batch.size();
    const bool may_end = gives_pieces() && first > 0;
    RowSpan span;
    try {
      if (may_end && !input().ready()) return false;
      span = input().pull(most - first);
    } catch (...) {
      if (!may_end) throw;
      return false;
    }
    ended_ = !span;
    batch.resize(first + span.count);
    if (span) copy_rows(*span.block, span.begin, span.count, batch, first);
    return true;
  }

  const Options options_;
  int64_t begun_ = 0;  // rows of this batch that earlier pieces gave
  bool begins_ = true, ended_ = false;
  uint64_t dropped_ = 0;
};

}  // namespace

}  // namespace millrace

MILLRACE_REGISTER_OP(batch, Batch);

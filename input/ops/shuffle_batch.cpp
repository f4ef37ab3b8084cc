// shuffle_batch: draws rows at random from a window, and groups them into batches.
//
// The window has W = min_after_dequeue + batch_size places. Draw j, counted from 0 over the whole run, takes the row at
// scale_to(philox64(seed, fnv1a64(name), j), n), where n = min(W, rows left) rows are present. Before draw j + 1 the
// next row of the input takes the place of the drawn row; at the end of the data the row in the last place takes it.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/run/row_ids.h"

namespace millrace {

namespace {

struct ShuffleBatchOptions {
  int64_t batch_size = 0;
  std::optional<int64_t> capacity;
  int64_t min_after_dequeue = 0;
  int64_t threads = 1;
  bool allow_smaller_final_batch = false;

  void declare(OptionReader& o) {
    o.required("batch_size", batch_size, {.min = 1, .max = kMaxRows}, "rows of a batch");
    o.used_as("batch_size", OptionUse::batch_rows);
    o.optional("capacity", capacity, {.min = 1, .max = kMaxRows},
               "decoded rows that may wait, with the rows of the window; absent: min_after_dequeue + (threads + 1) * "
               "batch_size");
    o.required("min_after_dequeue", min_after_dequeue, {.min = 0, .max = kMaxRows},
               "rows that stay in the window after a batch, to draw the next one from: more rows mix better");
    o.optional("threads", threads, {.min = 1, .max = 1024}, "how many tasks may decode at once");
    o.only_speed("capacity");
    o.used_as("capacity", OptionUse::waiting);
    o.used_as("min_after_dequeue", OptionUse::always_waiting);
    o.only_speed("threads");
    o.used_as("threads", OptionUse::tasks);
    o.optional("allow_smaller_final_batch", allow_smaller_final_batch,
               "give the rows that are left at the end as a smaller batch");
    if (o.reading() && capacity && *capacity <= min_after_dequeue) {
      throw o.node("capacity")
          .error(cat("expected more than min_after_dequeue = ", min_after_dequeue, ", got ", *capacity),
                 rule_of_thumb());
    }
  }

  int64_t window() const { return min_after_dequeue + batch_size; }
  // The window, and a batch for each task that decodes.
  int64_t usual_capacity() const { return min_after_dequeue + (threads + 1) * batch_size; }
  int64_t rows_that_may_wait() const { return capacity.value_or(usual_capacity()); }
  std::string rule_of_thumb() const {
    return cat("a rule of thumb is min_after_dequeue + (threads + 1) * batch_size = ", usual_capacity());
  }

  static constexpr double kMaxRows = 1e12;
};

class ShuffleBatch final : public BatchBuffer {
 public:
  using Options = ShuffleBatchOptions;
  static constexpr std::string_view kDoc = "draws rows at random from a window and groups them into batches";
  static constexpr std::string_view kExample = "batch_size: 64, min_after_dequeue: 1000, threads: 2";

  explicit ShuffleBatch(const Options& options) : options_(options) {}

  Port bind(const BindArgs& args) override {
    seed_ = args.seed;
    stream_ = fnv1a64(args.name);
    spec_ = args.inputs.front().rows;
    Port out = BatchBuffer::bind(args);
    out.batch_size = options_.batch_size;
    return out;
  }

  std::vector<std::string> warnings() const override {
    if (options_.rows_that_may_wait() >= options_.window()) return {};
    return {cat("capacity ", options_.rows_that_may_wait(), " raised to ", options_.window(),
                ": it must hold min_after_dequeue + batch_size rows; ", options_.rule_of_thumb())};
  }

  Ahead ahead() const override {
    return {std::max<int64_t>(options_.rows_that_may_wait() - options_.window(), 0),
            static_cast<int>(options_.threads)};
  }

  int64_t window() const override { return options_.window(); }
  int64_t held() const override { return present_ - (hole_ == kNoHole ? 0 : 1) + span_.count - taken_; }

  uint64_t memory_bound() const override {
    return static_cast<uint64_t>(options_.window()) * (spec_.row_bytes() + sizeof(RowId));
  }

  int64_t fill(RowBlock& batch) override {
    take_memory();
    batch.resize(0);
    while (batch.size() < options_.batch_size && make_ready(options_.batch_size - batch.size())) draw(batch);
    if (batch.size() == options_.batch_size || options_.allow_smaller_final_batch) return batch.size();
    dropped_ += static_cast<uint64_t>(batch.size());
    batch.resize(0);
    return 0;
  }

  // Whether the rows have ended is not saved: in a restored graph they may go on.
  void save(State& state) const override {
    save_ids(state, kHeldRows, pool_.ids().first(static_cast<size_t>(present_)));
    state.set("hole", static_cast<uint64_t>(hole_));
    state.set("draws", draws_);
    state.set("dropped", dropped_);
  }

  void restore(const State& state) override {
    const std::vector<RowId> ids = load_ids(state, kHeldRows);
    const int64_t rows = std::ssize(ids);
    const bool has_hole = state.value("hole") != static_cast<uint64_t>(kNoHole);
    hole_ = has_hole ? state.count("hole", options_.window()) : kNoHole;
    if (rows > options_.window() || hole_ >= rows) {
      throw DataError(cat("the saved state has ", count_of(rows, "row"), " in a window of ", options_.window()));
    }
    draws_ = state.count("draws");
    dropped_ = state.count("dropped");
    take_memory();
    for (int64_t place = 0; place < rows; ++place) pool_.id(place) = ids[static_cast<size_t>(place)];
    fetch_rows(rows);
    present_ = rows;
  }

  void add_dropped(std::vector<Dropped>& out) const override {
    if (dropped_ > 0) out.push_back({"last partial batch", dropped_});
  }

 private:
  static constexpr int64_t kNoHole = -1;

  // Reads the first `rows` rows again, in the order in which they lie in their files: a compressed file has to be read
  // from its start, or from some place before a row.
  void fetch_rows(int64_t rows) {
    std::vector<int64_t> places(static_cast<size_t>(rows));
    std::iota(places.begin(), places.end(), int64_t{0});
    std::ranges::sort(places, {}, [this](int64_t place) {
      const RowId& id = pool_.id(place);
      return std::tuple(id.source, id.file, id.offset);
    });
    for (const int64_t place : places) {
      const RowId id = pool_.id(place);
      if (place != hole_) input().fetch(id, pool_, place);
      pool_.id(place) = id;
    }
  }

  void take_memory() {
    try {
      if (pool_.capacity() < options_.window()) pool_.configure(spec_, options_.window());
    } catch (const InternalError& error) {
      throw InternalError(cat(origin().who, ": a window of ", options_.window(), " rows: ", error.message()), {},
                          "lower min_after_dequeue");
    }
    pool_.resize(options_.window());
  }

  // Fills the window for the next draw; `draws` more draws come in this batch, and each needs at most one row. False if
  // no row is left. Rows after the last draw of a batch are not asked for: if they fail, the batch still comes.
  bool make_ready(int64_t draws) {
    if (hole_ != kNoHole) {
      if (!take_next(draws, hole_) && --present_ != hole_) pool_.copy_row(pool_, present_, hole_);
      hole_ = kNoHole;
    }
    while (present_ < options_.window() && take_next(options_.window() - present_, present_)) ++present_;
    return present_ > 0;
  }

  // Puts the input's next row into `place`. If none is held, asks the input for up to `at_most` rows. False at the end
  // of the data.
  bool take_next(int64_t at_most, int64_t place) {
    if (ended_) return false;
    if (taken_ == span_.count) {
      taken_ = 0;
      span_.count = 0;
      span_ = input().pull(at_most);
      ended_ = !span_;
      if (ended_) return false;
    }
    pool_.copy_row(*span_.block, span_.begin + taken_++, place);
    return true;
  }

  void draw(RowBlock& batch) {
    const uint64_t bits = philox64(seed_, stream_, draws_++);
    hole_ = static_cast<int64_t>(scale_to(bits, static_cast<uint64_t>(present_)));
    const int64_t row = batch.size();
    batch.resize(row + 1);
    batch.copy_row(pool_, hole_, row);
  }

  const Options options_;
  RowSpec spec_;
  uint64_t seed_ = 0, stream_ = 0;

  RowBlock pool_;           // the window
  int64_t present_ = 0;     // places in use, including the hole
  int64_t hole_ = kNoHole;  // the place that was drawn last, until it is filled
  uint64_t draws_ = 0;
  bool ended_ = false;
  uint64_t dropped_ = 0;
  RowSpan span_;  // rows of the input; all are taken when a batch is full
  int64_t taken_ = 0;
};

}  // namespace

}  // namespace millrace

MILLRACE_REGISTER_OP(shuffle_batch, ShuffleBatch);

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/source.h"

namespace millrace {

namespace {

struct CallbackOptions {
  int64_t epochs = 1;

  void declare(OptionReader& o) {
    o.optional("epochs", epochs, {.min = 1, .max = UINT32_MAX}, "how many passes the program is asked for");
    o.in_pass("epochs", int64_t{1});
  }
};

// Turns a unit into the rows that were filled for it. Holds these rows until a task makes a chunk from them.
class FilledRows final : public Transform {
 public:
  FilledRows(SharedRowSpec spec, int64_t rows_at_once)
      : spec_(std::move(spec)), rows_at_once_(static_cast<uint64_t>(rows_at_once)) {}

  Port bind(const BindArgs&) override { return {.type = PortType::rows, .rows = *spec_}; }

  // Besides its own block, a chunk needs the block that was filled for it.
  uint64_t work_bound() const override { return rows_at_once_ * (spec_->row_bytes() + sizeof(RowId)); }

  RowBlock take_empty() {
    const MutexLock lock(mutex_);
    if (empty_.empty()) return {};
    RowBlock block = std::move(empty_.back());
    empty_.pop_back();
    return block;
  }
  void put(const Unit& unit, RowBlock block) {
    const MutexLock lock(mutex_);
    filled_.emplace(std::pair(unit.pass, unit.begin), std::move(block));
  }
  void forget() {
    const MutexLock lock(mutex_);
    filled_.clear();
  }

  void apply(Chunk& chunk) const override {
    if (chunk.unit.begin == chunk.unit.end) return chunk.rows.configure(spec_, 1);
    swap_out(chunk.unit, chunk.rows);
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      chunk.rows.id(row) = IndexSource::id_of(chunk.unit, chunk.unit.begin + static_cast<uint64_t>(row));
    }
  }

 private:
  // Exchanges the rows of the unit with those in `rows`.
  void swap_out(const Unit& unit, RowBlock& rows) const {
    const MutexLock lock(mutex_);
    const auto found = filled_.find({unit.pass, unit.begin});
    if (found == filled_.end()) throw InternalError(cat("the rows from ", unit.begin, " on were taken twice"));
    rows.swap(found->second);
    empty_.push_back(std::move(found->second));
    filled_.erase(found);
  }

  const SharedRowSpec spec_;
  const uint64_t rows_at_once_;
  mutable Mutex mutex_;
  // The key is the pass and the first row.
  mutable std::map<std::pair<uint32_t, uint64_t>, RowBlock> filled_ MILLRACE_GUARDED_BY(mutex_);
  mutable std::vector<RowBlock> empty_ MILLRACE_GUARDED_BY(mutex_);
};

// Shared by all sources of one entry of a catalog, which take turns to call the program's function. A turn is not a
// lock, because a source that waits for its turn can be interrupted.
class SharedCallback {
 public:
  explicit SharedCallback(CallbackRows callback) : rows(std::move(callback)) {}

  // Calls the function when it is this source's turn; false if the source was interrupted before.
  bool fill(RowBlock& block, uint32_t pass, const std::atomic<bool>& interrupted) const {
    {
      const MutexLock lock(mutex_);
      while (taken_ && !interrupted.load()) mutex_.wait(changed_);
      if (interrupted.load()) return false;
      taken_ = true;
    }
    struct Turn {
      ~Turn() { of.give_back(); }
      const SharedCallback& of;
    } const turn{*this};
    rows.fill(block, pass);
    return true;
  }
  // Makes the sources that wait look whether they were interrupted.
  void wake() const {
    const MutexLock lock(mutex_);
    changed_.notify_all();
  }

  const CallbackRows rows;

 private:
  void give_back() const {
    const MutexLock lock(mutex_);
    taken_ = false;
    changed_.notify_all();
  }

  mutable Mutex mutex_;
  mutable std::condition_variable changed_;
  mutable bool taken_ MILLRACE_GUARDED_BY(mutex_) = false;
};

class CallbackSource final : public RowSource {
 public:
  CallbackSource(std::shared_ptr<const SharedCallback> callback, const CallbackOptions& options)
      : callback_(std::move(callback)),
        epochs_(static_cast<uint32_t>(options.epochs)),
        spec_(std::make_shared<const RowSpec>(callback_->rows.rows)),
        blocks_(spec_, callback_->rows.rows_at_once) {
    CallbackSource::rewind(0);
  }

  Port bind(const BindArgs& args) override {
    name_ = args.name;
    for (const RowSource* const source : args.sources) {
      const auto* const other = dynamic_cast<const CallbackSource*>(source);
      if (other == nullptr || other->callback_ != callback_) continue;
      throw ConfigError(
          cat(other->name_, " and ", name_, " are the same callback, so each would get a part of its rows"), {},
          "add the callback once for each of them, under names of their own");
    }
    source_ = args.source_index;
    return blocks_.bind(args);
  }

  bool next(Unit& unit) override {
    if (ended_) return false;
    RowBlock block = blocks_.take_empty();
    block.configure(spec_, callback_->rows.rows_at_once);
    block.resize(block.capacity());
    block.clear_varying();
    block.resize(0);
    if (!callback_->fill(block, pass_, interrupted_)) return false;
    check(block);
    block.complete_texts();
    const uint64_t begin = std::exchange(at_, at_ + static_cast<uint64_t>(block.size()));
    unit = {.begin = begin, .end = at_, .source = source_, .pass = pass_, .exact = true, .line = begin + 1};
    if (block.size() > 0) {
      blocks_.put(unit, std::move(block));
      return true;
    }
    // The pass is over. Even an empty pass has a unit, which tells the graph of the pass.
    ++pass_;
    at_ = 0;
    ended_ = pass_ == end_pass_;
    return true;
  }

  void interrupt() noexcept override {
    interrupted_.store(true);
    callback_->wake();
  }

  // `repeat` asks for another run: the program is asked for further passes.
  void rewind(uint32_t run) override {
    pass_ = run * epochs_;
    end_pass_ = pass_ + epochs_;
    at_ = 0;
    ended_ = false;
    blocks_.forget();
  }
  void seek(const Position&) override { throw not_again(); }
  void save(State&) const override { throw not_again(); }
  void check(const State&) const override { throw not_again(); }
  Unit unit_of(const RowId&) const override { throw not_again(); }
  Place place(const RowId& id) const override { return {name_, static_cast<int64_t>(id.line)}; }
  uint32_t passes() const override { return epochs_; }
  bool comes_once() const override { return true; }

  ChunkBound chunk_bound() const override {
    const auto rows = static_cast<uint64_t>(callback_->rows.rows_at_once);
    return {0, rows, rows};
  }
  const Transform& producer() const override { return blocks_; }

 private:
  void check(const RowBlock& block) const {
    if (!(block.spec() == *spec_)) {
      throw ConfigError(
          cat("the callback of ", name_, " made rows of (", block.spec().text(), "), expected (", spec_->text(), ")"));
    }
    if (block.size() < 0 || block.size() > block.capacity()) {
      throw ConfigError(cat("the callback of ", name_, " says that it made ", block.size(),
                            " rows, but there was room for ", block.capacity()));
    }
    block.check_texts(static_cast<int64_t>(at_));
  }
  ConfigError not_again() const {
    return ConfigError(cat("the input's state cannot be saved: ", name_, " is a callback, whose rows come only once"));
  }

  const std::shared_ptr<const SharedCallback> callback_;
  const uint32_t epochs_;
  const SharedRowSpec spec_;
  FilledRows blocks_;
  std::string name_;
  uint32_t source_ = 0, pass_ = 0, end_pass_ = 0;
  uint64_t at_ = 0;  // rows of the pass so far
  bool ended_ = false;
  std::atomic<bool> interrupted_{false};
};

}  // namespace

OpRegistry::Entry callback_op(CallbackRows callback) {
  if (!callback.fill) throw ConfigError("the rows of a callback need a callback");
  if (callback.rows_at_once < 1) throw ConfigError("a callback is asked for at least one row at once");
  auto shared = std::make_shared<const SharedCallback>(std::move(callback));
  return {.doc = "gives rows that the program makes",
          .describe = describe_options<CallbackOptions>,
          .make = [shared](const Spec& options, Spec* resolved) -> std::unique_ptr<Op> {
            return std::make_unique<CallbackSource>(shared, read_options<CallbackOptions>(options, resolved));
          }};
}

}  // namespace millrace

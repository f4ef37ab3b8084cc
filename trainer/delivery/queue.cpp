// queue: tasks make batches ahead of the step, up to a capacity; the step takes the oldest one and copies it.
//
// One task makes one batch, on any thread of the executor that is free; the next task is submitted when the first has
// ended and there is room. So no task ever waits for room, and a step that waits for a batch makes it itself if no
// other thread does. With `staging` a batch that was taken stays for the device, which copies it while it trains on
// others. The queue holds with each batch what comes with its rows: bad rows to tell, lines to print, counts, an error.
#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/clock.h"
#include "millrace/core/errors.h"
#include "millrace/core/threads/executor.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/core/trace.h"
#include "millrace/trainer/delivery/batch_source.h"
#include "millrace/trainer/delivery/kinds.h"

namespace millrace {

namespace {

class QueueDelivery final : public Delivery, private Task {
 public:
  QueueDelivery(const DeliveryOptions& options, InputGraph graph, DeliveryArgs args);
  ~QueueDelivery() override;

  const RowBlock* next() override;
  int64_t kept() const override { return std::ssize(taken_); }
  void stop() noexcept override;
  Place place(const RowId& id) const override { return pipeline_.place(id); }
  InputSummary summary() const override { return summary_; }
  std::optional<double> share() const override { return summary_.share; }
  DeliveryStatistics statistics() const override;
  DeliveryTimes times() const override;
  int64_t queued() const override;
  std::vector<std::string> warnings() const override;
  State save() const override;
  void restore(const State& state) override;
  const InputGraph& graph() const override { return pipeline_.graph(); }
  uint64_t memory_bound() const override;

 private:
  // A batch, or what comes instead of one.
  struct Entry {
    RowBlock rows;                            // none: the end of the data, or `failure`
    std::vector<std::function<void()>> told;  // each tells a bad row or a line, when the batch is taken
    InputSummary summary;
    State state;  // if states are kept
    std::exception_ptr failure;
  };

  PipelineOptions ahead(PipelineOptions options);
  void run() noexcept override;
  void make(Entry& entry);
  void hand_over(Entry& entry) noexcept;
  void begin_task() noexcept;
  void begin();
  Entry& wait_for_batch();
  void tell(const Entry& entry);

  int64_t waiting() const MILLRACE_REQUIRES(mutex_) { return made_ - given_; }
  // Whether there is nothing to take yet, but a task is making it.
  bool one_comes() const MILLRACE_REQUIRES(mutex_) { return waiting() == 0 && making_one_; }
  // Without the end of the data and a failure, which wait like a batch.
  int64_t batches_waiting() const MILLRACE_REQUIRES(mutex_) { return waiting() - (complete_ && waiting() > 0 ? 1 : 0); }
  Entry& entry_to_make() {
    const MutexLock lock(mutex_);
    return entries_[static_cast<size_t>(made_) % entries_.size()];
  }

  // Constant.
  Executor& executor_;
  const int most_threads_;  // 0: as the ops say
  const bool saves_, stages_;
  const Device reader_;
  Trace* const trace_;
  const std::function<void(const BadRow&)> on_bad_row_;
  const std::function<void(std::string_view)> on_print_;

  // Used by the task that runs; there is at most one. The consumer uses them only while none can run: before the first
  // batch, and after it has waited for the tasks. So no lock is held while ops run. Any thread may use place() and
  // cancel().
  Pipeline pipeline_;
  Entry* being_made_ = nullptr;

  // Batch n lies in entry n modulo the number of entries. The entries of the batches from given_ up to made_ - 1 belong
  // to the consumer, the entry of made_ to the task.
  std::vector<Entry> entries_;

  mutable Mutex mutex_;
  int64_t made_ MILLRACE_GUARDED_BY(mutex_) = 0, given_ MILLRACE_GUARDED_BY(mutex_) = 0;
  bool making_one_ MILLRACE_GUARDED_BY(mutex_) = false;  // a task was submitted and has not ended
  bool complete_ MILLRACE_GUARDED_BY(mutex_) = false;    // nothing comes after what was made
  bool consumer_waits_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::atomic<bool> stopped_{false};

  // Used only by the consumer.
  std::vector<RowBlock> taken_;
  size_t newest_ = 0;  // of taken_
  InputSummary summary_;
  State state_;
  bool begun_ = false, ended_ = false;
  std::exception_ptr failure_;  // what next() throws from now on
  int64_t calls_ = 0, queued_at_calls_ = 0;
  uint64_t wait_nanoseconds_ = 0, copy_nanoseconds_ = 0;

  Completion ready_;
  mutable TaskGroup tasks_;  // last: its destructor waits for them
};

QueueDelivery::QueueDelivery(const DeliveryOptions& options, InputGraph graph, DeliveryArgs args)
    : executor_(args.executor),
      most_threads_(static_cast<int>(std::min<int64_t>(options.threads.value_or(0), executor_.threads()))),
      saves_(args.saves),
      stages_(options.kind == DeliveryKind::staging),
      reader_(args.pipeline.reader),
      trace_(args.pipeline.trace),
      on_bad_row_(args.pipeline.on_bad_row),
      on_print_(args.pipeline.on_print),
      pipeline_(std::move(graph), ahead(std::move(args.pipeline))),
      entries_(static_cast<size_t>(options.capacity.value_or(DeliveryOptions::kCapacity))),
      summary_(pipeline_.summary()),
      ready_(executor_),
      tasks_(executor_) {
  const int64_t kept = stages_ ? kept_for(reader_, pipeline_.graph().output()) : 1;
  for (int64_t i = 0; i < kept; ++i) taken_.push_back(pipeline_.make_slot());
  for (Entry& entry : entries_) entry.rows = pipeline_.make_slot();
}

QueueDelivery::~QueueDelivery() {
  stop();
  tasks_.wait();
}

// Makes callbacks keep what the ops tell next to the batch that is being made.
PipelineOptions QueueDelivery::ahead(PipelineOptions options) {
  options.executor = &executor_;
  options.threads = most_threads_;
  if (options.on_bad_row) {
    options.on_bad_row = [this](const BadRow& bad) {
      being_made_->told.emplace_back([this, bad] { on_bad_row_(bad); });
    };
  }
  options.on_report = [this](Transform& op, const BadRow& bad) {
    being_made_->told.emplace_back([&op, bad] { attributed(op, [&] { op.report(bad); }); });
  };
  if (options.on_print) {
    options.on_print = [this](std::string_view line) {
      being_made_->told.emplace_back([this, text = std::string(line)] { on_print_(text); });
    };
  }
  return options;
}

const RowBlock* QueueDelivery::next() {
  if (failure_) raise_copy(failure_);
  if (ended_ || stopped_.load()) return nullptr;
  begin();
  Entry& entry = wait_for_batch();
  if (stopped_.load()) return nullptr;
  std::swap(summary_, entry.summary);
  tell(entry);
  std::swap(state_, entry.state);
  ended_ = entry.rows.size() == 0;
  if (ended_) return nullptr;
  newest_ = (newest_ + 1) % taken_.size();
  RowBlock& taken = taken_[newest_];
  copy_nanoseconds_ += copy_batch(entry.rows, taken, trace_);
  {
    const MutexLock lock(mutex_);
    ++given_;
  }
  begin_task();
  return &taken;
}

// Keeps the state before the first batch.
void QueueDelivery::begin() {
  if (!std::exchange(begun_, true) && saves_) pipeline_.save(state_);
}

QueueDelivery::Entry& QueueDelivery::wait_for_batch() {
  const Clock::time_point start = Clock::now();
  TraceRange range(trace_, "wait", "wait for batch", start);
  const int64_t queued_now = queued();
  ++calls_;
  queued_at_calls_ += queued_now;
  if (trace_ != nullptr) trace_->count("batches queued", queued_now);
  begin_task();
  const MutexLock lock(mutex_);
  while (one_comes()) {
    {
      const MutexUnlock unlocked(mutex_);
      ready_.arm();
    }
    const bool waits = consumer_waits_ = one_comes();
    const MutexUnlock unlocked(mutex_);
    if (!waits) ready_.signal();
    ready_.wait();
  }
  const Clock::time_point end = Clock::now();
  wait_nanoseconds_ += nanoseconds_between(start, end);
  range.end(end);
  return entries_[static_cast<size_t>(given_) % entries_.size()];
}

// Submits a task, unless one is under way, nothing comes any more or there is no room.
void QueueDelivery::begin_task() noexcept {
  {
    const MutexLock lock(mutex_);
    if (making_one_ || complete_ || stopped_.load() || waiting() == std::ssize(entries_)) return;
    making_one_ = true;
  }
  try {
    tasks_.submit(*this);
  } catch (...) {
    Entry& entry = entry_to_make();
    entry.rows.clear();
    entry.told.clear();
    entry.failure = std::current_exception();
    hand_over(entry);
  }
}

void QueueDelivery::run() noexcept {
  Entry& entry = entry_to_make();
  make(entry);
  hand_over(entry);
}

// Gives the entry that was made to the consumer.
void QueueDelivery::hand_over(Entry& entry) noexcept {
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    ++made_;
    making_one_ = false;
    complete_ = entry.rows.size() == 0;
    wake = std::exchange(consumer_waits_, false);
  }
  if (wake) ready_.signal();
  begin_task();
}

void QueueDelivery::make(Entry& entry) {
  being_made_ = &entry;
  entry.told.clear();
  try {
    if (pipeline_.next(entry.rows) == 0) entry.rows.clear();
  } catch (...) {
    entry.rows.clear();
    entry.failure = std::current_exception();
  }
  try {
    pipeline_.summary(entry.summary);
    if (saves_ && !entry.failure && !pipeline_.cancelled()) pipeline_.save(entry.state);
  } catch (...) {
    entry.rows.clear();
    if (!entry.failure) entry.failure = std::current_exception();
  }
}

// Throws the error of the batch, and what the callbacks throw.
void QueueDelivery::tell(const Entry& entry) {
  try {
    for (const std::function<void()>& told : entry.told) told();
    if (entry.failure) raise_copy(entry.failure);
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

void QueueDelivery::stop() noexcept {
  stopped_.store(true);
  pipeline_.cancel();
}

DeliveryTimes QueueDelivery::times() const {
  return {.wait_seconds = 1e-9 * static_cast<double>(wait_nanoseconds_),
          .copy_seconds = 1e-9 * static_cast<double>(copy_nanoseconds_)};
}

DeliveryStatistics QueueDelivery::statistics() const {
  DeliveryStatistics out;
  out.times = times();
  out.mean_queued = calls_ == 0 ? 0 : static_cast<double>(queued_at_calls_) / static_cast<double>(calls_);
  out.capacity = std::ssize(entries_);
  tasks_.wait();
  out.input = pipeline_.statistics();
  return out;
}

int64_t QueueDelivery::queued() const {
  const MutexLock lock(mutex_);
  return batches_waiting();
}

std::vector<std::string> QueueDelivery::warnings() const {
  std::vector<std::string> out = graph().warnings();
  if (stages_ && reader_.is_cpu())
    out.push_back("delivery staging works as queue: there is no device to copy batches to");
  return out;
}

State QueueDelivery::save() const {
  if (!begun_) return pipeline_.save();
  if (!saves_) throw made_without_saves();
  return state_;
}

void QueueDelivery::restore(const State& state) {
  pipeline_.restore(state);
  summary_ = pipeline_.summary();
}

uint64_t QueueDelivery::memory_bound() const {
  return graph().memory_bound(executor_.threads()) +
         taken_.front().memory().total() * (entries_.size() + taken_.size()) +
         (saves_ ? (entries_.size() + 1) * graph().state_bound() : 0);
}

}  // namespace

std::unique_ptr<Delivery> make_queue(const DeliveryOptions& options, InputGraph graph, DeliveryArgs args) {
  return std::make_unique<QueueDelivery>(options, std::move(graph), std::move(args));
}

}  // namespace millrace

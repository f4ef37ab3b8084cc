// SourceStream: the rows of one source, made by its producer and the transforms behind it. What the streams that read a
// source share: ChunkStream takes one unit after another, ReaderStream records of several files in turn.
//
// A RowStream; start() gives it an executor, and from then on pull() is called from inside the executor's run(). The
// consumer's thread alone uses it, cancel() apart.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "millrace/core/executor.h"
#include "millrace/input/buffer.h"
#include "millrace/input/run/chunk_scheduler.h"
#include "millrace/input/run/note_log.h"
#include "millrace/input/run/transform_chain.h"
#include "millrace/input/source.h"

namespace millrace {

class SourceStream : public RowStream {
 public:
  // `links` are the transforms behind the source's producer; `source_port` is what the source gives; `source_index` is
  // RowId::source of its rows. They refer to ops that outlive the stream.
  SourceStream(RowSource& source, uint32_t source_index, std::string name, const Port& source_port,
               std::vector<ChainLink> links);

  // Before the first pull(). nullptr: every transform runs inside pull(). `events` outlives the stream, and so does
  // `trace`, which may be null.
  void start(Executor* executor, const StreamEvents* events, Trace* trace = nullptr);

  RowSpan pull(int64_t at_most) override;
  void rewind(uint32_t run) override;
  bool has_source(uint32_t source) const override { return source == source_index_; }
  void fetch(const RowId& id, RowBlock& block, int64_t row) override;
  void set_ahead(int64_t rows, int threads) override;
  // So many tasks may run at once, whatever the ops say. Before start().
  void set_tasks(int tasks) { threads_ = tasks; }
  uint32_t passes() const override { return source_.passes(); }
  void set_silent(bool silent) override;
  // The position behind the last row that was pulled, whatever the chunks and threads.
  void save(State& state) const override;
  void restore(const State& state) override;
  void add_dropped(std::vector<Dropped>& out) const override { log_.add_dropped(out); }

  // Makes pull() return the end soon, also one that waits. From any thread.
  void cancel() noexcept;

  const std::string& name() const { return name_; }
  const TransformChain& chain() const { return chain_; }
  uint64_t bad_rows() const { return log_.bad_rows(); }
  // Text of which every row was pulled or left out.
  uint64_t bytes() const { return told_bytes(bytes_); }
  // Per link of the chain, what was done so far.
  std::vector<TaskMemory::Work> work() const;
  uint64_t waited_nanoseconds() const;
  // How long it could have worked, had there been room for what it makes. Each scheduler may be full while others are
  // not: the mean of them.
  uint64_t blocked_nanoseconds() const;
  uint64_t second_tries() const;
  // Decoded rows that wait to be pulled: now, on average, and how many may.
  RowsHeld held() const;
  int64_t ahead_rows() const { return ahead_rows_; }
  // Upper bound of the bytes held with an executor of `threads` threads.
  virtual uint64_t memory_bound(int threads) const = 0;

 protected:
  virtual void start_tasks(Executor* executor) = 0;
  // One that works for this stream: it is counted, and cancelled, with it. Before the first pull(); outlives the
  // stream.
  void add_scheduler(ChunkScheduler& scheduler) { schedulers_.push_back(&scheduler); }
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // The rows of the next pull(); none at the end of the run and after cancel().
  virtual RowSpan next_rows(int64_t at_most) = 0;
  // Stops and forgets what was read ahead. The source then begins a run.
  virtual void restart() = 0;
  // Sets "position" to numbers that say where the stream stands behind a row, the pass first.
  virtual void save_position(State& state) const = 0;
  // Goes on there; returns the pass.
  virtual uint32_t restore_position(const State& state) = 0;
  // The `count` numbers of "position". Throws DataError when there are others.
  const std::vector<uint64_t>& position_of(const State& state, size_t count) const;

  // Data of pass `pass` come next. Throws the error of an endless source whose pass gave no row.
  void enter_pass(uint32_t pass);
  // A row of that pass is handed out; what was told before it, and bytes_, hold for a saved state.
  void settle();
  // How many tasks may run at once with an executor of `threads` threads.
  int tasks(int threads) const;
  // Upper bound of the bytes of one ChunkScheduler, its chunks and its tasks.
  uint64_t scheduler_bound(int64_t ahead_rows, int tasks) const;

  RowSource& source_;
  const uint32_t source_index_;
  const std::string name_;
  const bool text_;
  TransformChain chain_;
  NoteLog log_;
  int64_t ahead_rows_ = 0;
  int threads_ = 0;
  uint64_t bytes_ = 0;
  std::vector<ChunkScheduler*> schedulers_;

 private:
  // What of so many bytes was not read again in silence.
  uint64_t told_bytes(uint64_t bytes) const { return (silent_ ? silent_from_ : bytes) - silent_bytes_; }

  std::atomic<bool> cancelled_{false};
  bool silent_ = false;
  uint64_t silent_from_ = 0, silent_bytes_ = 0;  // bytes_ when the silence began; those read in earlier ones
  uint32_t run_ = 0;
  bool positioned_ = false;  // a row of the run was handed out
  uint64_t settled_bytes_ = 0;
  bool ended_ = false;  // the run has no more rows
  bool in_pass_ = false;
  uint32_t pass_ = 0;
  bool pass_has_rows_ = false;
  std::exception_ptr failure_;  // what pull() throws from now on

  Chunk fetched_;
  TaskMemory fetch_memory_;
};

}  // namespace millrace

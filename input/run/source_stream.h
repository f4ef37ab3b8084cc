// SourceStream: the rows of one source, made by its producer and the transforms after it. It is the base class of the
// streams that read a source: ChunkStream takes one unit after another, ReaderStream takes records of several files in
// turn.
//
// start() gives it an executor; from then on pull() is called from inside the executor's run(). Only the consumer's
// thread uses it, but any thread may call cancel().
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "millrace/input/buffer.h"
#include "millrace/input/compressed/compressed_files.h"
#include "millrace/input/run/chunk_scheduler.h"
#include "millrace/input/run/note_log.h"
#include "millrace/input/run/transform_chain.h"
#include "millrace/input/source.h"

namespace millrace {

class SourceStream : public RowStream {
 public:
  // `links` are the transforms after the source's producer; `source_port` is what the source gives; `source_index` is
  // RowId::source of its rows. The source and the ops of `links` outlive the stream.
  SourceStream(RowSource& source, uint32_t source_index, std::string name, const Port& source_port,
               std::vector<ChainLink> links);

  // Called before the first pull(). `executor` may be nullptr: then every transform runs inside pull(). `events` and
  // `trace` outlive the stream; `trace` may be null. A `decoder` makes the chunks in place of the executor's threads.
  void start(Executor* executor, const StreamEvents* events, Trace* trace = nullptr,
             std::unique_ptr<UnitDecoder> decoder = nullptr);

  RowSpan pull(int64_t at_most) override;
  // An error that it meets is thrown by the next pull().
  bool ready() final;
  void rewind(uint32_t run) override;
  bool has_source(uint32_t source) const override { return source == source_index_; }
  void fetch(const RowId& id, RowBlock& block, int64_t row) override;
  void set_ahead(int64_t rows, int threads) override { ahead_ = with_links({rows, threads}, chain_.links()); }
  // How many tasks may run at once, whatever the ops say. Called before start().
  void set_tasks(int tasks) { ahead_.threads = tasks; }
  // How many units workers may have at once, if start() will be given their decoder.
  void set_units_out(int units) { units_out_ = units; }
  uint32_t passes() const override { return attributed(source_, &RowSource::passes); }
  std::optional<double> share() const override;
  void set_silent(bool silent) override;
  // Saves the position after the last row that was pulled; it does not depend on chunks or threads.
  void save(State& state) const override;
  void restore(const State& state) override;
  void add_dropped(std::vector<Dropped>& out) const override { log_.add_dropped(out); }
  // Whether it takes long to read rows again, so that a saved state has places to begin from.
  bool reads_compressed() const;
  // Adds them to a state that save() made: for where the stream stands, and for the rows that a saved state names.
  // `ops` are the states of all ops.
  void save_places(State& state, const std::vector<const State*>& ops) const;

  // Makes pull() return the end soon, even a call that is waiting. From any thread.
  void cancel() noexcept;

  const std::string& name() const { return name_; }
  uint32_t source_index() const { return source_index_; }
  bool comes_once() const {
    return attributed(source_, [&] { return source_.comes_once(); });
  }
  const TransformChain& chain() const { return chain_; }
  uint64_t bad_rows() const { return log_.bad_rows(); }
  // How many bytes of text were passed: all their rows were pulled or left out.
  uint64_t bytes() const { return told_bytes(bytes_); }
  // The work of each link of the chain so far.
  std::vector<TaskMemory::Work> work() const;
  uint64_t waited_nanoseconds() const { return total(&ChunkScheduler::waited_nanoseconds); }
  // How long no task ran because there was no room for what the tasks make. It is the mean over the schedulers, since
  // one may be full while others are not.
  uint64_t blocked_nanoseconds() const;
  uint64_t second_tries() const { return total(&ChunkScheduler::second_tries); }
  uint64_t planning_nanoseconds() const { return total(&ChunkScheduler::planning_nanoseconds); }
  // Decoded rows that wait to be pulled: held() says how many wait now and on average, ahead_rows() how many may.
  RowsHeld held() const;
  int64_t ahead_rows() const { return ahead_.rows; }
  // Upper bound of the bytes held with an executor of `threads` threads.
  virtual uint64_t memory_bound(int threads) const = 0;

 protected:
  virtual void start_tasks(Executor* executor, UnitDecoder* decoder) = 0;
  // Adds a scheduler that works for this stream: it is counted and cancelled with the stream. Called before the first
  // pull(). The derived stream owns the scheduler.
  void add_scheduler(ChunkScheduler& scheduler) { schedulers_.push_back(&scheduler); }
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // The rows of the next pull(); none at the end of the run and after cancel().
  virtual RowSpan next_rows(int64_t at_most) = 0;
  // Whether next_rows() answers at once; see ready().
  virtual bool rows_ready() { return true; }
  // Stops, and forgets what was read ahead. The source begins a run after that.
  virtual void restart() = 0;
  // Sets "position" to numbers that say where the stream stands after a row; the first number is the pass.
  virtual void save_position(State& state) const = 0;
  // Adds where in its files the stream stands.
  virtual void add_positions(std::vector<TextPlace>&) const {}
  // Goes on at the saved position; returns the pass.
  virtual uint32_t restore_position(const State& state) = 0;
  // Goes on with the first row of pass `pass`, as if a position there had been restored.
  virtual void start_pass(uint32_t pass) = 0;
  // The numbers of "position", number i at most most[i]. Throws DataError for others, for more and for fewer.
  const std::vector<uint64_t>& position_of(const State& state, std::initializer_list<uint64_t> most) const;

  // Where a row came from.
  Place place_of(const RowId& id) const {
    return attributed(source_, [&] { return source_.place(id); });
  }
  // Counts as passed what lies before `offset` of a unit's file; `counted` is how much of the file was counted.
  void count_passed(const FileEntry* file, uint64_t offset, uint64_t& counted);
  // How much that is.
  uint64_t passed_before(const FileEntry* file, uint64_t offset) const;
  // Says that data of pass `pass` come next. Throws the error of an endless source if the pass before gave no row.
  void enter_pass(uint32_t pass);
  // Says that a row of that pass is handed out. The notes before it, and bytes_, now belong to a saved state.
  void settle();
  // How many tasks may run at once with an executor of `threads` threads.
  int tasks(int threads) const;
  // Upper bound of the bytes that a ChunkScheduler holds with its chunks and its tasks if `ahead` is what it may do.
  uint64_t scheduler_bound(const Ahead& ahead) const;

  RowSource& source_;
  const FileSource* const file_source_;  // the same; null if it has no files
  const uint32_t source_index_;
  const std::string name_;
  const bool text_;
  const std::optional<double> run_size_;  // like Source::pass_size(), but for a run
  TransformChain chain_;
  NoteLog log_;
  Ahead ahead_;
  uint64_t bytes_ = 0;
  uint64_t passed_ = 0;  // in this run, counted as in Source::pass_size()
  std::vector<ChunkScheduler*> schedulers_;
  std::unique_ptr<UnitDecoder> decoder_;
  int units_out_ = 0;

 private:
  // How many passes a run has; 0: it never ends.
  uint64_t run_length() const;
  uint64_t total(uint64_t (ChunkScheduler::*number)() const) const;
  // How many of the first `bytes` bytes were not read again in silence.
  uint64_t told_bytes(uint64_t bytes) const { return (silent_ ? silent_from_ : bytes) - silent_bytes_; }

  std::atomic<bool> cancelled_{false};
  bool silent_ = false;
  uint64_t silent_from_ = 0, silent_bytes_ = 0;  // bytes_ when the silence began; bytes read in earlier silences
  uint32_t run_ = 0;
  bool positioned_ = false;  // a row of the run was handed out
  uint64_t settled_bytes_ = 0;
  bool ended_ = false;            // the run has no more rows
  std::optional<uint32_t> pass_;  // the pass that the run is in
  bool pass_has_rows_ = false;
  std::exception_ptr failure_;  // pull() throws it from now on

  Chunk fetched_;
  TaskMemory fetch_memory_;
};

}  // namespace millrace

// ChunkStream: the rows of one source, made by its producer and the transforms behind it, in the source's order.
//
// A RowStream; start() gives it an executor, and from then on pull() is called from inside the executor's run(). The
// consumer's thread alone uses it, cancel() apart.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "millrace/input/graph/chunk_cursor.h"
#include "millrace/input/graph/chunk_scheduler.h"
#include "millrace/input/graph/empty_passes.h"
#include "millrace/input/graph/note_log.h"
#include "millrace/input/graph/transform_chain.h"
#include "millrace/input/op.h"

namespace millrace {

class ChunkStream : public RowStream {
 public:
  // `links` are the transforms behind the source's producer; `source_port` is what the source gives; `source_index` is
  // RowId::source of its rows. They refer to ops that outlive the stream.
  ChunkStream(RowSource& source, uint32_t source_index, std::string name, const Port& source_port,
              std::vector<ChainLink> links);

  // Before the first pull(). nullptr: every transform runs inside pull(). `events` outlives the stream.
  void start(Executor* executor, const StreamEvents* events);

  RowSpan pull(int64_t at_most) override;
  void rewind(uint32_t run) override;
  bool has_source(uint32_t source) const override { return source == source_index_; }
  void fetch(const RowId& id, RowBlock& block, int64_t row) override;
  void set_ahead(int64_t rows, int threads) override;
  uint32_t passes() const override { return source_.passes(); }
  // The position behind the last row that was pulled: O(1), whatever the chunks and threads.
  void save(State& state) const override;
  void restore(const State& state) override;
  void add_dropped(std::vector<Dropped>& out) const override { log_.add_dropped(out); }

  // Makes pull() return the end soon, also one that waits. From any thread.
  void cancel() noexcept { scheduler_.cancel(); }

  const std::string& name() const { return name_; }
  const TransformChain& chain() const { return chain_; }
  const ChunkScheduler& scheduler() const { return scheduler_; }
  uint64_t bad_rows() const { return log_.bad_rows(); }
  // Text of which every row was pulled or left out.
  uint64_t bytes() const { return bytes_; }
  // Upper bound of the bytes held with an executor of `threads` threads.
  uint64_t memory_bound(int threads) const;

 private:
  bool enter_next_chunk();
  void end();
  void note_pass(uint32_t pass);
  void settle(const RowSpan& span);

  RowSource& source_;
  const uint32_t source_index_;
  const std::string name_;
  const bool text_;
  const TransformChain chain_;
  NoteLog log_;
  ChunkCursor cursor_;
  int64_t ahead_rows_ = 0;
  int threads_ = 0;

  uint32_t run_ = 0;
  bool positioned_ = false;  // position_ holds; else the stream stands at the start of the run
  Position position_;        // behind the last row that was pulled
  uint64_t position_bytes_ = 0;
  uint64_t bytes_ = 0;
  uint64_t bytes_before_chunk_ = 0;
  uint64_t chunk_begin_ = 0;
  bool ended_ = false;  // the run has no more rows
  bool in_pass_ = false;
  uint32_t pass_ = 0;
  bool pass_has_rows_ = false;
  std::exception_ptr failure_;  // what pull() throws from now on

  Chunk fetched_;
  TaskMemory fetch_memory_;

  ChunkScheduler scheduler_;  // last: its destructor ends the tasks
};

}  // namespace millrace

// ChunkStream: makes a source's units into chunks, one after another, and hands out all rows of a chunk before the
// next.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "millrace/input/run/chunk_cursor.h"
#include "millrace/input/run/chunk_scheduler.h"
#include "millrace/input/run/source_stream.h"

namespace millrace {

class ChunkStream : public SourceStream {
 public:
  ChunkStream(RowSource& source, uint32_t source_index, std::string name, const Port& source_port,
              std::vector<ChainLink> links);

  const ChunkScheduler& scheduler() const { return scheduler_; }
  uint64_t memory_bound(int threads) const override { return scheduler_bound({ahead_.rows, tasks(threads)}); }

 private:
  void start_tasks(Executor* executor, UnitDecoder* decoder) override;
  RowSpan next_rows(int64_t at_most) override;
  bool rows_ready() override;
  void restart() override;
  void save_position(State& state) const override;
  void add_positions(std::vector<TextPlace>& out) const override;
  uint32_t restore_position(const State& state) override;
  void start_pass(uint32_t pass) override;

  bool enter_next_chunk();
  void leave_chunk();
  void pass(const RowSpan& span);

  ChunkCursor cursor_;
  Position position_;  // after the last row that was pulled
  uint64_t bytes_before_chunk_ = 0;
  std::shared_ptr<const FileEntry> file_;  // of position_; null if that is not known, or without files
  uint64_t counted_ = 0;                   // of that file, or of the pass: how much of it is in passed_
  bool resumed_ = false;                   // counted_ is what lies before position_, which is not known yet
  uint64_t chunk_begin_ = 0;

  ChunkScheduler scheduler_;  // last: its destructor ends the tasks
};

}  // namespace millrace

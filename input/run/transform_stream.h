// TransformStream: the rows of a row buffer, changed by the transforms after it if there are any. The transforms run on
// the consumer's thread, on the rows of one pull. The stream attributes exceptions of the buffer to it, and refuses
// more rows than were asked for, because the reader has no room for them.
//
// Serial. The buffer outlives the stream, and the buffer's owner saves and restores it.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "millrace/input/buffer.h"
#include "millrace/input/rows/empty_passes.h"
#include "millrace/input/run/chunk_cursor.h"
#include "millrace/input/run/note_log.h"
#include "millrace/input/run/transform_chain.h"

namespace millrace {

class TransformStream : public RowStream {
 public:
  // `input` is the buffer, and `origin` its name and place.
  TransformStream(RowStream& input, Origin origin, RowSpec input_rows, std::vector<ChainLink> links, RowFacts facts);

  // Called before the first pull(). `events` and `trace` outlive the stream; `trace` may be null.
  void start(const StreamEvents* events, Trace* trace = nullptr) {
    log_.set_events(events);
    chain_.set_trace(trace);
  }

  RowSpan pull(int64_t at_most) override;
  void rewind(uint32_t run) override;
  bool has_source(uint32_t source) const override {
    return attributed(origin_, [&] { return input_.has_source(source); });
  }
  void fetch(const RowId& id, RowBlock& block, int64_t row) override;
  void set_ahead(int64_t rows, int threads) override;
  void set_silent(bool silent) override {
    log_.set_silent(silent);
    attributed(origin_, [&] { input_.set_silent(silent); });
  }
  uint32_t passes() const override { return passes_; }
  int64_t spread() const override { return spread_; }
  std::optional<double> share() const override {
    return attributed(origin_, [&] { return input_.share(); });
  }
  // The state of the input is restored before the state of this stream.
  void save(State& state) const override;
  void restore(const State& state) override;
  void add_dropped(std::vector<Dropped>& out) const override { log_.add_dropped(out); }

  // The name of the first transform; empty: there is none.
  const std::string& name() const { return name_; }
  const TransformChain& chain() const { return chain_; }
  const std::vector<TaskMemory::Work>& work() const { return memory_.done; }
  uint64_t bad_rows() const { return log_.bad_rows(); }
  // Upper bound of the bytes held.
  uint64_t memory_bound() const;

 private:
  RowSpan pull_input(int64_t at_most);
  bool take(int64_t at_most);
  void transform();

  RowStream& input_;
  const Origin origin_;  // the input's
  const std::string name_;
  const SharedRowSpec input_rows_;
  const int64_t rows_at_once_;
  TransformChain chain_;
  NoteLog log_;
  const RowFacts facts_;
  // These are kept because each call asks all streams before the input: a long list of buffers would take long to
  // build.
  const uint32_t passes_;
  const int64_t spread_;
  EmptyPasses empty_passes_;
  ChunkCursor cursor_;
  Chunk chunk_;
  std::vector<RowId> taken_;  // the rows that chunk_ was made from
  bool chunk_gave_ = false;   // whether a row of chunk_ was handed out
  TaskMemory memory_;
  Chunk fetched_;
  std::exception_ptr failure_;  // pull() throws it from now on
};

}  // namespace millrace

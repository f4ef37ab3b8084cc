// BufferStream: the rows of a row buffer, for whoever reads it. pull() names the op in what the op throws, and refuses
// more rows than were asked for: whoever reads has no room for them.
//
// A RowStream; serial. The buffer outlives it, and is saved and restored by whoever owns it.
#pragma once

#include <string>
#include <utility>

#include "millrace/input/buffer.h"

namespace millrace {

class BufferStream final : public RowStream {
 public:
  BufferStream(RowBuffer& buffer, std::string name) : buffer_(buffer), name_(std::move(name)) {}

  RowSpan pull(int64_t at_most) override;
  void rewind(uint32_t run) override { buffer_.rewind(run); }
  bool has_source(uint32_t source) const override { return buffer_.has_source(source); }
  void fetch(const RowId& id, RowBlock& block, int64_t row) override { buffer_.fetch(id, block, row); }
  void set_ahead(int64_t rows, int threads) override { buffer_.set_ahead(rows, threads); }
  uint32_t passes() const override { return buffer_.passes(); }
  int64_t spread() const override { return buffer_.spread(); }
  void set_silent(bool silent) override { buffer_.set_silent(silent); }
  void save(State& state) const override { buffer_.save(state); }
  void restore(const State& state) override { buffer_.restore(state); }
  void add_dropped(std::vector<Dropped>& out) const override { buffer_.add_dropped(out); }

 private:
  RowBuffer& buffer_;
  const std::string name_;
};

}  // namespace millrace

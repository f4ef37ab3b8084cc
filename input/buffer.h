// Buffers: ops that decide which rows come and in what order (RowBuffer), and that group them into batches
// (BatchBuffer).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

// How many rows were left out for one named cause, such as "last partial batch".
struct Dropped {
  std::string cause;
  uint64_t rows = 0;
};

// Rows in their final order, pulled by one thread: a stream of chunks, or a buffer.
class MILLRACE_EXPORT RowStream {
 public:
  virtual ~RowStream() = default;
  // The next rows, at least 1 and at most `at_most`; none at the end of the data, however often it is asked. Valid
  // until the next call.
  // Throws the error of the next row if that row cannot be had; a further call throws it again.
  virtual RowSpan pull(int64_t at_most) = 0;
  // Whether pull() answers without a wait for data that come over time (a pipe): with a row, an error or the end. True
  // also if that is not known.
  virtual bool ready() { return true; }
  // Begins again as run `run`. `repeat` asks for a further run; `cache` asks for run 0 again, which gives the same rows
  // as the first time.
  virtual void rewind(uint32_t run) = 0;
  // Whether rows of source `source` (RowId::source) come from here.
  virtual bool has_source(uint32_t source) const = 0;
  // Reads the record `id` again into row `row` of `block`, to restore a window. Throws DataError if there is no such
  // record, or if it has changed.
  virtual void fetch(const RowId& id, RowBlock& block, int64_t row) = 0;
  // Says how many decoded rows may wait ahead of pull(), and how many tasks may decode at once (0: as many as the
  // executor has threads). The order of the rows stays the same. Called once, before the start.
  virtual void set_ahead(int64_t rows, int threads) = 0;
  // How many passes one run has, as Source::passes(): the most of any input. `repeat` multiplies it by its epochs.
  virtual uint32_t passes() const = 0;
  // About what share of the run's data was passed, from 0 to 1; absent if that is not known, or if the data never end.
  virtual std::optional<double> share() const { return {}; }
  // If rows come from several inputs: about one row in this many comes from the rarest input. 0: there is only one
  // input.
  virtual int64_t spread() const { return 0; }
  // Says whether the rows that come now are read a second time. If so, nothing about them is counted, reported or
  // printed again.
  virtual void set_silent(bool silent) = 0;
  virtual void save(State& state) const = 0;
  virtual void restore(const State& state) = 0;
  virtual void add_dropped(std::vector<Dropped>&) const {}
};

// The functions with which a running buffer asks and tells its pipeline. Not for use in bind().
struct BufferHost {
  std::function<Place(const RowId&)> place;     // where a row came from
  std::function<void(std::string_view)> print;  // a line for the log; may be empty
  // Whether the pipeline was cancelled. An op asks this if it may loop for a long time, and no source would end the
  // loop. May be empty.
  std::function<bool()> cancelled;
};

// rows -> rows, serial: decides which rows come and in what order.
class MILLRACE_EXPORT RowBuffer : public Op, public RowStream {
 public:
  std::vector<PortType> inputs() const override { return {PortType::rows}; }
  // Keeps the inputs and the host, and announces rows like those of the first input. An op that overrides bind() calls
  // this one.
  Port bind(const BindArgs& args) override;
  // Whether its rows never end; `inputs` says the same of each input. May be called before bind().
  virtual bool endless(const std::vector<bool>& inputs) const {
    return std::find(inputs.begin(), inputs.end(), true) != inputs.end();
  }
  // Whether it waits for the end of its input. Then its input must end.
  virtual bool needs_end() const { return false; }
  // Whether what it does depends on the values of the rows, or whether it shows them.
  virtual bool reads_fields() const { return false; }
  // Whether it picks rows by their number in the data, so that it is also needed for a single pass over the same data.
  virtual bool picks_by_number() const { return false; }
  // How many inputs it has; 0: bind() was not called, or did not call RowBuffer::bind().
  size_t input_count() const { return streams_.size(); }

  // These suit most buffers: each call goes on to the input that it is about, or to all inputs. set_ahead() divides
  // rows and threads among the inputs.
  void rewind(uint32_t run) override;
  bool has_source(uint32_t source) const override;
  void fetch(const RowId& id, RowBlock& block, int64_t row) override;
  void set_ahead(int64_t rows, int threads) override;
  uint32_t passes() const override;
  std::optional<double> share() const override;  // the least of all inputs
  int64_t spread() const override;
  void set_silent(bool silent) override;

 protected:
  // The op's name in the graph.
  const std::string& name() const { return origin().who; }
  // REQUIRES: the op runs in a pipeline.
  const BufferHost& host() const { return *host_; }
  bool cancelled() const { return host_ != nullptr && host_->cancelled && host_->cancelled(); }
  bool silent() const { return silent_; }
  RowStream& input(size_t index = 0) const { return *streams_[index]; }

 private:
  std::vector<RowStream*> streams_;
  const BufferHost* host_ = nullptr;
  bool silent_ = false;
};

// rows -> batches, serial: groups rows and writes them into memory that the consumer provides.
class MILLRACE_EXPORT BatchBuffer : public Op {
 public:
  std::vector<PortType> inputs() const override { return {PortType::rows}; }
  // Takes the input, and gives batches of its rows. An op that overrides bind() calls this one, and sets the port's
  // batch_size.
  Port bind(const BindArgs& args) override;
  virtual Ahead ahead() const { return {}; }
  // Lets fill() end before the next row if that row has an error, or would have to wait for data that come over time.
  // The next calls give the rest of the batch. An op that does not know pieces gives whole batches.
  void give_pieces() { pieces_ = true; }
  // Whether the rows of the last fill() begin a batch, as they always do without pieces.
  virtual bool begins() const { return true; }
  // How many rows it draws from; 0 if it keeps their order.
  virtual int64_t window() const { return 0; }
  // How many rows it took and has not given yet.
  virtual int64_t held() const { return 0; }

  // Replaces the contents of `batch`, which has room for the port's batch_size, and returns its number of rows; 0 at
  // the end of the data. Throws the error of a row that the batch cannot do without.
  virtual int64_t fill(RowBlock& batch) = 0;
  virtual void save(State& state) const = 0;
  virtual void restore(const State& state) = 0;
  virtual void add_dropped(std::vector<Dropped>&) const {}

 protected:
  RowStream& input() const { return *stream_; }
  bool gives_pieces() const { return pieces_; }

 private:
  RowStream* stream_ = nullptr;
  bool pieces_ = false;
};

}  // namespace millrace

// Pipeline: an input graph that runs. next() gives one batch after another; their rows are a pure function of
// configuration, seed and data, whatever the threads, capacities and chunk sizes.
//
//   Pipeline pipeline(InputGraph::build(spec_list, registry, {.seed = 23}), {.executor = &executor});
//   RowBlock batch = pipeline.make_slot();
//   while (pipeline.next(batch) > 0) { ... }
//
// One thread uses a Pipeline; place() and cancel() may be called from any. The destructor joins every task.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/executor.h"
#include "millrace/core/export.h"
#include "millrace/input/buffer.h"
#include "millrace/input/graph/graph.h"
#include "millrace/input/transform.h"

namespace millrace {

class Trace;

struct PipelineOptions {
  // Outlives the pipeline. nullptr: every op runs inside next(), on the calling thread.
  Executor* executor = nullptr;
  // Called from next(), in row order. What they throw comes out of next().
  std::function<void(const BadRow&)> on_bad_row = {};
  std::function<void(std::string_view)> on_print = {};
  Device reader = Device::cpu();  // slots are in host memory that this device can copy from
  // Tasks that may decode at once for each source, whatever the ops say; 0: what they say.
  int threads = 0;
  // For who works ahead, and has to keep reports until their rows are used: called instead of Transform::report(),
  // which it calls later, never at the same time as another one.
  std::function<void(Transform&, const BadRow&)> on_report = {};
  // Is told what every op does when, and outlives the pipeline. nullptr: nobody wants to know.
  Trace* trace = nullptr;
};

struct InputSummary {
  uint64_t rows = 0;  // given out in batches
  uint64_t batches = 0;
  uint64_t bad_rows = 0;
  uint64_t passes = 0;           // passes up to the newest of which a row was given out
  uint64_t bytes = 0;            // text up to the last row that entered the graph's buffers
  std::vector<Dropped> dropped;  // by cause; only causes that happened
};

// Where the time of the thread that calls Pipeline::next() went.
struct PipelineTimes {
  double next_seconds = 0;  // inside next()
  double wait_seconds = 0;  // of these, waiting for chunks and helping meanwhile
};

struct InputStatistics {
  std::vector<OpStatistics> ops;  // row sources and transforms before buffers, then buffers; row buffers by name alone
  PipelineTimes times;
  uint64_t second_tries = 0;  // chunks decoded again because their task began inside a quoted field
};

class MILLRACE_EXPORT Pipeline {
 public:
  Pipeline(InputGraph graph, PipelineOptions options);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  const RowSpec& rows() const;
  int64_t batch_size() const;
  const InputGraph& graph() const;
  // A batch to give to next().
  RowBlock make_slot() const;

  // Fills `batch` and returns its number of rows; 0 at the end of the data or after cancel(). Throws the error that the
  // batch runs into, again at every further call. REQUIRES: `batch` was made by make_slot(), or like one.
  int64_t next(RowBlock& batch);
  bool cancelled() const;
  // Makes next() return 0 soon, also a call that waits now; a read of a file that has begun is waited for. Idempotent.
  void cancel() noexcept;

  // Where a row of a batch came from.
  Place place(const RowId& id) const;
  InputSummary summary() const;
  // The same into memory that is there.
  void summary(InputSummary& out) const;
  InputStatistics statistics() const;
  PipelineTimes times() const;

  // The state behind the last batch; restore() on a new pipeline of the same graph, with any threads, goes on from
  // there. Options that only decide how fast rows come may differ. Throws InternalError when an error or cancel() cut a
  // batch off: then the last batch is no longer where the graph stands.
  State save() const;
  // REQUIRES: next() was not called yet. Throws DataError when files or configuration differ from what was saved.
  void restore(const State& state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace

// The input graph of a program. InputGraph: the input of a configuration, bound. Pipeline: an input graph that runs. At
// the end: what was counted and timed, also by a delivery that brings the batches to a step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/core/spec.h"
#include "millrace/input/buffer.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/chunk.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/input/transform.h"

namespace millrace {

class Trace;
struct GraphImpl;

// Settings of a graph besides its ops.
struct GraphArgs {
  uint64_t seed = 0;
  FileSystem* files = nullptr;  // nullptr: FileSystem::local()
  Side side = Side::trained;    // of ops that hold rows out
};

// What a graph has to do with files, by the paths that it uses.
struct InputFiles {
  std::vector<std::string> read;     // as matched
  std::vector<std::string> written;  // by an op, while it runs
};

// A configuration's list of ops, named, connected and bound; nothing runs yet. Move-only. One thread builds and uses
// it; what only reads may be called from any.
class MILLRACE_EXPORT InputGraph {
 public:
  // `list` is the configuration's `input` list. Waits for the first bytes of standard input or a pipe. Throws
  // ConfigError (unknown op, ports that do not fit, naming both sides), MissingError (no such file), DataError (a
  // header that does not parse).
  static InputGraph build(const Spec& list, const OpRegistry& registry, const GraphArgs& args);
  InputGraph(InputGraph&&) noexcept;
  InputGraph& operator=(InputGraph&&) noexcept;
  ~InputGraph();

  // What the last op gives: batches.
  const Port& output() const;
  // The list with every option of every op, names included.
  const Spec& resolved() const;
  // The key that says how many rows a batch has: "input[3].batch.batch_size", "batch_size", and where its op is
  // written.
  struct BatchRowsKey {
    std::string path, name;
    Place place;
  };
  // Absent where the op has no such key.
  std::optional<BatchRowsKey> batch_rows() const;
  // The fields of the output that an op makes from text and that neither `readers` nor any op names. Empty if a
  // transform does not say what it reads.
  std::vector<std::string> unread_fields(const std::vector<std::string>& readers) const;
  InputFiles files() const;
  // Whether some of the data can be read only once: standard input, a pipe, rows of a callback.
  bool reads_once() const;
  // Where the rows come from in text; nullptr where not exactly one op decodes it.
  const TextColumns* text_columns() const;
  // The rows as they are before any transform that takes them all: where they are read or made, or behind the last op
  // that joins several inputs.
  const RowSpec& first_rows() const;
  // The name of an op that never ends, so that the batches never do; empty: they end.
  std::string endless_source() const;
  // Opens every file and checks every header. Throws as build() does.
  void check_files() const;
  // An upper bound of the bytes that a pipeline of this graph holds with `threads` threads, without its slots and
  // without the values whose size varies from row to row.
  uint64_t memory_bound(int threads) const;
  // Whether there are such values anywhere in the graph.
  bool varies() const;
  // Things that are allowed but unlikely to be meant: "capacity 79 raised to 133: ...".
  const std::vector<std::string>& warnings() const;

 private:
  friend class Pipeline;
  friend class RowTransforms;
  explicit InputGraph(std::unique_ptr<GraphImpl> impl);
  std::unique_ptr<GraphImpl> impl_;
};

struct PipelineOptions {
  // Outlives the pipeline. nullptr: every op runs inside next(), on the calling thread.
  Executor* executor = nullptr;
  // Called from next(), in row order. What they throw comes out of next().
  std::function<void(const BadRow&)> on_bad_row = {};
  std::function<void(std::string_view)> on_print = {};
  Device reader = Device::cpu();  // slots are in host memory that this device can copy from
  // Tasks that may decode at once for each source, whatever the ops say; 0: what they say.
  int threads = 0;
  // For code that works ahead and keeps reports until their rows are used. It is called instead of Transform::report(),
  // and calls that later, never two at the same time.
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

// An input graph that runs. next() gives one batch after another; their rows are a pure function of configuration, seed
// and data, whatever the threads, capacities and chunk sizes.
//
//   Pipeline pipeline(InputGraph::build(spec_list, registry, {.seed = 23}), {.executor = &executor});
//   RowBlock batch = pipeline.make_slot();
//   while (pipeline.next(batch) > 0) { ... }
//
// One thread uses a Pipeline; place() and cancel() may be called from any. The destructor joins every task.
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

// How the thread that takes batches for a step, from a delivery, spent its time.
struct DeliveryTimes {
  double make_seconds = 0;  // making batches itself
  double wait_seconds = 0;  // waiting for what others make; it helps meanwhile
  double copy_seconds = 0;  // copying batches into the step's input

  double total() const { return make_seconds + wait_seconds + copy_seconds; }
};

// What was done to bring them.
struct DeliveryStatistics {
  DeliveryTimes times;
  // Of a queue of batches: how many waited for each call of next(), on average, and how many may.
  std::optional<double> mean_queued = {};
  int64_t capacity = 0;
  InputStatistics input;  // what the ops did, for these batches and ahead of them
};

}  // namespace millrace

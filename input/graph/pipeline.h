// The input graph of a program. InputGraph is the bound input of a configuration; Pipeline is an input graph that runs.
// InputSummary and InputStatistics say what was counted and timed; at the end, DeliveryStatistics says it for a
// delivery, which brings the batches to a step.
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
class Workers;
struct GraphImpl;

// Settings of a graph besides its ops.
struct GraphArgs {
  uint64_t seed = 0;
  FileSystem* files = nullptr;  // nullptr: FileSystem::local()
  Side side = Side::trained;    // for ops that hold rows out
  // Bad rows come among the others: rows that cannot be decoded, or that a transform refuses (kRowError in op.h). An op
  // that does not know this fails as before, and the output has no field kRowError if no op knows it.
  bool bad_rows_stay = false;
  // Who decodes units in place of this machine's threads; null: nobody.
  std::shared_ptr<Workers> workers = nullptr;
};

// Paths of the files that a graph reads and writes.
struct InputFiles {
  std::vector<std::string> read;     // of every source: as matched, then what it opens besides
  std::vector<std::string> written;  // by an op, while it runs
};

// A configuration's list of ops, named, connected and bound; nothing runs yet. Move-only. One thread builds and uses
// it; any thread may call the functions that only read.
class MILLRACE_EXPORT InputGraph {
 public:
  // `list` is the configuration's `input` list. Waits for the first bytes of standard input or a pipe. Throws
  // ConfigError (an unknown op; ports that do not fit, with the names of both ops), MissingError (no such file),
  // DataError (a header that cannot be parsed).
  static InputGraph build(const Spec& list, const OpRegistry& registry, const GraphArgs& args);
  InputGraph(InputGraph&&) noexcept;
  InputGraph& operator=(InputGraph&&) noexcept;
  ~InputGraph();

  // The output of the last op: batches.
  const Port& output() const;
  // The list with every option of every op, names included.
  const Spec& resolved() const;
  // The options that ops found in the data, by the names of the ops: {image_folder: {classes: [cat, dog]}}.
  const Spec& found() const;
  // The key that says how many rows a batch has: its path "input[3].batch.batch_size", its name "batch_size", and the
  // place of its op in the configuration.
  struct BatchRowsKey {
    std::string path, name;
    Place place;
  };
  // Absent if the op has no such key.
  std::optional<BatchRowsKey> batch_rows() const;
  // The fields of the output that an op makes from text and that neither `readers` nor any other op names. Empty if an
  // op reads fields without saying which.
  std::vector<std::string> unread_fields(const std::vector<std::string>& readers) const;
  InputFiles files() const;
  // Whether some of the data can be read only once: standard input, a pipe, rows of a callback.
  bool reads_once() const { return !once_source().empty(); }
  // The name of an op whose rows come only once; empty: there is none.
  std::string once_source() const;
  // Where the rows come from in the text; nullptr unless exactly one op decodes text.
  const TextColumns* text_columns() const;
  // The rows before any transform that all rows pass through: as they are read or made, or after the last op that joins
  // several inputs.
  const RowSpec& first_rows() const;
  // The name of the op that makes the batches never end; empty: they end.
  std::string endless_source() const;
  // Opens every file and checks every header. Throws as build() does.
  void check_files() const;
  // Upper bound of the bytes that a pipeline of this graph holds with `threads` threads, without its slots and without
  // values whose size varies from row to row.
  uint64_t memory_bound(int threads) const;
  // Upper bound of what is large in a state that Pipeline::save() gives: the id of each row that waits, and the places
  // in compressed files from which the rows are read again.
  uint64_t state_bound() const;
  // Lets each task read half as much text, which changes no result and lowers memory_bound(). False, with nothing
  // changed, if tasks read little already. REQUIRES: no pipeline was made of it.
  bool read_less_at_once();
  // How many tasks may decode at once for each source, whatever the ops say. REQUIRES: no pipeline was made of it.
  void set_tasks(int tasks);
  // Whether values whose size varies occur anywhere in the graph.
  bool varies() const;
  // Things that are allowed but unlikely to be meant: "capacity 79 raised to 133: ...".
  const std::vector<std::string>& warnings() const;

 private:
  friend class Pipeline;
  friend class RowTransforms;
  friend class GraphUnits;
  explicit InputGraph(std::unique_ptr<GraphImpl> impl);
  std::unique_ptr<GraphImpl> impl_;
};

struct PipelineOptions {
  // Outlives the pipeline. nullptr: every op runs inside next(), on the calling thread.
  Executor* executor = nullptr;
  // Called from next(), in row order. Errors that these two throw come out of next(); any
  // other exception as an InternalError.
  std::function<void(const BadRow&)> on_bad_row = {};
  std::function<void(std::string_view)> on_print = {};
  Device reader = Device::cpu();  // slots lie in host memory that this device can copy from
  // How many tasks may decode at once for each source, whatever the ops say; 0: as many as the ops say.
  int threads = 0;
  // For code that works ahead and keeps reports until their rows are used. on_report is called instead of
  // Transform::report(); that code calls Transform::report() later, never two calls at the same time.
  std::function<void(Transform&, const BadRow&)> on_report = {};
  // Records what every op does, and when; outlives the pipeline. nullptr: nothing is recorded.
  Trace* trace = nullptr;
  // A batch may come in pieces, each by a call of next(): a piece ends if the next row would have to wait for data that
  // come over time (a pipe), or has an error. Then batches depend on timing, and no state can be saved.
  bool pieces = false;
};

struct InputSummary {
  uint64_t rows = 0;  // given out in batches
  uint64_t batches = 0;
  uint64_t bad_rows = 0;
  uint64_t passes = 0;  // up to the newest pass that a row was given out from
  uint64_t bytes = 0;   // text up to the last row that entered the graph's buffers
  // The share of all data that is in these batches, from 0 to 1. It is computed from the sizes of files and the numbers
  // of rows; absent if some are not known (a pipe, a callback), or if the data never end.
  std::optional<double> share = {};
  std::vector<Dropped> dropped;  // by cause; only causes that happened
};

// How the thread that calls Pipeline::next() spent its time.
struct PipelineTimes {
  double next_seconds = 0;  // inside next()
  double wait_seconds = 0;  // part of it: waiting for chunks and helping meanwhile
};

struct InputStatistics {
  // Row sources and transforms, then buffers, then the transforms after the batch. Row buffers have only a name.
  std::vector<OpStatistics> ops;
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
// One thread uses a Pipeline; any thread may call place() and cancel(). The destructor waits for every task.
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
  // batch runs into; every further call throws it again. REQUIRES: `batch` was made by make_slot(), or has the same
  // fields and at least the same capacity.
  int64_t next(RowBlock& batch);
  // Whether the rows of the last next() are the first of their batch; false for its further pieces
  // (PipelineOptions::pieces).
  bool begins_batch() const;
  bool cancelled() const;
  // Makes next() return 0 soon, even a call that is waiting now; a read of a file that has begun is still waited for.
  // Idempotent.
  void cancel() noexcept;

  // Where a row of a batch came from.
  Place place(const RowId& id) const;
  InputSummary summary() const;
  // The same, but reuses the memory of `out`.
  void summary(InputSummary& out) const;
  // The same as summary().share, without the work for the rest.
  std::optional<double> share() const;
  InputStatistics statistics() const;
  PipelineTimes times() const;

  // The state after the last batch. After restore(), a new pipeline of the same graph goes on from there, with any
  // number of threads. Options that decide only how fast rows come, or only when they end (Decides), may differ: data
  // that had ended go on if there is more now. Throws CallError if an error or cancel() cut a batch off: the graph
  // then no longer stands right after the last batch. Throws it also if batches come in pieces.
  State save() const;
  // The same, but reuses the memory of `out`. After an error `out` may hold anything.
  void save(State& out) const;
  // REQUIRES: next() was not called yet. Throws DataError if files or configuration differ from what was saved, and
  // ConfigError if the data would now end before the place of the state.
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

// Counts and times of a delivery, which brings batches to a step.
struct DeliveryStatistics {
  DeliveryTimes times;
  // For a queue of batches: how many were waiting at each call of next(), on average, and how many may.
  std::optional<double> mean_queued = {};
  int64_t capacity = 0;
  InputStatistics input;  // what the ops did, for these batches and ahead of them
};

}  // namespace millrace

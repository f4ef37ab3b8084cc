#include "millrace/input/graph/pipeline.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

#include "millrace/core/clock.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/float_mode.h"
#include "millrace/input/graph/graph_list.h"
#include "millrace/input/rows/copy_rows.h"

namespace millrace {

namespace {

constexpr double kNanosecond = 1e-9;

// Describes the first line in which `other` differs from `own`.
std::string first_difference(std::string_view own, std::string_view other) {
  const auto take_line = [](std::string_view& text) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line.empty() ? std::string("nothing more") : std::string(line);
  };
  for (;;) {
    const std::string here = take_line(own), there = take_line(other);
    if (here != there || (own.empty() && other.empty())) return cat("it had ", there, ", this one has ", here);
  }
}

}  // namespace

struct Pipeline::Impl {
  Impl(InputGraph given_graph, PipelineOptions given);

  int64_t next(RowBlock& batch);
  int64_t fill(RowBlock& batch);
  int64_t fill_transformed(RowBlock& batch);
  void check_slot(const RowBlock& batch) const;
  std::unique_ptr<UnitDecoder> decoder_of(const SourceStream& stream) const;
  void tell_news() const;
  void count(const RowBlock& batch);
  std::optional<double> share() const;

  uint64_t waited() const;
  int64_t rows_held() const;
  std::string_view place_to_wait(const SourceStream& stream) const;

  // Calls body(name, stream or buffer) for everything that has a state, a stream after those that it reads.
  template <class Body>
  void for_each_state(const Body& body) const;

  const InputGraph whole;
  GraphImpl& graph;
  const std::string own_fingerprint;
  const PipelineOptions options;
  const StreamEvents events;

  std::atomic<bool> cancelled{false};
  bool started = false, ended = false, cut_off = false, begins = false;
  std::exception_ptr failure;  // what next() throws from now on

  // The transforms after the batch buffer.
  TransformChain chain;
  NoteLog log;
  EmptyPasses empty_passes;
  std::vector<RowId> lost;  // the rows of a batch, in case the transforms leave all of them out
  ChunkCursor cursor;
  Chunk made;
  TaskMemory memory;

  InputSummary summary;
  mutable std::vector<Dropped> dropped_by_buffers;
  uint64_t next_nanoseconds = 0, fill_nanoseconds = 0, filled_rows = 0;
};

Pipeline::Impl::Impl(InputGraph given_graph, PipelineOptions given)
    : whole(std::move(given_graph)),
      graph(*whole.impl_),
      own_fingerprint(fingerprint(graph)),
      options(std::move(given)),
      events{options.on_bad_row, options.on_print, options.on_report},
      chain(PortType::batches, graph.batch_links),
      empty_passes(graph.nodes.back().name, !graph.nodes[graph.batch_node].endless.empty(), graph.batch_input->passes(),
                   attributed(graph.batch_buffer(), &BatchBuffer::window) + graph.batch_input->spread()),
      cursor(chain, log, [this](const RowId& id) { return graph.place(id); }) {
  if (options.pieces) graph.batch_buffer().give_pieces();
  log.set_events(&events);
  chain.set_trace(options.trace);
  for (const auto& stream : graph.source_streams) {
    if (options.threads > 0) stream->set_tasks(options.threads);
    stream->start(options.executor, &events, options.trace, decoder_of(*stream));
  }
  for (const auto& stream : graph.transform_streams) stream->start(&events, options.trace);
  graph.host = {.place = [this](const RowId& id) { return graph.place(id); },
                .print = options.on_print,
                .cancelled = [this] { return cancelled.load(); }};
}

// Null if this machine's threads decode its units.
std::unique_ptr<UnitDecoder> Pipeline::Impl::decoder_of(const SourceStream& stream) const {
  if (!graph.workers || options.executor == nullptr || stream.comes_once()) return nullptr;
  return graph.workers->decoder(graph, stream.chain(), *options.executor);
}

// What happened to workers goes to the log.
void Pipeline::Impl::tell_news() const {
  if (graph.workers && options.on_print) std::ranges::for_each(graph.workers->take_news(), options.on_print);
}

int64_t Pipeline::Impl::next(RowBlock& batch) {
  if (failure) raise_copy(failure);
  if (ended || cancelled.load()) return 0;
  check_slot(batch);
  started = true;
  begins = false;
  tell_news();
  const Clock::time_point start = Clock::now();
  int64_t rows = 0;
  try {
    const auto body = [&] { rows = graph.batch_links.empty() ? fill(batch) : fill_transformed(batch); };
    if (options.executor != nullptr) {
      options.executor->run(body);
    } else {
      const FloatMode mode;
      body();
    }
  } catch (...) {
    cut_off = true;
    if (cancelled.load()) return 0;
    tell_news();
    const GraphNode& batching = graph.nodes[graph.batch_node];
    failure = as_error(std::current_exception(), batching.name, batching.spec.place());
    raise_copy(failure);
  }
  next_nanoseconds += nanoseconds_since(start);
  if (cancelled.load()) {
    cut_off = true;
    return 0;
  }
  ended = rows == 0;
  if (!ended) count(batch);
  tell_news();
  return rows;
}

int64_t Pipeline::Impl::fill(RowBlock& batch) {
  const Clock::time_point start = Clock::now();
  TraceRange range(options.trace, "input", graph.nodes[graph.batch_node].name, start);
  const uint64_t waited_before = waited();
  const int64_t rows = graph.batch_buffer().fill(batch);
  begins |= graph.batch_buffer().begins();  // earlier pieces may have lost all their rows
  const Clock::time_point end = Clock::now();
  range.set("rows", rows);
  range.end(end);
  if (options.trace != nullptr) options.trace->count("decoded rows that wait", rows_held());
  const uint64_t took = nanoseconds_between(start, end);
  fill_nanoseconds += took - std::min(took, waited() - waited_before);
  filled_rows += static_cast<uint64_t>(rows);
  return rows;
}

int64_t Pipeline::Impl::fill_transformed(RowBlock& batch) {
  const int64_t most = graph.output().batch_size;
  batch.clear();
  while (batch.size() == 0) {
    made.reset({});
    made.rows.configure(graph.buffer_rows(), most);
    if (fill(made.rows) == 0) return 0;
    lost.clear();
    for (int64_t row = 0; row < made.rows.size(); ++row) lost.push_back(made.rows.id(row));
    if (const std::exception_ptr failed = chain.apply(made, memory)) raise_copy(failed);
    cursor.enter(made, 0);
    while (const RowSpan span = cursor.next(most)) {
      const int64_t begin = batch.size();
      batch.resize(begin + span.count);
      copy_rows(*span.block, span.begin, span.count, batch, begin);
    }
    cursor.leave();
    log.mark();
    for (size_t row = 0; batch.size() == 0 && row < lost.size(); ++row) empty_passes.took(lost[row]);
  }
  empty_passes.gave();
  return batch.size();
}

void Pipeline::Impl::check_slot(const RowBlock& batch) const {
  const Port& output = graph.output();
  if (batch.spec() == output.rows && batch.capacity() >= output.batch_size) return;
  throw ShapeError(cat("the batch given to the input has room for ", count_of(batch.capacity(), "row"), " of (",
                       batch.spec().text(), "), expected ", output.batch_size, " of (", output.rows.text(), ')'),
                   {}, "make it with make_slot()");
}

void Pipeline::Impl::count(const RowBlock& batch) {
  ++summary.batches;
  summary.rows += static_cast<uint64_t>(batch.size());
  uint64_t passes = summary.passes;
  for (const RowId& id : batch.ids()) passes = std::max<uint64_t>(passes, id.pass + uint64_t{1});
  summary.passes = passes;
}

// Rows that the batch op still holds were passed, but not given out, so they are taken off.
std::optional<double> Pipeline::Impl::share() const {
  if (ended) return 1;
  const std::optional<double> passed = graph.batch_input->share();
  if (!passed || summary.rows == 0) return passed ? std::optional(0.0) : std::nullopt;
  const auto given = static_cast<double>(summary.rows);
  return *passed * given / (given + static_cast<double>(attributed(graph.batch_buffer(), &BatchBuffer::held)));
}

uint64_t Pipeline::Impl::waited() const {
  uint64_t nanoseconds = 0;
  for (const auto& stream : graph.source_streams) nanoseconds += stream->waited_nanoseconds();
  return nanoseconds;
}

int64_t Pipeline::Impl::rows_held() const {
  uint64_t rows = 0;
  for (const auto& stream : graph.source_streams) rows += stream->held().now;
  return static_cast<int64_t>(rows);
}

// The op that lets the stream's rows wait: its last queue, else the batch.
std::string_view Pipeline::Impl::place_to_wait(const SourceStream& stream) const {
  std::string_view name = graph.nodes[graph.batch_node].name;
  for (const ChainLink& link : stream.chain().links()) {
    if (link.ahead.rows > 0) name = link.name;
  }
  return name;
}

template <class Body>
void Pipeline::Impl::for_each_state(const Body& body) const {
  for (const GraphNode& node : graph.nodes) {
    attributed(*node.op, [&] {
      for (const auto& stream : graph.source_streams) {
        if (stream->name() == node.name) body(node.name, *stream);
      }
      for (const auto& stream : graph.transform_streams) {
        if (stream->name() == node.name) body(node.name, *stream);
      }
      if (node.row_buffer != nullptr) body(node.name, *node.row_buffer);
      if (node.batch_buffer != nullptr) body(node.name, *node.batch_buffer);
    });
  }
}

Pipeline::Pipeline(InputGraph graph, PipelineOptions options)
    : impl_(std::make_unique<Impl>(std::move(graph), std::move(options))) {}

Pipeline::~Pipeline() {
  // A task that the destructors help with must not wait for workers.
  if (impl_->graph.workers) cancel();
}

const RowSpec& Pipeline::rows() const { return impl_->graph.output().rows; }
int64_t Pipeline::batch_size() const { return impl_->graph.output().batch_size; }
const InputGraph& Pipeline::graph() const { return impl_->whole; }

RowBlock Pipeline::make_slot() const {
  try {
    RowBlock slot;
    slot.configure(rows(), batch_size(), impl_->options.reader);
    return slot;
  } catch (const InternalError& error) {
    const auto key = graph().batch_rows();
    if (!key) throw;
    throw InternalError(cat(key->path, ": a batch of ", batch_size(), " rows: ", error.message()), key->place,
                        cat("lower ", key->name));
  }
}

int64_t Pipeline::next(RowBlock& batch) {
  try {
    return impl_->next(batch);
  } catch (const IoError&) {
    // Whoever waited for workers when it was cancelled got none.
    if (impl_->graph.workers && cancelled()) return 0;
    throw;
  }
}
bool Pipeline::begins_batch() const { return impl_->begins; }
bool Pipeline::cancelled() const { return impl_->cancelled.load(); }

void Pipeline::cancel() noexcept {
  impl_->cancelled.store(true);
  if (impl_->graph.workers) impl_->graph.workers->stop();
  for (const auto& stream : impl_->graph.source_streams) stream->cancel();
}

Place Pipeline::place(const RowId& id) const { return impl_->graph.place(id); }

InputSummary Pipeline::summary() const {
  InputSummary out;
  summary(out);
  return out;
}

void Pipeline::summary(InputSummary& out) const {
  const GraphImpl& graph = impl_->graph;
  const InputSummary& counted = impl_->summary;
  out.rows = counted.rows;
  out.batches = counted.batches;
  out.passes = counted.passes;
  out.share = impl_->share();
  out.bytes = 0;
  for (Dropped& dropped : out.dropped) dropped.rows = 0;  // keeps the memory of the causes
  out.bad_rows = impl_->log.bad_rows();
  impl_->log.add_dropped(out.dropped);
  for (const auto& stream : graph.source_streams) {
    out.bytes += stream->bytes();
    out.bad_rows += stream->bad_rows();
    stream->add_dropped(out.dropped);
  }
  for (const auto& stream : graph.transform_streams) {
    out.bad_rows += stream->bad_rows();
    stream->add_dropped(out.dropped);
  }
  std::vector<Dropped>& by_buffers = impl_->dropped_by_buffers;
  by_buffers.clear();
  for (const GraphNode& node : graph.nodes) {
    attributed(*node.op, [&] {
      if (node.row_buffer != nullptr) node.row_buffer->add_dropped(by_buffers);
      if (node.batch_buffer != nullptr) node.batch_buffer->add_dropped(by_buffers);
    });
  }
  for (const Dropped& dropped : by_buffers) add_dropped_rows(out.dropped, dropped.cause, dropped.rows);
  std::erase_if(out.dropped, [](const Dropped& dropped) { return dropped.rows == 0; });
}

std::optional<double> Pipeline::share() const { return impl_->share(); }

InputStatistics Pipeline::statistics() const {
  const GraphImpl& graph = impl_->graph;
  InputStatistics out;
  const auto add = [&](const TransformChain& chain, const std::vector<TaskMemory::Work>& work, uint64_t blocked = 0) {
    for (size_t i = 0; i < work.size(); ++i) {
      out.ops.push_back({.name = chain.links()[i].name,
                         .busy_seconds = static_cast<double>(work[i].nanoseconds) * kNanosecond,
                         .blocked_seconds = static_cast<double>(blocked) * kNanosecond,
                         .rows = work[i].rows,
                         .bytes = work[i].bytes});
    }
  };
  for (const auto& stream : graph.source_streams) {
    const size_t source = out.ops.size();
    add(stream->chain(), stream->work(), stream->blocked_nanoseconds());
    out.ops[source].serial_seconds = static_cast<double>(stream->planning_nanoseconds()) * kNanosecond;
    out.ops[source].busy_seconds += out.ops[source].serial_seconds;
    out.second_tries += stream->second_tries();
  }
  for (const auto& stream : graph.transform_streams) add(stream->chain(), stream->work());
  for (const GraphNode& node : graph.nodes) {
    if (node.row_buffer == nullptr && node.batch_buffer == nullptr) continue;
    OpStatistics& op = out.ops.emplace_back();
    op.name = node.name;
    if (node.batch_buffer != nullptr) {
      op.busy_seconds = static_cast<double>(impl_->fill_nanoseconds) * kNanosecond;
      op.rows = impl_->filled_rows;
    }
  }
  add(impl_->chain, impl_->memory.done);
  for (const auto& stream : graph.source_streams) {
    const RowsHeld held = stream->held();
    OpStatistics& op = *std::ranges::find(out.ops, impl_->place_to_wait(*stream), &OpStatistics::name);
    op.held += held.now;
    op.mean_held = op.mean_held.value_or(0) + held.mean;
    op.capacity += static_cast<uint64_t>(stream->ahead_rows());
  }
  out.times = times();
  return out;
}

PipelineTimes Pipeline::times() const {
  return {.next_seconds = static_cast<double>(impl_->next_nanoseconds) * kNanosecond,
          .wait_seconds = static_cast<double>(impl_->waited()) * kNanosecond};
}

State Pipeline::save() const {
  State out;
  save(out);
  return out;
}

void Pipeline::save(State& out) const {
  const Impl& impl = *impl_;
  if (impl.options.pieces) throw InternalError("the state of an input cannot be saved if batches come in pieces");
  if (impl.cut_off) {
    throw CallError("the input's state cannot be saved: its last batch was cut off by an error or by cancel()", {},
                    "save between two batches");
  }
  out.clear();
  out.set_text("graph", impl.own_fingerprint);
  out.set("rows", impl.summary.rows);
  out.set("batches", impl.summary.batches);
  out.set("passes", impl.summary.passes);
  out.set("ended", impl.ended ? 1 : 0);
  impl.log.save(out.scope("notes"));
  State& ops = out.scope("ops");
  impl.for_each_state([&](const std::string& name, const auto& part) { part.save(ops.scope(name)); });
  for (const auto& stream : impl.graph.source_streams) {
    if (!stream->reads_compressed()) continue;
    std::vector<const State*> saved;
    impl.for_each_state([&](const std::string& name, const auto&) { saved.push_back(&ops.scope(name)); });
    stream->save_places(ops.scope(stream->name()), saved);
  }
}

void Pipeline::restore(const State& state) {
  Impl& impl = *impl_;
  if (impl.started) {
    throw CallError("the input's state can only be restored before the first batch", {},
                    "make another input of the same configuration");
  }
  const FloatMode mode;  // rows are read again, so numbers are parsed
  const std::string &own = impl.own_fingerprint, &other = state.text("graph");
  const std::string kept = lines_to_keep(impl.graph, own), other_kept = lines_to_keep(impl.graph, other);
  if (other_kept != kept) {
    throw DataError(cat("the input state was saved by another input: ", first_difference(kept, other_kept)), {},
                    "restore it with the configuration that saved it");
  }
  impl.summary.rows = state.count("rows");
  impl.summary.batches = state.count("batches");
  impl.summary.passes = state.count("passes");
  impl.ended = state.count("ended", 1) != 0 && other == own;  // with another length, there may be more rows now
  impl.log.restore(state.scope("notes"), impl.chain.links());
  const State& ops = state.scope("ops");
  impl.for_each_state([&](const std::string& name, auto& part) { part.restore(ops.scope(name)); });
}

}  // namespace millrace

// Op: one node of the input graph. Three kinds: Source, Transform, Buffer.
//
//   names -> text -> rows -> batches        the ports; a graph whose ports do not fit is a ConfigError before the start
//
// An author of an op never sees a thread: sources and buffers are called by one thread at a time and in sequence order,
// transforms are const and may run anywhere. docs/extending.md shows one of each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/random.h"
#include "millrace/core/registry.h"
#include "millrace/input/graph/chunk.h"
#include "millrace/input/graph/file_system.h"
#include "millrace/input/graph/row_block.h"
#include "millrace/input/graph/state.h"

namespace millrace {

enum class PortType : uint8_t { none, names, text, rows, batches };
MILLRACE_EXPORT std::string_view to_string(PortType type);

// How text is cut into records; who writes it and who reads it know the type that derives from this.
struct MILLRACE_EXPORT TextFormat {
  virtual ~TextFormat() = default;
  virtual std::string_view name() const = 0;  // "CSV"
  // Fields of every record where only their positions tell them apart; 0 where they have names, or none was seen.
  virtual int64_t nameless_fields() const { return 0; }

  bool operator==(const TextFormat&) const = default;
};

// How texts become values, for who writes values so that they read back.
class MILLRACE_EXPORT TextReader {
 public:
  virtual ~TextReader() = default;
  // Replaces `out` by what `text` becomes as value `element` of field `field`; of a ragged field, by all its values.
  // False: it is no such value.
  virtual bool read(std::string_view text, size_t field, size_t element, Varying& out) const = 0;
  // Texts that stand for no value of field `field`; the empty one does, too, and is not among them.
  virtual const std::vector<std::string>& missing(size_t field) const = 0;
};

// Where rows come from in text: value i of field f is read from column columns[f][i].
struct TextColumns {
  std::shared_ptr<const TextFormat> format;
  RowSpec rows;
  std::vector<std::vector<uint32_t>> columns;
  std::shared_ptr<const TextReader> reader = nullptr;
};

// What flows out of an op.
struct Port {
  PortType type = PortType::none;
  std::shared_ptr<const TextFormat> format;  // text
  RowSpec rows;                              // rows and batches
  int64_t batch_size = 0;                    // batches: the most rows of one
};

class RowSource;

// Given to an op when its graph is built, before anything runs.
struct BindArgs {
  std::span<const Port> inputs;
  std::string_view name;  // the op's, unique in the graph; the key of its random numbers
  uint64_t seed = 0;
  FileSystem* files = nullptr;
  uint32_t source_index = 0;                 // sources: their number, for RowId::source
  std::span<RowSource* const> sources = {};  // those before the op, by RowId::source
};

// What an op did so far; the time is that of all threads together.
struct OpStatistics {
  std::string name;
  double busy_seconds = 0;
  // Of a source and the transforms behind it: while none of their tasks ran, as there was no room for what they make.
  double blocked_seconds = 0;
  uint64_t rows = 0;   // given out
  uint64_t bytes = 0;  // of text, read or decoded
  // Ops that let decoded rows wait: how many wait now, how many did on average, and how many may.
  uint64_t held = 0;
  std::optional<double> mean_held = {};
  uint64_t capacity = 0;
};

class MILLRACE_EXPORT Op {
 public:
  virtual ~Op() = default;
  // The port that each input must have; for most ops one.
  virtual std::vector<PortType> inputs() const = 0;
  // Whether there may be any number of inputs from two on, each as the first of inputs(); the key `from` names them.
  virtual bool joins() const { return false; }
  // Looks at what comes in, opens and checks what must be there, and says what comes out. Once, before the start.
  // Throws ConfigError, MissingError, DataError; an error without a place gets the place of the op's configuration.
  virtual Port bind(const BindArgs& args) = 0;

  // The rest is called after bind().
  // Opens and checks everything that bind() leaves for later: every file, every header. Throws as bind() does.
  virtual void check_files() const {}
  // Upper bound of the bytes that this op holds itself (P5): a window, a cache. Chunks and slots are counted elsewhere.
  virtual uint64_t memory_bound() const { return 0; }
  // Files that the op writes while it runs; none may be an input file of the graph.
  virtual std::vector<std::string> written_files() const { return {}; }
  // Things that are allowed but unlikely to be meant: "capacity 79 raised to 133: ...".
  virtual std::vector<std::string> warnings() const { return {}; }
  // Adds what only the op knows; the graph has filled in the rest. Called by the thread that pulls rows.
  virtual void add_statistics(OpStatistics&) const {}
};

// How large one chunk of a source gets at most.
struct ChunkBound {
  uint64_t text_bytes = 0;
  uint64_t rows = 0;     // good ones
  uint64_t records = 0;  // good or bad
};

// What an op lets the stream before it do: see RowStream::set_ahead(), which the graph calls with it.
struct Ahead {
  int64_t rows = 0;
  int threads = 0;
};

// Which rows are wanted where an op divides them in two: those to train on, those held out, or all of them.
enum class Side : uint8_t { trained, held_out, all };

// What a field's values were before ops changed them, as far as it is known: value * scale + offset, one of each or one
// for each column; of a class number, where `texts` are given, its text.
struct FieldHistory {
  std::string field;  // its name, before what was undone so far
  std::vector<std::string> texts = {};
  std::vector<double> scale = {1}, offset = {0};
  bool complete = true;  // false: an op has changed it in a way that one field does not tell
};

class MILLRACE_EXPORT Transform : public Op {
 public:
  // Changes the chunk in place: text to rows, or rows to rows. Pure: no counters, logs or writes; what is to be told
  // goes into chunk.notes. Random numbers only by row id and pass. Memory that is worth keeping lies in chunk.work().
  //
  // A failure that belongs to a place in the data (a bad value, a file that cannot be opened) is given to chunk.fail().
  // A DataError that is thrown counts as one behind the rows made so far, where text comes in; where rows come in it
  // lacks its row, and is a bug. Any other exception (EIO, no memory, a bug) reaches the consumer at once.
  virtual void apply(Chunk& chunk) const = 0;

  // Told of each of its bad rows when the consumer passes it: serial, in row order, the one beyond the limit too (a
  // report file).
  virtual void report(const BadRow&) {}
  // A restored run goes on behind the first `reports` of them: a report file keeps those. Before the first report().
  virtual void resume_reports(uint64_t) {}
  // For an op that decodes text in columns: where its rows come from.
  virtual const TextColumns* text_columns() const { return nullptr; }
  // Upper bound of the bytes that apply() keeps in chunk.work() for each task.
  virtual uint64_t work_bound() const { return 0; }
  // What it lets the source before it do beyond what the batches need: a place to run ahead. Behind a batch, rows mean
  // batches.
  virtual Ahead ahead() const { return {}; }
  // Chooses the side that comes through, before bind(); without a call it is that of the training. False: the op
  // divides no rows. Whoever builds the graph decides, never the configuration.
  virtual bool choose_side(Side) { return false; }
  // The fields that it reads or makes, where its options alone tell. Absent: any text in its options may name one.
  virtual std::optional<std::vector<std::string>> concerned_fields() const { return {}; }
  // Goes back in the history of a field by what this op does to it. Needs no bind().
  virtual void undo(FieldHistory&) const {}
  // Upper bound of the bytes of a note that apply() attaches to a record, errors apart; 0 when it attaches none.
  virtual uint64_t note_bytes() const { return 0; }
};

// Where a source stands between two records. (Sources without files: `file_ordinal` 0, `offset` the next row's number.)
struct Position {
  uint32_t pass = 0;
  uint32_t file_ordinal = 0;  // how many files of the pass came before this one
  uint64_t offset = 0;        // byte offset of the next record
  uint64_t line = 1;          // its line

  bool operator==(const Position&) const = default;
};

// What gives units, one after another.
class MILLRACE_EXPORT Units {
 public:
  virtual ~Units() = default;
  // The next unit, or false behind the last.
  virtual bool next(Unit& unit) = 0;
  // Whether next() can answer at once, which it need not where data come over time (a pipe). While it cannot, `wake` is
  // called, by any thread, when it may.
  virtual bool ready() noexcept { return true; }
  virtual void set_wake(const std::function<void()>&) {}
  // Ends every wait for data soon, also that of a read that the units asked for; there are no more. From any thread.
  virtual void interrupt() noexcept {}
};

// What the sources of names and of rows have in common. next(), rewind() and seek() are called in turn; the others,
// which read what is constant after bind(), at any time and by any thread.
class MILLRACE_EXPORT Source : public Op, public Units {
 public:
  // The next unit, or false at the end of the data. unit.pass tells epochs apart; units never span two files or passes.
  // The units of a file follow one another without gaps; the first of a file, and the first after seek(), is exact.
  // Every pass has at least one unit, though it be empty. An exception is the error of the next row.
  bool next(Unit& unit) override = 0;
  // Begins again from the first pass, as run `run` (counted from 0): what `repeat` asks for.
  virtual void rewind(uint32_t run) = 0;
  // Makes next() go on at exactly `position`, whatever units were cut before.
  virtual void seek(const Position& position) = 0;
  // What restore must find unchanged (files with their sizes, row counts); check() throws DataError naming what
  // differs.
  virtual void save(State& state) const = 0;
  virtual void check(const State& state) const = 0;
  // The unit that holds exactly the record `id`, to read it again: exact, with its line. Throws DataError when there is
  // no such file.
  virtual Unit unit_of(const RowId& id) const = 0;
  // "dir/examples-03.csv:17" or "synthetic:18".
  virtual Place place(const RowId& id) const = 0;
  // Whether there is always another pass. Then a whole pass without a row is a DataError: it would never end.
  virtual bool endless() const { return false; }
  // Whether nobody can ask for its rows again: those of a callback.
  virtual bool comes_once() const { return false; }
  // Passes of one run, where they end: the passes of run r begin with r times as many.
  virtual uint32_t passes() const { return 1; }
};

// nothing -> names: which files to read, and in what order. Its units are whole files.
class MILLRACE_EXPORT NameSource : public Source {
 public:
  std::vector<PortType> inputs() const override { return {}; }
  // The files by their index, as matched.
  virtual std::vector<std::shared_ptr<const FileEntry>> files() const = 0;
};

// names or nothing -> text or rows. Its units are ranges of files, or of row numbers.
class MILLRACE_EXPORT RowSource : public Source {
 public:
  virtual ChunkBound chunk_bound() const = 0;
  // The transform that turns a unit into text or rows ("read" for csv_reader).
  virtual const Transform& producer() const = 0;
  // Set before bind(), and outlives this op; none for sources that take no names.
  void set_names(NameSource* names) { names_ = names; }
  NameSource* names() const { return names_; }
  // From how many files of the names one record each is taken in turn. With more than 1, the stream that does so cuts
  // files into ranges itself, at multiples of range_bytes(), and next() and seek() are not called.
  virtual int64_t readers() const { return 1; }
  virtual uint64_t range_bytes() const { return 0; }

 protected:
  NameSource* names_ = nullptr;
};

// Rows left out by name, with the cause: "last partial batch".
struct Dropped {
  std::string cause;
  uint64_t rows = 0;
};

// Rows in their final order, pulled by one thread: a stream of chunks, or a buffer.
class MILLRACE_EXPORT RowStream {
 public:
  virtual ~RowStream() = default;
  // The next rows, at least 1 and at most `at_most`; none at the end of the data. Valid until the next call.
  // Throws the error of the next row when that row cannot be had; calling again throws it again.
  virtual RowSpan pull(int64_t at_most) = 0;
  // Begins again as run `run`, another than before; run 0 gives once more what it gave first (`cache` asks for it).
  virtual void rewind(uint32_t run) = 0;
  // Whether rows of source `source` (RowId::source) come from here.
  virtual bool has_source(uint32_t source) const = 0;
  // Reads the record `id` again into row `row` of `block` (restoring a window). Throws DataError when there is no such
  // record, or it is not what it was.
  virtual void fetch(const RowId& id, RowBlock& block, int64_t row) = 0;
  // How many decoded rows may wait ahead of pull(), and how many tasks may decode at once (0: as many as the executor
  // has threads). Changes no order. Called once, before the start.
  virtual void set_ahead(int64_t rows, int threads) = 0;
  // Source::passes(), the most of what is read.
  virtual uint32_t passes() const = 0;
  // Where rows of several inputs come: in about how many rows there is one of the rarest input. 0: there is one input.
  virtual int64_t spread() const { return 0; }
  // Whether the rows that come now came before: they are read again, and what is counted, reported or printed of them
  // was. They are the same rows all the same.
  virtual void set_silent(bool silent) = 0;
  virtual void save(State& state) const = 0;
  virtual void restore(const State& state) = 0;
  virtual void add_dropped(std::vector<Dropped>&) const {}
};

// What a buffer may ask of, and tell to, whoever runs it.
struct BufferHost {
  std::function<Place(const RowId&)> place;     // where a row came from
  std::function<void(std::string_view)> print;  // a line for the log; may be empty
  // Whether the rows are wanted no more; an op that may pull for long without an input's source to end it asks. May be
  // empty.
  std::function<bool()> cancelled;
};

// rows -> rows, serial: decides which rows come and in what order.
class MILLRACE_EXPORT RowBuffer : public Op, public RowStream {
 public:
  std::vector<PortType> inputs() const override { return {PortType::rows}; }
  // Whether rows never end, by whether those of each input do not.
  virtual bool endless(const std::vector<bool>& inputs) const {
    return std::find(inputs.begin(), inputs.end(), true) != inputs.end();
  }
  // Whether it picks rows by their number in the data, so that a single pass over the same data needs it, too.
  virtual bool picks_by_number() const { return false; }
  // Set before the start; they outlive this op.
  void set_streams(std::vector<RowStream*> streams) { streams_ = std::move(streams); }
  void set_host(BufferHost host) { host_ = std::move(host); }

  // What most buffers want: everything goes to the input that it concerns, else to all; what may wait is shared out.
  void rewind(uint32_t run) override;
  bool has_source(uint32_t source) const override;
  void fetch(const RowId& id, RowBlock& block, int64_t row) override;
  void set_ahead(int64_t rows, int threads) override;
  uint32_t passes() const override;
  int64_t spread() const override;
  void set_silent(bool silent) override;

 protected:
  const BufferHost& host() const { return host_; }
  bool cancelled() const { return host_.cancelled && host_.cancelled(); }
  bool silent() const { return silent_; }
  size_t input_count() const { return streams_.size(); }
  RowStream& input(size_t index = 0) const { return *streams_[index]; }

 private:
  std::vector<RowStream*> streams_;
  BufferHost host_;
  bool silent_ = false;
};

// rows -> batches, serial: groups rows and writes them into memory that the consumer provides.
class MILLRACE_EXPORT BatchBuffer : public Op {
 public:
  std::vector<PortType> inputs() const override { return {PortType::rows}; }
  void set_stream(RowStream* stream) { stream_ = stream; }
  virtual Ahead ahead() const { return {}; }
  // Rows from which it draws; 0 where it keeps their order.
  virtual int64_t window() const { return 0; }

  // Replaces the contents of `batch`, which has room for the port's batch_size, and returns its number of rows; 0 at
  // the end of the data. Throws the error of a row that the batch cannot do without.
  virtual int64_t fill(RowBlock& batch) = 0;
  virtual void save(State& state) const = 0;
  virtual void restore(const State& state) = 0;
  virtual void add_dropped(std::vector<Dropped>&) const {}

 protected:
  RowStream& input() const { return *stream_; }

 private:
  RowStream* stream_ = nullptr;
};

using OpRegistry = Registry<Op>;

}  // namespace millrace

// Source: an op at the beginning of the graph, which gives units of work: whole files (NameSource), or ranges of files
// or of row numbers (RowSource). After them come base classes of such ops: IndexSource for rows that have only a
// number, FileSource for formats of files, RecordSource for files of records of one length. The rows of a program are
// memory_op() and callback_op().
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/chunk.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/input/transform.h"

namespace millrace {

class FileUnits;
class OpenFiles;

// How large one chunk of a source gets at most.
struct ChunkBound {
  uint64_t text_bytes = 0;
  uint64_t rows = 0;     // good ones
  uint64_t records = 0;  // good or bad
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
  // Whether next() can answer at once. It may not be able to if data come over time (a pipe). Then any thread calls
  // `wake` when next() may be able to answer.
  virtual bool ready() noexcept { return true; }
  virtual void set_wake(const std::function<void()>&) {}
  // Ends every wait for data soon, also that of a read that the units asked for; there are no more. From any thread.
  virtual void interrupt() noexcept {}
};

// What the sources of names and of rows have in common. next(), rewind() and seek() are called in turn; the others,
// which read what is constant after bind(), at any time and by any thread.
class MILLRACE_EXPORT Source : public Op, public Units {
 public:
  std::vector<PortType> inputs() const override { return {}; }
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
  // Whether nobody can ask for its rows again: those of a pipe, or of a callback.
  virtual bool comes_once() const { return false; }
  // The files that its rows come from, by RowId::file; none of a source without files.
  virtual std::vector<std::shared_ptr<const FileEntry>> files() const { return {}; }
  // Passes of one run, where they end: the passes of run r begin with r times as many.
  virtual uint32_t passes() const { return 1; }
};

// nothing -> names: which files to read, and in what order. Its units are whole files.
class MILLRACE_EXPORT NameSource : public Source {
 public:
  std::vector<std::shared_ptr<const FileEntry>> files() const override = 0;
};

// names or nothing -> text or rows. Its units are ranges of files (FileSource), or of row numbers (IndexSource).
class MILLRACE_EXPORT RowSource : public Source {
 public:
  virtual ChunkBound chunk_bound() const = 0;
  // The transform that turns a unit into text or rows ("read" for csv_reader).
  virtual const Transform& producer() const = 0;
};

// How many rows there are. A pass goes through all of them once; a run has so many passes, or endlessly many.
struct IndexRange {
  uint64_t rows = UINT64_MAX;          // of a pass; UINT64_MAX: they never end
  uint64_t unit_rows = 1;              // of a unit, at most
  std::optional<uint32_t> passes = 1;  // of a run; none: endlessly many
};

// What the sources of rows that have only a number share: random ones, rows in memory. Its units are ranges of numbers.
class MILLRACE_EXPORT IndexSource : public RowSource {
 public:
  // `place`: what a place names: "synthetic". `producer` turns a unit into rows; it is bound with the source.
  IndexSource(std::string place, IndexRange range, std::unique_ptr<Transform> producer);

  Port bind(const BindArgs& args) override;
  const Transform& producer() const override { return *producer_; }
  bool next(Unit& unit) override;
  ChunkBound chunk_bound() const override { return {0, range_.unit_rows, range_.unit_rows}; }
  void rewind(uint32_t run) override;
  void seek(const Position& position) override;
  void save(State& state) const override { state.set("rows", range_.rows); }
  void check(const State& state) const override;
  Unit unit_of(const RowId& id) const override { return unit(id.offset, 1, id.pass); }
  Place place(const RowId& id) const override { return {place_, static_cast<int64_t>(id.line)}; }
  bool endless() const override { return range_.rows == UINT64_MAX || !range_.passes; }
  uint32_t passes() const override { return range_.passes.value_or(1); }

  // The id of row `number`, which is in `unit`.
  static RowId id_of(const Unit& unit, uint64_t number) {
    return {.source = unit.source, .pass = unit.pass, .offset = number, .line = number + 1, .next_line = number + 2};
  }

 private:
  Unit unit(uint64_t begin, uint64_t count, uint32_t pass) const;

  std::string place_;
  const IndexRange range_;
  const std::unique_ptr<Transform> producer_;
  uint32_t source_ = 0;
  uint64_t pass_ = 0, end_pass_ = 0;
  uint64_t at_ = 0;    // the next row
  bool fresh_ = true;  // no unit was made of this pass: there is one, though it be empty
};

// What formats of files share. It stands between the names of files and a format, which says how a file is
// cut into units and what becomes of a unit:
//
//   class Lines final : public FileSource {
//    public:
//     struct Options { .. };
//     explicit Lines(const Options&) : FileSource({.unit_bytes = 262144}) {}
//     Port open(const BindArgs& args) override;         // looks at the files, and says what comes out
//     ChunkBound chunk_bound() const override;
//     bool cut(Unit& unit) const override;              // not where units are ranges of bytes
//     void read(Chunk& chunk) const override;           // a unit becomes text or rows
//   };
//
// Order, epochs, shards, places and saved states are those of the names. Pipes come in parts, which are units as they
// are.
class MILLRACE_EXPORT FileSource : public RowSource {
 public:
  struct Settings {
    uint64_t unit_bytes = 262144;  // about what one task reads; a part of a pipe has no more, but for longer lines
    int64_t readers = 1;           // more: one record each is taken, in turn, of so many files. Of text only.
  };
  explicit FileSource(const Settings& settings);
  ~FileSource() override;

  // A format writes these.

  // The end of bind(): looks at files(), checks what must be right before the start, and says what comes out.
  virtual Port open(const BindArgs& args) = 0;
  // Cuts a unit: `unit` is what is left of its file, from unit.begin on; sets unit.end, and returns whether the file
  // goes on behind it. A unit that does not begin a file is not exact, unless this says so and gives its line. By
  // default: ranges that end at multiples of unit_bytes. Not asked of a pipe. Constant; any thread may call it.
  virtual bool cut(Unit& unit) const;
  // Turns chunk.unit into what open() said. As Transform::apply().
  virtual void read(Chunk& chunk) const = 0;

  // The rest is done here.
  std::vector<PortType> inputs() const override { return {PortType::names}; }
  Port bind(const BindArgs& args) final;
  bool next(Unit& unit) override;
  bool ready() noexcept override;
  void set_wake(const std::function<void()>& wake) override;
  void interrupt() noexcept override;
  void rewind(uint32_t run) override;
  void seek(const Position& position) override;
  void save(State& state) const override { names_->save(state); }
  void check(const State& state) const override { names_->check(state); }
  Unit unit_of(const RowId& id) const override;
  Place place(const RowId& id) const override { return names_->place(id); }
  bool endless() const override { return names_->endless(); }
  bool comes_once() const override { return has_streams(); }
  uint32_t passes() const override { return names_->passes(); }
  std::vector<std::shared_ptr<const FileEntry>> files() const override { return files_; }
  uint64_t memory_bound() const override;
  const Transform& producer() const override;

  // For the stream that reads several files at a time: it cuts them itself, and calls neither next() nor seek().
  int64_t readers() const { return settings_.readers; }
  NameSource& names() const { return *names_; }

 protected:
  uint64_t unit_bytes() const { return settings_.unit_bytes; }
  // Whether some of the files are pipes.
  bool has_streams() const;
  // Opens the file where it is not open yet. Throws IoError, also when the file is smaller than it was when it was
  // matched. REQUIRES: bind() was called.
  OpenedFile open_file(const FileEntry& file) const;

 private:
  class Producer;

  bool start_file(const Position& position = {});
  template <class Body>
  void for_each_stream(const Body& body) const;

  const Settings settings_;
  const std::unique_ptr<Producer> producer_;
  NameSource* names_ = nullptr;
  std::vector<std::shared_ptr<const FileEntry>> files_;
  std::unique_ptr<OpenFiles> open_files_;
  uint32_t source_ = 0;
  std::unique_ptr<FileUnits> units_;  // of the file that is being cut
  std::exception_ptr failure_;        // of the names, that ready() met: the error of the next row
};

struct RecordFormat {
  RowSpec rows = {};  // what comes out for a record
  uint64_t record_bytes = 1;
  uint64_t header_bytes = 0;      // to pass at the start of every file
  uint64_t chunk_bytes = 262144;  // that one task reads, about; at least a record
};

// What readers of binary files share whose records all have the same length, one behind the other.
//
//   class Points final : public RecordSource {      // of a byte and two floats
//    public:
//     struct Options { .. };
//     explicit Points(const Options&) : RecordSource({.rows = kRows, .record_bytes = 9}) {}
//     void decode(const std::byte* record, RowBlock& rows, int64_t row) const override { .. }
//   };
class MILLRACE_EXPORT RecordSource : public FileSource {
 public:
  // REQUIRES: record_bytes is at least 1 and less than 2^32.
  explicit RecordSource(RecordFormat format);

  // Writes the values of the record_bytes at `record` into row `row` of `rows`. Called on any thread, for several
  // records at once: constant and without side effects. A DataError gets the record's place.
  virtual void decode(const std::byte* record, RowBlock& rows, int64_t row) const = 0;

  // Throws ConfigError for a pipe; DataError for a file that is no header and whole records.
  Port open(const BindArgs& args) override;
  // A record's line is its number, counted from 1.
  bool cut(Unit& unit) const override;
  void read(Chunk& chunk) const override;
  ChunkBound chunk_bound() const override;

 private:
  void check_size(const FileEntry& file) const;
  uint64_t line_at(uint64_t offset) const { return (offset - format_.header_bytes) / format_.record_bytes + 1; }

  const RecordFormat format_;
  const SharedRowSpec rows_;
};

// An op of a program's own copy of the catalog that gives the rows of a block, which are read and never copied as a
// whole; they must not change while a graph uses them. Their ids are ignored.
//
//   RowBlock rows;
//   rows.configure({{{"features", DType::f32, Shape{4}}, {"label", DType::i32, Shape{1}}}}, 150);
//   rows.resize(150);                                              // then rows.row<float>(0, 17)[2] = 1.5f; ...
//   Catalog catalog = Catalog::builtin();
//   catalog.add_op("memory", memory_op(std::make_shared<const RowBlock>(std::move(rows))));
//   Trainer trainer = Trainer::from_file("memory.yaml", {}, catalog);     // input: [memory: {epochs: 10}, ..]
MILLRACE_EXPORT OpRegistry::Entry memory_op(std::shared_ptr<const RowBlock> rows);

struct CallbackRows {
  RowSpec rows;
  // Writes the next rows of pass `pass`, counted from 0, to the front of the block, which has room for
  // block.capacity(), and says with block.resize() how many there are: none ends the pass. The graph sets their ids.
  // Called by one thread at a time, whatever graphs ask, but not always by the same one, and ahead of the rows that a
  // step needs. The passes of a graph come in order, except that an op `cache` may ask for one again. An exception is
  // thrown when its first row would be used; if it is not an Error, it becomes an InternalError with its text. Whoever
  // stops a training waits until `fill` returns.
  std::function<void(RowBlock& block, uint32_t pass)> fill;
  int64_t rows_at_once = 256;  // the room of a block
};

// The same of rows that the program makes when they are asked for.
//
//   catalog.add_op("sensor", callback_op({.rows = {{{"features", DType::f32, Shape{4}}}},
//                                         .fill = [&](RowBlock& block, uint32_t pass) { ... }}));
//
// A state of a graph that reads such rows cannot be saved: nobody could ask for them again.
MILLRACE_EXPORT OpRegistry::Entry callback_op(CallbackRows callback);

}  // namespace millrace

// Source: an op at the beginning of the graph, which gives units of work: whole files (NameSource), or ranges of files
// or of row numbers (RowSource). After these come base classes for ops: IndexSource for rows that have only a number,
// FileSource for file formats, RecordSource for files whose records all have one length. memory_op() and callback_op()
// make ops that give a program's own rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/chunk.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/input/transform.h"

namespace millrace {

class CompressedFiles;
class FileUnits;
class OpenFiles;

// The largest size of one chunk of a source.
struct ChunkBound {
  uint64_t text_bytes = 0;
  uint64_t rows = 0;         // good ones
  uint64_t records = 0;      // good or bad
  uint64_t range_bytes = 0;  // text: its records start within so many bytes; 0: that is not known
};

// Where a source stands between two records. (For a source without files, `file_ordinal` is 0 and `offset` is the
// number of the next row.)
struct Position {
  uint32_t pass = 0;
  uint32_t file_ordinal = 0;  // how many files of the pass came before this one
  uint64_t offset = 0;        // byte offset of the next record
  uint64_t line = 1;          // its line

  bool operator==(const Position&) const = default;
};

// An object that gives units, one after another.
class MILLRACE_EXPORT Units {
 public:
  virtual ~Units() = default;
  // The next unit, or false after the last.
  virtual bool next(Unit& unit) = 0;
  // Whether next() can answer at once. This can be false if data come over time (a pipe). If there is a `wake`, ready()
  // is then asked again only after `wake` was called, by any thread, because next() may be able to answer.
  virtual bool ready() noexcept { return true; }
  virtual void set_wake(const std::function<void()>&) {}
  // Soon ends every wait for data, also the wait of a read that the units asked for. No units come after it. Any thread
  // may call it.
  virtual void interrupt() noexcept {}
};

// The common part of sources of names and sources of rows. next(), ready(), rewind() and seek() are called one at a
// time. The other functions read only what is constant after bind(), so any thread may call them at any time.
class MILLRACE_EXPORT Source : public Op, public Units {
 public:
  std::vector<PortType> inputs() const override { return {}; }
  // The next unit, or false at the end of the data. unit.pass tells epochs apart; units never span two files or passes.
  // The units of a file follow one another without gaps. The first unit of a file, and the first after seek(), is
  // exact. Every pass has at least one unit, which may be empty. An exception counts as the error of the next row.
  bool next(Unit& unit) override = 0;
  // Begins again from the first pass, as run `run` (counted from 0). `repeat` asks for this.
  virtual void rewind(uint32_t run) = 0;
  // Makes next() go on at exactly `position`, however the units were cut before. Throws DataError if there is no such
  // place.
  virtual void seek(const Position& position) = 0;
  // Saves what must be unchanged when the state is restored (files with their sizes, row counts). check() throws a
  // DataError that names what differs.
  virtual void save(State& state) const = 0;
  virtual void check(const State& state) const = 0;
  // An exact unit, with its line, that holds only the record `id`: it is used to read that record again. Throws
  // DataError if there is no such place.
  virtual Unit unit_of(const RowId& id) const = 0;
  // "dir/examples-03.csv:17" or "synthetic:18".
  virtual Place place(const RowId& id) const = 0;
  // Whether there is always another pass. If so, a whole pass without a row is a DataError, because reading would never
  // end.
  virtual bool endless() const { return false; }
  // Whether its rows cannot be asked for again, as with a pipe or a callback.
  virtual bool comes_once() const { return false; }
  // The files that its rows come from, by RowId::file; empty for a source without files. No output is written over
  // them.
  virtual std::vector<std::shared_ptr<const FileEntry>> files() const { return {}; }
  // How many passes one run has, if they end. The first pass of run r has the number r * passes().
  virtual uint32_t passes() const { return 1; }
  // About how much a pass has: bytes of its files, or rows of a source without files. Absent if that is not known, or
  // if a pass never ends.
  virtual std::optional<uint64_t> pass_size() const { return {}; }
};

// nothing -> names: which files to read, and in what order. Its units are whole files.
class MILLRACE_EXPORT NameSource : public Source {
 public:
  std::vector<std::shared_ptr<const FileEntry>> files() const override = 0;
};

// Which rows an op keeps, for the source right before it: the source need not read the others.
struct RowCondition {
  std::string field;  // it decides
  std::string cause;  // the op's name; the source tells of rows that it leaves out as the op would (Note::dropped)
  // Whether a row may be kept whose value lies between the two, or is one of them. They are as the field has them.
  std::function<bool(const Varying& least, const Varying& greatest)> may_keep;
};

// names or nothing -> text or rows. Its units are ranges of files (FileSource), or of row numbers (IndexSource).
class MILLRACE_EXPORT RowSource : public Source {
 public:
  virtual ChunkBound chunk_bound() const = 0;
  // The transform that turns a unit into text or rows ("read" for csv_reader).
  virtual const Transform& producer() const = 0;
  // The same transform, if it has to be told of the bad rows that it leaves out.
  virtual Transform* reporter() { return nullptr; }
  // Called after bind(), at most once: only rows that meet the condition are needed.
  virtual void leave_out_others(RowCondition) {}
  // The columns that a file says it has, for programs that write configurations: their names, and what is in those that
  // no field of texts can hold. It may be asked before bind(). Throws as bind() does.
  struct Column {
    std::string name, refused;
  };
  virtual std::vector<Column> columns_of(const File&) const { return {}; }
};

// How many rows and passes there are. A pass goes through all rows once; a run has `passes` passes.
struct IndexRange {
  uint64_t rows = UINT64_MAX;          // in a pass; UINT64_MAX: a pass never ends
  uint64_t unit_rows = 1;              // in a unit, at most
  std::optional<uint32_t> passes = 1;  // in a run; absent: the run never ends
};

// A base class for sources of rows that have only a number, such as random rows or rows in memory. Its units are ranges
// of numbers.
class MILLRACE_EXPORT IndexSource : public RowSource {
 public:
  // `place` stands in the places of its rows, before the row's number: "synthetic" for "synthetic:18". `producer` turns
  // a unit into rows; it is bound together with the source.
  IndexSource(std::string place, IndexRange range, std::unique_ptr<Transform> producer);

  Port bind(const BindArgs& args) override;
  const Transform& producer() const override { return *producer_; }
  bool next(Unit& unit) override;
  ChunkBound chunk_bound() const override { return {0, range_.unit_rows, range_.unit_rows}; }
  void rewind(uint32_t run) override;
  void seek(const Position& position) override;
  void save(State& state) const override { state.set("rows", range_.rows); }
  void check(const State& state) const override;
  Unit unit_of(const RowId& id) const override;
  Place place(const RowId& id) const override { return {place_, static_cast<int64_t>(id.line)}; }
  bool endless() const override { return range_.rows == UINT64_MAX || !range_.passes; }
  uint32_t passes() const override { return range_.passes.value_or(1); }
  std::optional<uint64_t> pass_size() const override;

  // The id of row `number`, which is in `unit`. A derived source may give its rows in another order than that of their
  // numbers; its seek() and unit_of() then turn the number of a row into its place in that order.
  static RowId id_of(const Unit& unit, uint64_t number) {
    return {.source = unit.source, .pass = unit.pass, .offset = number, .line = number + 1, .next_line = number + 2};
  }

 protected:
  // For a source that counts its rows when it is bound.
  void set_rows(uint64_t rows, uint64_t unit_rows) {
    range_.rows = rows;
    range_.unit_rows = unit_rows;
  }

 private:
  Unit unit(uint64_t begin, uint64_t count, uint32_t pass) const;
  DataError no_row(uint64_t number) const;

  std::string place_;
  IndexRange range_;
  const std::unique_ptr<Transform> producer_;
  uint32_t source_ = 0;
  uint64_t pass_ = 0, end_pass_ = 0;
  uint64_t at_ = 0;    // the next row
  bool fresh_ = true;  // no unit of this pass was made yet; every pass has one, even if it is empty
};

// How many bytes the records of a text may have.
struct TextRecords {
  uint64_t longest = 0, shortest = 1;
  uint64_t shortest_bad = 1;
};

// A base class for file formats. It takes the names of files. The format, which derives from it, says how a file is cut
// into units and what is made from a unit:
//
//   class Lines final : public FileSource {
//    public:
//     struct Options { .. };
//     explicit Lines(const Options&) : FileSource({.unit_bytes = 262144}) {}
//     Port open(const BindArgs& args) override;         // looks at the files, and says what comes out
//     ChunkBound chunk_bound() const override;
//     bool cut(Unit& unit) const override;              // not needed if units are ranges of bytes
//     void read(Chunk& chunk) const override;           // a unit becomes text or rows
//   };
//
// The source of the names decides order, epochs, shards, places and saved states: an op before it, or one that the
// format brings itself. A pipe comes in parts, and each part is a unit as it is.
class MILLRACE_EXPORT FileSource : public RowSource {
 public:
  struct Settings {
    uint64_t unit_bytes = 262144;  // about what one task reads; a part of a pipe has no more, unless a line is longer
    int64_t readers = 1;           // more than 1: takes one record each from this many files, in turn; text only
  };
  // With `own_names` no op names its files: the graph begins with it. It binds these names, under its own name.
  explicit FileSource(const Settings& settings, std::unique_ptr<NameSource> own_names = nullptr);
  ~FileSource() override;

  // A format implements these.

  // The end of bind(): looks at files(), checks what must be right before the start, and says what comes out.
  virtual Port open(const BindArgs& args) = 0;
  // Cuts the next unit from a file. `unit` comes in as the rest of the file, from unit.begin on. cut() sets unit.end,
  // and returns whether the file goes on after it. A unit that does not begin a file is not exact, unless cut() says so
  // and gives its line. The default cuts at multiples of unit_bytes. Not called for a pipe. Constant; any thread may
  // call it.
  virtual bool cut(Unit& unit) const;
  // Where the offsets in a file end: units, rows and saved states count up to it. The default is the file's size, so
  // offsets are bytes; of a compressed file it is the size of its text, which may not be known yet. A format may count
  // rows instead. Asked after open(), and never by a task.
  virtual uint64_t end_of(const FileEntry& file) const;
  // Turns chunk.unit into what open() said. The rules of Transform::apply() hold.
  virtual void read(Chunk& chunk) const = 0;

  // FileSource implements the rest.
  std::vector<PortType> inputs() const override;
  Port bind(const BindArgs& args) final;
  bool next(Unit& unit) override;
  bool ready() noexcept override;
  void set_wake(const std::function<void()>& wake) override;
  void interrupt() noexcept override;
  void rewind(uint32_t run) override;
  void seek(const Position& position) override;
  void save(State& state) const override {
    attributed(*names_, [&] { names_->save(state); });
  }
  void check(const State& state) const override {
    attributed(*names_, [&] { names_->check(state); });
  }
  Unit unit_of(const RowId& id) const override;
  Place place(const RowId& id) const override {
    return attributed(*names_, [&] { return names_->place(id); });
  }
  bool endless() const override { return attributed(*names_, &NameSource::endless); }
  bool comes_once() const override { return has_streams(); }
  uint32_t passes() const override { return attributed(*names_, &NameSource::passes); }
  std::optional<uint64_t> pass_size() const override { return attributed(*names_, &NameSource::pass_size); }
  std::vector<std::shared_ptr<const FileEntry>> files() const override { return files_; }
  uint64_t memory_bound() const override;
  const Transform& producer() const override;

  // Lets a task read half as much, which changes no result. Returns false if that is little already. REQUIRES: it is
  // bound, gives text, and next() was not called yet.
  bool halve_units();
  uint64_t unit_bytes() const { return settings_.unit_bytes; }

  // For the stream that reads several files at a time. That stream cuts the files itself, and calls neither next() nor
  // seek().
  int64_t readers() const { return settings_.readers; }
  NameSource& names() const { return *names_; }
  // The files that are compressed; null if the format does not read them.
  CompressedFiles* compressed() const { return compressed_.get(); }
  // How many bytes of the file, as pass_size() counts, lie before `offset`.
  uint64_t passed(const FileEntry& file, uint64_t offset) const;

 protected:
  // From now on, what is compressed by gzip or zstd is read as the text in it. Called in open(), first. With `index`,
  // what helps to read a file again from its middle is kept in a hidden file beside it.
  void read_compressed(bool index = false);
  // Whether some of the files are pipes.
  bool has_streams() const;
  // Whether the file is compressed, and read as the text in it. Throws as open_file() does, and IoError if its first
  // bytes cannot be read.
  bool is_compressed(const FileEntry& file) const;
  // Opens the file if it is not open yet. Throws IoError, also if the file is smaller than it was when it was matched;
  // ConfigError for a compressed file if the build has no library for it. A file is known by its index. May be called
  // in open() and later.
  OpenedFile open_file(const FileEntry& file) const;
  // The same, to read a unit from where its part begins.
  OpenedFile open_unit(const Unit& unit) const;
  // For formats of text. The first calls read() for the start of every file, and throws the error that it notes, if
  // any. The second bounds the chunks.
  void check_starts() const;
  ChunkBound bound_of_text(const TextRecords& records) const;
  Unit start_of(const std::shared_ptr<const FileEntry>& file) const;
  // The bytes of the largest range in any file that is not compressed.
  uint64_t range_bytes() const { return std::min(largest_file_, settings_.unit_bytes); }

 private:
  class Producer;

  bool start_file();
  OpenedFile open_part(const FileEntry& file, const StreamPart* of_unit) const;
  template <class Body>
  void for_each_stream(const Body& body) const;

  Settings settings_;
  const std::unique_ptr<Producer> producer_;
  const std::unique_ptr<NameSource> own_names_;
  NameSource* names_ = nullptr;
  std::vector<std::shared_ptr<const FileEntry>> files_;
  FileSystem* file_system_ = nullptr;
  std::unique_ptr<OpenFiles> open_files_;
  std::unique_ptr<CompressedFiles> compressed_;
  uint32_t source_ = 0;
  std::unique_ptr<FileUnits> units_;  // the units of the file that is being cut
  std::exception_ptr failure_;        // thrown when ready() asked the names; it is the error of the next row
  uint64_t largest_file_ = 0;         // of those that are not compressed
};

struct RecordFormat {
  RowSpec rows = {};  // the row that a record becomes
  uint64_t record_bytes = 1;
  uint64_t header_bytes = 0;      // to skip at the start of every file
  uint64_t chunk_bytes = 262144;  // about what one task reads; at least one record
};

// A base class for readers of binary files whose records all have the same length and follow one another.
//
//   class Points final : public RecordSource {      // a record is a byte and two floats
//    public:
//     struct Options { .. };
//     explicit Points(const Options&) : RecordSource({.rows = kRows, .record_bytes = 9}) {}
//     void decode(const std::byte* record, RowBlock& rows, int64_t row) const override { .. }
//   };
class MILLRACE_EXPORT RecordSource : public FileSource {
 public:
  // Throws ConfigError if record_bytes is 0, or 2^32 or more.
  explicit RecordSource(RecordFormat format);

  // Reads the record_bytes bytes at `record`, and writes their values into row `row` of `rows`. Called on any thread,
  // for several records at once, so it must be constant and without side effects. A DataError gets the record's place.
  virtual void decode(const std::byte* record, RowBlock& rows, int64_t row) const = 0;

  // Throws ConfigError for a pipe; DataError for a file that does not consist of a header and whole records.
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

// An op that gives the rows of a block; a program adds it to its own copy of the catalog. The block is read in place
// and is never copied as a whole. It must not change while a graph uses it. The ids of its rows are ignored. A text
// that is not set is empty. Throws ShapeError if a row has texts, but not as many as their field has columns.
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
  // Writes the next rows of pass `pass`, counted from 0, to the front of the block, which has room for block.capacity()
  // rows, and says with block.resize() how many there are: 0 ends the pass. The graph sets their ids. A text that is
  // not set is empty. It is called by one thread at a time, even if several graphs ask, but not always by the same
  // thread, and it is called before the step needs the rows. The passes of a graph come in order, except that an op
  // `cache` may ask for a pass again. If `fill` throws, the exception is thrown again when the first of its rows would
  // be used; if it is not an Error, it becomes an InternalError with its text. It may stop the training; whoever stops
  // a training waits until `fill` returns.
  std::function<void(RowBlock& block, uint32_t pass)> fill;
  int64_t rows_at_once = 256;  // the capacity of a block
};

// An op that gives rows which the program makes when they are asked for.
//
//   catalog.add_op("sensor", callback_op({.rows = {{{"features", DType::f32, Shape{4}}}},
//                                         .fill = [&](RowBlock& block, uint32_t pass) { ... }}));
//
// The state of a graph that reads such rows cannot be saved, because the rows cannot be asked for again.
MILLRACE_EXPORT OpRegistry::Entry callback_op(CallbackRows callback);

}  // namespace millrace

// Source: an op at the beginning of the graph, which gives units of work: whole files (NameSource), or ranges of files
// or of row numbers (RowSource).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/chunk.h"
#include "millrace/input/rows/state.h"
#include "millrace/input/transform.h"

namespace millrace {

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

}  // namespace millrace

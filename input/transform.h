// Transform: an op that changes chunks, text to rows or rows to rows, on any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/chunk.h"

namespace millrace {

// How to get back the values that a field had before ops changed them, as far as that is known: value * scale + offset,
// with one scale and offset, or one for each column. If `texts` are given, a value is a class number and stands for its
// text.
struct FieldHistory {
  std::string field;  // its name, before what was undone so far
  std::vector<std::string> texts = {};
  std::vector<double> scale = {1}, offset = {0};
  bool complete = true;  // false: an op has changed it in a way that one field does not tell
};

class MILLRACE_EXPORT Transform : public Op {
 public:
  std::vector<PortType> inputs() const override { return {PortType::rows}; }
  // By default the rows look behind it as before.
  Port bind(const BindArgs& args) override { return args.inputs.front(); }
  // Changes the chunk in place: text to rows, or rows to rows. Pure: no counters, logs or writes; what is to be told
  // goes into chunk.notes. Random numbers only by row id and pass. Memory that is worth keeping lies in chunk.work().
  //
  // Give a failure that belongs to a place in the data (a bad value, a file that cannot be opened) to chunk.fail(). If
  // text comes in, a DataError that is thrown counts as a failure after the rows made so far. If rows come in, a thrown
  // DataError lacks its row, and is a bug. Any other exception (EIO, no memory, a bug) reaches the consumer at once.
  virtual void apply(Chunk& chunk) const = 0;

  // Called for each of its bad rows when the consumer passes that row: one call at a time, in row order, also for the
  // row that exceeds the limit. For a report file.
  virtual void report(const BadRow&) {}
  // Called before the first report(). A restored run goes on after the first `reports` reports, which a report file
  // keeps.
  virtual void resume_reports(uint64_t) {}
  // Upper bound of the bytes that apply() keeps in chunk.work() for each task.
  virtual uint64_t work_bound() const { return 0; }
  // What it lets the source before it do beyond what the batches need: a place to run ahead. Behind a batch, rows mean
  // batches.
  virtual Ahead ahead() const { return {}; }
  // The fields that it reads or makes, but for those of an option that is used as OptionUse::fields. Absent: it may
  // read every field that is there.
  virtual std::optional<std::vector<std::string>> concerned_fields() const { return {}; }
  // Goes back in the history of a field by what this op does to it. Needs no bind().
  virtual void undo(FieldHistory&) const {}
  // Upper bound of the bytes of a note that apply() attaches to a record, errors apart; 0 when it attaches none.
  virtual uint64_t note_bytes() const { return 0; }
};

}  // namespace millrace

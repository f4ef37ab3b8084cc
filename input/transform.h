// Transform: an op that changes chunks, text to rows or rows to rows, on any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/chunk.h"

namespace millrace {

class OnnxRows;

class MILLRACE_EXPORT Transform : public Op {
 public:
  std::vector<PortType> inputs() const override { return {PortType::rows}; }
  // By default the rows come out with the same fields.
  Port bind(const BindArgs& args) override { return args.inputs.front(); }
  // Changes the chunk in place: text to rows, or rows to rows. Pure: no counters, logs or writes; whatever is to be
  // reported goes into chunk.notes. Random numbers depend only on row id and pass. Memory that is worth keeping lies in
  // chunk.work().
  //
  // Give a failure that belongs to a place in the data (a bad value, a file that cannot be opened) to chunk.fail(). If
  // text comes in, a thrown DataError counts as a failure after the rows made so far. If rows come in, a thrown
  // DataError is a bug, because it does not say which row is at fault. Any other exception (EIO, no memory, a bug)
  // reaches the consumer at once.
  virtual void apply(Chunk& chunk) const = 0;

  // Called for each bad row of this op when the consumer passes that row: one call at a time, in row order, also for
  // the row that exceeds the limit. Meant for a report file.
  virtual void report(const BadRow&) {}
  // Called when a state is restored, before the first report(), with the number of reports made so far. The run goes on
  // after these, and a report file keeps them.
  virtual void resume_reports(uint64_t) {}
  // Upper bound of the bytes that apply() keeps in chunk.work() for each task.
  virtual uint64_t work_bound() const { return 0; }
  // How far it lets the source before it run ahead, beyond what the batches need. After a batch op, Ahead::rows counts
  // batches.
  virtual Ahead ahead() const { return {}; }
  // The fields that it reads or makes, except those that an option used as OptionUse::fields names. Absent: it may read
  // every field.
  virtual std::optional<std::vector<std::string>> concerned_fields() const { return {}; }
  // How the option with the use OptionUse::fields describes a field that holds `columns` of the text unchanged, one
  // text for each column. A column is given by its name in the header, or by its number from 0. No value: the op makes
  // no such fields.
  virtual std::optional<Spec> texts_of(Spec /*columns*/) const { return {}; }
  // A transform for rows that a program gives in place of rows that this op makes from text: it does to their values
  // what this op does to values in text. Null: nothing. Needs no bind().
  virtual std::unique_ptr<Transform> for_given_rows() const { return nullptr; }
  // The same transform for text that has only the columns which this op reads. `names` receives the names of these, in
  // the order of that text; a column without a name gets its number. Null: the op reads no columns of text. Needs no
  // bind().
  virtual std::unique_ptr<Transform> for_named_columns(std::vector<std::string>& /*names*/) const { return nullptr; }
  // Upper bound of the bytes of a note that apply() attaches to a record, not counting errors; 0 if it attaches none.
  virtual uint64_t note_bytes() const { return 0; }
  // How many bytes a record has at least that this op, which decodes text, makes a row of; 0: that is not known. It
  // bounds the rows of a chunk.
  virtual uint64_t least_record_bytes() const { return 0; }
  // Adds what the op does to a row to an ONNX graph (onnx_rows.h), after bind(). An op that decodes text is asked
  // without bind(), to make inputs; those that it does not make are the fields as they are. Throws ConfigError if ONNX
  // cannot express the op.
  virtual void to_onnx(OnnxRows& /*rows*/) const {
    if (inputs().front() == PortType::rows) throw ConfigError("it cannot be written as ONNX");
  }
};

}  // namespace millrace

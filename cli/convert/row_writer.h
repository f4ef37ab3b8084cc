// RowWriter: writes rows as files of one format. Each format is a file of this folder, and a line in row_writer.cpp.
//
//   const auto writer = make_row_writer("csv", {rows, text_columns});  // refuses fields that the format cannot hold
//   writer->begin("rows.csv");
//   writer->write(span, place);
//   writer->finish();                                                  // now rows.csv is there
//
// A file appears whole or not at all: nothing stays of one that was not finished. Files are written one after another,
// by one thread, and memory does not grow with them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/spec.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/row_block.h"

namespace millrace::cli {

class RowWriter {
 public:
  virtual ~RowWriter() = default;

  // The ops that make the same rows of these files again, as a list: what comes after a filename_queue.
  virtual Spec readers() const = 0;
  // Begins the file `path`. Throws IoError if it cannot be written. REQUIRES: no other file is begun.
  virtual void begin(const std::string& path) = 0;
  // `place` says where a row of their block came from. Throws IoError, and DataError at the place of a row that the
  // format cannot hold.
  virtual void write(const RowSpan& rows, FunctionRef<Place(int64_t)> place) = 0;
  // Ends the file, which is there then. Throws IoError.
  virtual void finish() = 0;
};

struct RowWriterArgs {
  const RowSpec& rows;
  const TextColumns* from = nullptr;  // the columns of text that they come from, if they do
};

// "csv|npz|tfrecord".
std::string row_formats();
// Throws ConfigError, at "--to FORMAT", if the format cannot hold one of the fields. REQUIRES: one of row_formats().
std::unique_ptr<RowWriter> make_row_writer(std::string_view format, const RowWriterArgs& args);

// One for each format.
std::unique_ptr<RowWriter> make_csv_writer(const RowWriterArgs& args);
std::unique_ptr<RowWriter> make_npz_writer(const RowWriterArgs& args);
std::unique_ptr<RowWriter> make_tfrecord_writer(const RowWriterArgs& args);

}  // namespace millrace::cli

#include "millrace/input/csv/bad_rows_file.h"

#include <filesystem>
#include <system_error>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace {

void BadRowsFile::add(const BadRow& row) {
  if (!out_.is_open()) open(std::ios::trunc);
  const bool has_value = !row.field.empty();
  out_ << "{\"v\":1,\"file\":" << json_string(row.place.file) << ",\"line\":" << cat(row.place.line)
       << ",\"column\":" << cat(row.place.column) << ",\"field\":" << (has_value ? json_string(row.field) : "null")
       << ",\"text\":" << (has_value ? json_string(row.text) : "null") << ",\"reason\":" << json_string(row.reason)
       << "}\n"
       << std::flush;
  if (!out_) throw IoError("cannot write the file of bad rows", {path_});
}

void BadRowsFile::resume(uint64_t rows) {
  std::ifstream in(path_, std::ios::binary);
  if (rows == 0 || !in) return;
  uint64_t lines = 0, bytes = 0;
  for (std::string line; lines < rows && std::getline(in, line) && !in.eof(); ++lines) bytes += line.size() + 1;
  if (lines < rows) {
    throw DataError(cat("the file of bad rows has ", count_of(static_cast<int64_t>(lines), "line"), ", but ", rows,
                        " were written before the state was saved"),
                    {path_}, "give bad_rows_file another path, or move the file away");
  }
  std::error_code failure;
  std::filesystem::resize_file(path_, bytes, failure);
  if (failure) throw IoError(cat("cannot shorten the file of bad rows: ", errno_text(failure.value())), {path_});
  open(std::ios::app);
}

void BadRowsFile::open(std::ios::openmode mode) {
  out_.open(path_, std::ios::binary | mode);
  if (!out_)
    throw IoError("cannot write the file of bad rows", {path_}, "is there such a folder, and may you write to it?");
}

}  // namespace millrace

#include "millrace/input/ops/shared/bad_rows.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace {

namespace {

// Says in errors which of the run's files it is.
template <class Body>
void as_bad_rows_file(const Body& body) {
  try {
    body();
  } catch (IoError& error) {
    error.add_context("bad_rows_file");
    throw;
  }
}

std::string number_or_null(int64_t number) { return number > 0 ? cat(number) : "null"; }

}  // namespace

void BadRowOptions::declare(OptionReader& o) {
  o.optional("on_bad_row", on_bad_row, "fail, or leave out the rows that are wrong");
  o.used_as("on_bad_row", OptionUse::bad_rows);
  o.in_pass("on_bad_row", OnBadRow::fail);
  o.optional("max_bad_rows", max_bad_rows, {.min = 0},
             "with on_bad_row: skip, how many bad rows the whole run may have");
  o.used_as("max_bad_rows", OptionUse::bad_rows);
  o.not_in_pass("max_bad_rows");
  o.optional("bad_rows_file", bad_rows_file, "with on_bad_row: skip, a file that gets a JSON line for each bad row");
  o.only_speed("bad_rows_file");
  o.used_as("bad_rows_file", OptionUse::written_file);
  o.not_in_pass("bad_rows_file");
  if (!o.reading() || on_bad_row == OnBadRow::skip) return;
  if (max_bad_rows) throw o.node("max_bad_rows").error("max_bad_rows needs on_bad_row: skip");
  if (bad_rows_file) throw o.node("bad_rows_file").error("bad_rows_file needs on_bad_row: skip");
}

void BadRowsFile::check() const {
  as_bad_rows_file([this] { AppendFile::check(path_); });
}

void BadRowsFile::add(const BadRow& row) {
  const bool has_value = !row.field.empty();
  const std::string line =
      cat("{\"v\":1,\"file\":", json_string(row.place.file), ",\"line\":", number_or_null(row.place.line),
          ",\"column\":", number_or_null(row.place.column), ",\"field\":", has_value ? json_string(row.field) : "null",
          ",\"text\":", has_value ? json_string(row.text) : "null", ",\"reason\":", json_string(row.reason), "}\n");
  if (!out_) open(false);
  as_bad_rows_file([&] { out_->append(line); });
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
  open(true);
}

void BadRowsFile::open(bool goes_on) {
  as_bad_rows_file([&] { out_.emplace(path_, goes_on); });
}

DecodingTransform::DecodingTransform(const BadRowOptions& options)
    : skips_(options.on_bad_row == OnBadRow::skip),
      most_(options.max_bad_rows ? static_cast<uint64_t>(*options.max_bad_rows) : UINT64_MAX) {
  if (options.bad_rows_file) file_.emplace(*options.bad_rows_file);
}

}  // namespace millrace

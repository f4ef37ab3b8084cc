#include "millrace/cli/convert/row_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "millrace/cli/process/exit_code.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

// `path` with `insert` before the ending of its file.
std::string before_ending(const std::string& path, std::string_view insert) {
  const std::string ending = std::filesystem::path(path).extension().string();
  return cat(std::string_view(path).substr(0, path.size() - ending.size()), insert, ending);
}

// A pattern that matches only `path`.
std::string literal_pattern(std::string_view path) {
  constexpr std::string_view kSpecial = "*?[\\";
  std::string out;
  for (const char c : path) {
    if (kSpecial.find(c) != kSpecial.npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string RowFilesPath::file(size_t number) const {
  return rows ? before_ending(path, fmt::format("-{:05}", number)) : path;
}

std::string RowFilesPath::pattern() const {
  const std::string literal = literal_pattern(path);
  return rows ? before_ending(literal, "-[0-9][0-9][0-9][0-9][0-9]") : literal;
}

RowFiles::RowFiles(RowWriter& writer, RowFilesPath to) : writer_(writer), to_(std::move(to)) { begin(); }

void RowFiles::write(RowSpan span, FunctionRef<Place(int64_t)> place) {
  while (span.count > 0) {
    if (!begun_) begin();
    RowSpan some = span;
    if (to_.rows) some.count = std::min(span.count, *to_.rows - held_);
    writer_.write(some, place);
    held_ += some.count;
    span.begin += some.count;
    span.count -= some.count;
    if (to_.rows == held_) end();
  }
}

void RowFiles::finish() {
  if (begun_) end();
}

void RowFiles::begin() {
  if (files_.size() == RowFilesPath::kMostFiles) {
    throw UsageError(cat("--rows ", *to_.rows, " makes more than ", RowFilesPath::kMostFiles, " files"), {},
                     "give each file more rows");
  }
  writer_.begin(to_.file(files_.size()));
  begun_ = true;
  held_ = 0;
}

void RowFiles::end() {
  begun_ = false;
  writer_.finish();
  files_.push_back(to_.file(files_.size()));
  rows_ += static_cast<uint64_t>(held_);
}

}  // namespace millrace::cli

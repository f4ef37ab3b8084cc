#include "millrace/cli/generate/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/float_mode.h"

namespace millrace {

namespace {

std::vector<std::string> paths_of(const GenerateOptions& options) {
  const size_t digits = std::max<size_t>(2, std::to_string(options.files - 1).size());
  std::vector<std::string> paths;
  for (int64_t i = 0; i < options.files; ++i) {
    const std::string name = fmt::format("examples-{:0{}}.csv", i, digits);
    paths.push_back((std::filesystem::path(options.folder) / name).string());
  }
  return paths;
}

void refuse_to_overwrite(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) {
      throw IoError("the file is there already", {path, 0, 0}, "give --force to overwrite it, or another folder");
    }
  }
}

}  // namespace

GenerateResult write_generated_files(const GenerateOptions& options, size_t labels, WriteRow write_row) {
  const FloatMode mode;
  const std::vector<std::string> paths = paths_of(options);
  if (!options.force) refuse_to_overwrite(paths);
  std::error_code failure;
  std::filesystem::create_directories(options.folder, failure);
  if (failure) throw IoError(cat("cannot make the folder: ", errno_text(failure.value())), {options.folder, 0, 0});

  GenerateResult result;
  result.rows_of_label.resize(labels);
  for (int64_t i = 0; i < options.files; ++i) {
    const std::string& path = paths[static_cast<size_t>(i)];
    cli::Output out = cli::Output::whole_file(path);
    std::vector<int64_t> rows_of_label = result.rows_of_label;
    for (int64_t row = 0; row < options.rows; ++row) {
      if (options.stop.stop_requested()) {
        result.stopped = true;
        return result;
      }
      ++rows_of_label.at(static_cast<size_t>(write_row(out, i, row)));
    }
    out.close();
    result.paths.push_back(path);
    result.rows_of_label = std::move(rows_of_label);
    result.bytes += out.bytes();
  }
  return result;
}

}  // namespace millrace

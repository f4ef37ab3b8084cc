#include "millrace/cli/generate/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
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

constexpr uint64_t kSumStream = fnv1a64("generate.sum");

// The number is rounded to float32 before it is added, so that the label fits the numbers in the file.
void add_number(cli::Output& out, double value, double& sum) {
  const auto written = static_cast<float>(value);
  sum += static_cast<double>(written);
  out.write(cat(written, ','));
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

GenerateResult generate_sum(const GenerateOptions& options, int64_t features) {
  const auto blocks = static_cast<uint64_t>((features + 1) / 2);
  return write_generated_files(options, 2, [&](cli::Output& out, int64_t file, int64_t row) {
    const auto first = static_cast<uint64_t>(file * options.rows + row) * blocks;
    double sum = 0;
    for (uint64_t k = 0; k < blocks; ++k) {
      const auto pair = normal_pair(philox(static_cast<uint64_t>(options.seed), kSumStream, first + k));
      add_number(out, pair[0], sum);
      if (2 * k + 1 < static_cast<uint64_t>(features)) add_number(out, pair[1], sum);
    }
    out.write(sum > 0 ? "1.0\n" : "0.0\n");
    return int64_t{sum > 0};
  });
}

}  // namespace millrace

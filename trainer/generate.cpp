#include "millrace/trainer/generate.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <system_error>

#include "millrace/core/errors.h"
#include "millrace/core/float_mode.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/trainer/atomic_file.h"

namespace millrace {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;
constexpr size_t kMostNumberBytes = 24;

void check(std::string_view name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  throw ConfigError(cat(name, ": expected from ", least, " to ", most, ", got ", value));
}

void check(const GenerateOptions& options) {
  if (options.folder.empty()) throw ConfigError("expected a folder for the files, got an empty text");
  check("files", options.files, 1, kMostGeneratedFiles);
  check("rows", options.rows, 1, kMostGeneratedRows);
  check("features", options.features, 1, kMostGeneratedFeatures);
  check("seed", options.seed, 0, std::numeric_limits<int64_t>::max());
}

std::vector<std::string> paths_of(const GenerateOptions& options) {
  const size_t digits = std::max<size_t>(2, std::to_string(options.files - 1).size());
  std::vector<std::string> paths;
  for (int64_t i = 0; i < options.files; ++i) {
    const std::string number = std::to_string(i);
    const std::string name = cat("examples-", std::string(digits - number.size(), '0'), number, ".csv");
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

// Writes rows one after another; text is gathered in a buffer.
class RowWriter {
 public:
  explicit RowWriter(const GenerateOptions& options) : options_(options) { buffer_.reserve(kBufferBytes * 2); }

  // Returns whether the row's label is 1.
  bool add_row(AtomicFile& file, uint64_t row) {
    const auto features = static_cast<uint64_t>(options_.features);
    const uint64_t blocks = (features + 1) / 2;
    double sum = 0;
    for (uint64_t k = 0; k < blocks; ++k) {
      const auto pair = normal_pair(philox(static_cast<uint64_t>(options_.seed), kStream, row * blocks + k));
      add_number(pair[0], sum);
      if (2 * k + 1 < features) add_number(pair[1], sum);
      if (buffer_.size() >= kBufferBytes) flush(file);
    }
    buffer_ += sum > 0 ? "1.0\n" : "0.0\n";
    return sum > 0;
  }

  void flush(AtomicFile& file) {
    file.write(buffer_);
    bytes_ += buffer_.size();
    buffer_.clear();
  }

  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr uint64_t kStream = fnv1a64("generate.sum");

  // The label is that of the numbers as they are written, in float32.
  void add_number(double value, double& sum) {
    const auto written = static_cast<float>(value);
    sum += static_cast<double>(written);
    char text[kMostNumberBytes];
    char* end = std::to_chars(text, text + sizeof text - 1, written).ptr;
    *end++ = ',';
    buffer_.append(text, end);
  }

  const GenerateOptions& options_;
  std::string buffer_;
  uint64_t bytes_ = 0;
};

}  // namespace

GenerateResult generate_sum(const GenerateOptions& options) {
  const FloatMode mode;
  check(options);
  const std::vector<std::string> paths = paths_of(options);
  if (!options.force) refuse_to_overwrite(paths);
  std::error_code failure;
  std::filesystem::create_directories(options.folder, failure);
  if (failure) throw IoError(cat("cannot make the folder: ", errno_text(failure.value())), {options.folder, 0, 0});

  GenerateResult result;
  RowWriter writer(options);
  uint64_t row = 0;
  for (const std::string& path : paths) {
    AtomicFile file(path);
    int64_t positive = 0;
    for (int64_t i = 0; i < options.rows; ++i) {
      if (options.stop.stop_requested()) {
        result.stopped = true;
        return result;
      }
      positive += writer.add_row(file, row++) ? 1 : 0;
    }
    writer.flush(file);
    file.commit();
    result.paths.push_back(path);
    result.positive += positive;
    result.bytes = writer.bytes();
  }
  return result;
}

}  // namespace millrace

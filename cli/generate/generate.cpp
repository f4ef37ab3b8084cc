#include "millrace/cli/generate/generate.h"

#include <charconv>

#include "millrace/core/random.h"

namespace millrace {

namespace {

constexpr uint64_t kStream = fnv1a64("generate.sum");
constexpr size_t kMostNumberBytes = 24;

// The label is that of the numbers as they are written, in float32.
void add_number(GeneratedText& text, double value, double& sum) {
  const auto written = static_cast<float>(value);
  sum += static_cast<double>(written);
  char digits[kMostNumberBytes];
  char* end = std::to_chars(digits, digits + sizeof digits - 1, written).ptr;
  *end++ = ',';
  text.add({digits, end});
}

// Returns the label. `row` counts over all files.
int64_t add_row(GeneratedText& text, const GenerateOptions& options, uint64_t row) {
  const auto features = static_cast<uint64_t>(options.features);
  const uint64_t blocks = (features + 1) / 2;
  double sum = 0;
  for (uint64_t k = 0; k < blocks; ++k) {
    const auto pair = normal_pair(philox(static_cast<uint64_t>(options.seed), kStream, row * blocks + k));
    add_number(text, pair[0], sum);
    if (2 * k + 1 < features) add_number(text, pair[1], sum);
  }
  text.add(sum > 0 ? "1.0\n" : "0.0\n");
  return sum > 0 ? 1 : 0;
}

}  // namespace

GenerateResult generate_sum(const GenerateOptions& options) {
  check_generated("features", options.features, {.least = 1, .most = kMostGeneratedFeatures});
  check_generated_seed(options.seed);
  return write_generated_files({.folder = options.folder,
                                .files = options.files,
                                .rows = options.rows,
                                .labels = 2,
                                .force = options.force,
                                .stop = options.stop},
                               [&](GeneratedText& text, int64_t file, int64_t row) {
                                 return add_row(text, options, static_cast<uint64_t>(file * options.rows + row));
                               });
}

}  // namespace millrace

#include "millrace/cli/generate/generate.h"

#include "millrace/core/random.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr uint64_t kStream = fnv1a64("generate.sum");

// The label is that of the numbers as they are written, in float32.
void add_number(cli::Output& out, double value, double& sum) {
  const auto written = static_cast<float>(value);
  sum += static_cast<double>(written);
  out.write(cat(written, ','));
}

}  // namespace

GenerateResult generate_sum(const GenerateOptions& options, int64_t features) {
  const auto blocks = static_cast<uint64_t>((features + 1) / 2);
  return write_generated_files(options, 2, [&](cli::Output& out, int64_t file, int64_t row) {
    const auto first = static_cast<uint64_t>(file * options.rows + row) * blocks;
    double sum = 0;
    for (uint64_t k = 0; k < blocks; ++k) {
      const auto pair = normal_pair(philox(static_cast<uint64_t>(options.seed), kStream, first + k));
      add_number(out, pair[0], sum);
      if (2 * k + 1 < static_cast<uint64_t>(features)) add_number(out, pair[1], sum);
    }
    out.write(sum > 0 ? "1.0\n" : "0.0\n");
    return int64_t{sum > 0};
  });
}

}  // namespace millrace

#include "millrace/cli/generate/generate.h"

#include <charconv>
#include <cmath>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "tests/support/host_mode.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

std::vector<float> numbers_of(const std::string& line) {
  std::vector<float> out;
  for (const char* at = line.data(); at < line.data() + line.size(); ++at) {
    at = std::from_chars(at, line.data() + line.size(), out.emplace_back()).ptr;
  }
  return out;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream text(TempFolder::read(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(Generate, RowsAreTheDocumentedDrawsAndTheirLabel) {
  const TempFolder folder;
  const GenerateOptions options{.folder = folder.path("d"), .files = 2, .rows = 3, .seed = 7};
  const GenerateResult result = generate_sum(options, 5);
  ASSERT_EQ(result.paths,
            (std::vector<std::string>{folder.path("d/examples-00.csv"), folder.path("d/examples-01.csv")}));
  uint64_t row = 0, bytes = 0;
  int64_t positive = 0;
  for (const std::string& path : result.paths) {
    bytes += std::filesystem::file_size(path);
    const auto lines = lines_of(path);
    ASSERT_EQ(lines.size(), 3u);
    for (const std::string& line : lines) {
      const std::vector<float> numbers = numbers_of(line);
      ASSERT_EQ(numbers.size(), 6u) << line;
      double sum = 0;
      for (size_t k = 0; k < 5; ++k) {
        const float drawn = static_cast<float>(normal_pair(philox(7, fnv1a64("generate.sum"), row * 3 + k / 2))[k % 2]);
        EXPECT_EQ(numbers[k], drawn);
        sum += static_cast<double>(drawn);
      }
      EXPECT_TRUE(line.ends_with(sum > 0 ? ",1.0" : ",0.0")) << line;
      positive += sum > 0 ? 1 : 0;
      ++row;
    }
  }
  EXPECT_EQ(result.bytes, bytes);
  EXPECT_EQ(result.rows_of_label, (std::vector<int64_t>{6 - positive, positive}));
}

TEST(Generate, DependsOnTheSeedAlone) {
  const TempFolder folder;
  const auto make = [&](const char* name, int64_t seed) {
    return TempFolder::read(
        generate_sum({.folder = folder.path(name), .files = 1, .rows = 40, .seed = seed}, 1000).paths[0]);
  };
  const std::string first = make("a", 1);
  EXPECT_EQ(first, make("b", 1));
  EXPECT_NE(first, make("c", 2));
  const test::HostMode host(FE_UPWARD, true);
  EXPECT_EQ(first, make("d", 1));
}

// The cut into files does not change the rows.
TEST(Generate, RowsContinueFromFileToFile) {
  const TempFolder folder;
  const auto one = generate_sum({.folder = folder.path("a"), .files = 1, .rows = 6}, 3);
  const auto two = generate_sum({.folder = folder.path("b"), .files = 2, .rows = 3}, 3);
  EXPECT_EQ(TempFolder::read(one.paths[0]), TempFolder::read(two.paths[0]) + TempFolder::read(two.paths[1]));
}

TEST(Generate, NumbersAreNormal) {
  const TempFolder folder;
  const auto result = generate_sum({.folder = folder.path("a"), .files = 1, .rows = 400}, 100);
  double sum = 0, squares = 0;
  for (const std::string& line : lines_of(result.paths[0])) {
    const std::vector<float> numbers = numbers_of(line);
    for (size_t i = 0; i < 100; ++i) {
      sum += static_cast<double>(numbers[i]);
      squares += static_cast<double>(numbers[i]) * static_cast<double>(numbers[i]);
    }
  }
  // 40,000 draws: the mean's deviation is 0.005, that of the mean square 0.0071.
  EXPECT_LT(std::abs(sum / 40'000), 0.025);
  EXPECT_LT(std::abs(squares / 40'000 - 1), 0.036);
  EXPECT_NEAR(static_cast<double>(result.rows_of_label[1]), 200, 60);
}

}  // namespace
}  // namespace millrace

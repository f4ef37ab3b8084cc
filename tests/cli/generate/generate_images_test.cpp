#include "millrace/cli/generate/generate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <span>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/trainer/files/sha256.h"
#include "tests/support/host_mode.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// The lines of a file without their ends; fails where the last one has none.
std::vector<std::string> lines_of(const std::string& path) {
  const std::string text = TempFolder::read(path);
  EXPECT_TRUE(text.ends_with('\n'));
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Fails where anything but whole numbers and commas stands in the line.
std::vector<int> numbers_of(const std::string& line) {
  std::vector<int> out;
  const char* end = line.data() + line.size();
  for (const char* at = line.data();; ++at) {
    const auto [stop, failure] = std::from_chars(at, end, out.emplace_back());
    EXPECT_EQ(failure, std::errc());
    at = stop;
    if (at == end) return out;
    if (*at != ',') {
      ADD_FAILURE() << line;
      return out;
    }
  }
}

TEST(GenerateImages, ARowIsALabelAndItsPixels) {
  const TempFolder folder;
  const GenerateResult result = generate_images({.folder = folder.path("d"), .files = 2, .rows = 3, .seed = 7});
  ASSERT_EQ(result.paths.size(), 2u);
  std::vector<int64_t> rows_of_label(10);
  for (uint64_t file = 0; file < 2; ++file) {
    const auto lines = lines_of(result.paths[file]);
    ASSERT_EQ(lines.size(), 3u);
    for (uint64_t row = 0; row < 3; ++row) {
      const std::vector<int> numbers = numbers_of(lines[row]);
      ASSERT_EQ(numbers.size(), 1u + 28 * 28);
      const uint64_t drawn = philox(7, fnv1a64("generate.images"), (file << 44) + (row << 12)).word[0];
      EXPECT_EQ(numbers[0], static_cast<int>(drawn * 10 >> 32));
      ++rows_of_label[static_cast<size_t>(numbers[0])];
      const auto [least, most] = std::minmax_element(numbers.begin() + 1, numbers.end());
      EXPECT_EQ(*least, 0);
      EXPECT_GT(*most, 90);
      EXPECT_LE(*most, 255);
    }
  }
  EXPECT_EQ(result.rows_of_label, rows_of_label);
}

// Of the same build or not, of whatever machine: whoever has the options has the data.
TEST(GenerateImages, BytesAreAlwaysTheSame) {
  const TempFolder folder;
  const GenerateOptions options{.folder = folder.path(), .files = 1, .rows = 50, .seed = 3, .force = true};
  const auto hash = [&] {
    const std::string bytes = TempFolder::read(generate_images(options).paths[0]);
    Sha256 sum;
    sum.update(std::as_bytes(std::span(bytes)));
    return sum.hex();
  };
  const std::string expected = "8acb63a478c2294ad15ed945ca00af9d5d66b8313e4a9183f9596067b106dccf";
  EXPECT_EQ(hash(), expected);
  const test::HostMode host(FE_UPWARD, true);
  EXPECT_EQ(hash(), expected);
}

TEST(GenerateImages, ARowDependsOnSeedFileAndRowAlone) {
  const TempFolder folder;
  const auto make = [&](const char* name, int64_t files, int64_t rows, int64_t seed) {
    return generate_images({.folder = folder.path(name), .files = files, .rows = rows, .seed = seed}).paths;
  };
  const auto few = make("few", 2, 3, 1), many = make("many", 3, 5, 1), others = make("others", 2, 3, 2);
  for (size_t file = 0; file < 2; ++file) {
    EXPECT_TRUE(TempFolder::read(many[file]).starts_with(TempFolder::read(few[file])));
    EXPECT_NE(TempFolder::read(few[file]), TempFolder::read(others[file]));
  }
  EXPECT_NE(TempFolder::read(few[0]), TempFolder::read(few[1]));
}

// The more segments, the more light: 1 has two of them, 7 three, 4 four, 2 five, 9 six and 8 seven.
TEST(GenerateImages, DigitsHaveTheirSegments) {
  const TempFolder folder;
  const GenerateResult result = generate_images({.folder = folder.path(), .files = 1, .rows = 3000});
  std::array<double, 10> light = {};
  for (const std::string& line : lines_of(result.paths[0])) {
    const std::vector<int> numbers = numbers_of(line);
    const auto label = static_cast<size_t>(numbers[0]);
    light[label] +=
        std::accumulate(numbers.begin() + 1, numbers.end(), 0.0) / static_cast<double>(result.rows_of_label[label]);
  }
  constexpr std::array<size_t, 6> kByLight = {1, 7, 4, 2, 9, 8};
  for (size_t i = 1; i < kByLight.size(); ++i) {
    EXPECT_GT(light[kByLight[i]], 1.03 * light[kByLight[i - 1]]) << kByLight[i] << " and " << kByLight[i - 1];
  }
  // 300 of each, with a deviation of 16.
  for (const int64_t rows : result.rows_of_label) EXPECT_NEAR(static_cast<double>(rows), 300, 80);
}

TEST(GenerateImages, OfOtherSizes) {
  const TempFolder folder;
  for (const int64_t size : {kLeastImageSize, kMostImageSize}) {
    const GenerateResult result =
        generate_images({.folder = folder.path(), .files = 1, .rows = 2, .force = true}, size);
    for (const std::string& line : lines_of(result.paths[0])) {
      EXPECT_EQ(numbers_of(line).size(), static_cast<size_t>(1 + size * size));
    }
  }
}

}  // namespace
}  // namespace millrace

#include "millrace/cli/generate/generate.h"

#include <cfenv>
#include <charconv>
#include <cmath>
#include <stop_token>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
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

// A row names its file and itself; its label is 1 where both are odd.
GenerateResult write(const GenerateOptions& options, size_t labels = 2) {
  return write_generated_files(options, labels, [](cli::Output& out, int64_t file, int64_t row) {
    out.write(cat(file, ' ', row, '\n'));
    return file & row & 1;
  });
}

TEST(GeneratedFiles, HaveTheirRowsInOrder) {
  const TempFolder folder;
  const GenerateResult result = write({.folder = folder.path("a/b"), .files = 2, .rows = 2}, 3);
  EXPECT_EQ(result.paths,
            (std::vector<std::string>{folder.path("a/b/examples-00.csv"), folder.path("a/b/examples-01.csv")}));
  EXPECT_EQ(TempFolder::read(result.paths[0]), "0 0\n0 1\n");
  EXPECT_EQ(TempFolder::read(result.paths[1]), "1 0\n1 1\n");
  EXPECT_EQ(result.bytes, 16u);
  EXPECT_EQ(result.rows_of_label, (std::vector<int64_t>{3, 1, 0}));
  EXPECT_FALSE(result.stopped);
}

TEST(GeneratedFiles, MayBeLargerThanWhatIsGathered) {
  const TempFolder folder;
  const std::string part(100'000, 'x');
  const GenerateResult result = write_generated_files({.folder = folder.path(), .files = 1, .rows = 1}, 1,
                                                      [&](cli::Output& out, int64_t, int64_t) {
                                                        for (int i = 0; i < 10; ++i) out.write(part);
                                                        EXPECT_GE(out.bytes(), 700'000u);
                                                        return int64_t{0};
                                                      });
  EXPECT_EQ(result.bytes, 1'000'000u);
  EXPECT_EQ(TempFolder::read(result.paths[0]), std::string(1'000'000, 'x'));
}

TEST(GeneratedFiles, NamesHaveTheDigitsOfTheLast) {
  const TempFolder folder;
  const GenerateResult result = write({.folder = folder.path("a"), .files = 101, .rows = 1});
  EXPECT_EQ(result.paths.front(), folder.path("a/examples-000.csv"));
  EXPECT_EQ(result.paths.back(), folder.path("a/examples-100.csv"));
}

TEST(GeneratedFiles, AreNotOverwrittenUnlessForced) {
  const TempFolder folder;
  GenerateOptions wanted{.folder = folder.path(), .files = 2, .rows = 1};
  folder.write("examples-01.csv", "mine");
  EXPECT_EQ(
      error_of<IoError>([&] { write(wanted); }),
      folder.path("examples-01.csv") + ": the file is there already; give --force to overwrite it, or another folder");
  EXPECT_FALSE(std::filesystem::exists(folder.path("examples-00.csv")));
  EXPECT_EQ(TempFolder::read(folder.path("examples-01.csv")), "mine");
  wanted.force = true;
  write(wanted);
  EXPECT_EQ(TempFolder::read(folder.path("examples-01.csv")), "1 0\n");
}

// What was counted in the file that is not kept is not counted.
TEST(GeneratedFiles, WhatIsStoppedLeavesWholeFilesOnly) {
  const TempFolder folder;
  std::stop_source stop;
  const GenerateResult result =
      write_generated_files({.folder = folder.path("d"), .files = 3, .rows = 2, .stop = stop.get_token()}, 1,
                            [&](cli::Output& out, int64_t file, int64_t) {
                              if (file == 1) stop.request_stop();
                              out.write("x\n");
                              return int64_t{0};
                            });
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.paths, std::vector<std::string>{folder.path("d/examples-00.csv")});
  EXPECT_EQ(result.bytes, 4u);
  EXPECT_EQ(result.rows_of_label, std::vector<int64_t>{2});
  const std::filesystem::directory_iterator files(folder.path("d"));
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(GeneratedFiles, AreComputedInTheDefaultFloatingPointMode) {
  const TempFolder folder;
  const test::HostMode host(FE_UPWARD, true);
  write_generated_files({.folder = folder.path(), .files = 1, .rows = 1}, 1, [](cli::Output&, int64_t, int64_t) {
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    return int64_t{0};
  });
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
}

TEST(GeneratedFiles, NeedAFolder) {
  const TempFolder folder;
  folder.write("file", "");
  EXPECT_EQ(error_of<IoError>([&] { write({.folder = folder.path("file/d")}); }),
            folder.path("file/d") + ": cannot make the folder: Not a directory");
}

}  // namespace
}  // namespace millrace

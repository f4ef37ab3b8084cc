// That shuffle_batch is fair: chi-square tests over many seeds, with bounds that are computed.
#include <gtest/gtest.h>

#include <vector>

#include "tests/input/chi_square.h"
#include "tests/input/fake_rows.h"

namespace millrace {
namespace {

using testing_support::above;
using testing_support::BatchRun;
using testing_support::bound;
using testing_support::chi_square;
using testing_support::FakeRows;

constexpr int64_t kWindow = 12;
constexpr uint64_t kSeeds = 2400;  // 200 for each place

// The numbers of the first `draws` rows of `rows`, drawn one a batch from a window of kWindow.
std::vector<int64_t> drawn(int64_t rows, int64_t draws, uint64_t seed) {
  FakeRows input(rows);
  const Spec options = Spec::map()
                           .set("batch_size", 1)
                           .set("min_after_dequeue", kWindow - 1)
                           .set("capacity", kWindow)
                           .set("allow_smaller_final_batch", true);
  BatchRun run("shuffle_batch", options, input, seed);
  std::vector<int64_t> out;
  for (int64_t draw = 0; draw < draws; ++draw) out.push_back(run.next().front());
  return out;
}

TEST(ShuffleStatistics, TheBoundIsThatOfTables) {
  EXPECT_NEAR(above(3.841458821, 1), 0.05, 1e-9);
  EXPECT_NEAR(above(49.7282, 23), 0.001, 1e-7);
  EXPECT_NEAR(above(bound(11), 11), 1e-6, 1e-12);
}

// Which place a draw takes: row i enters the place of the row that was drawn i - kWindow draws before.
TEST(ShuffleStatistics, EveryDrawIsUniformInTheWindow) {
  constexpr size_t kDraws = 60;
  std::vector<std::vector<int64_t>> counts(kDraws, std::vector<int64_t>(kWindow));
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<int64_t> place_of(kDraws + kWindow);
    for (size_t row = 0; row < kWindow; ++row) place_of[row] = static_cast<int64_t>(row);
    const std::vector<int64_t> rows = drawn(1000, kDraws, seed);
    for (size_t draw = 0; draw < kDraws; ++draw) {
      const int64_t place = place_of[static_cast<size_t>(rows[draw])];
      ++counts[draw][static_cast<size_t>(place)];
      place_of[draw + kWindow] = place;
    }
  }
  std::vector<int64_t> together(kWindow);
  for (size_t draw = 0; draw < kDraws; ++draw) {
    EXPECT_LT(chi_square(counts[draw]), bound(kWindow - 1)) << "draw " << draw;
    for (size_t place = 0; place < kWindow; ++place) together[place] += counts[draw][place];
  }
  EXPECT_LT(chi_square(together), bound(kWindow - 1));
}

// Two draws in turn have nothing to do with each other.
TEST(ShuffleStatistics, PairsOfDrawsAreUniform) {
  std::vector<int64_t> pairs(kWindow * kWindow);
  for (uint64_t seed = 0; seed < 2 * kSeeds; ++seed) {
    const std::vector<int64_t> rows = drawn(1000, 2, seed);
    const int64_t second = rows[1] == kWindow ? rows[0] : rows[1];  // the row behind the window took its place
    ++pairs[static_cast<size_t>(rows[0] * kWindow + second)];
  }
  EXPECT_LT(chi_square(pairs), bound(kWindow * kWindow - 1));
}

TEST(ShuffleStatistics, AWindowOfAllRowsBringsEachToAnyPosition) {
  std::vector<std::vector<int64_t>> counts(kWindow, std::vector<int64_t>(kWindow));
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<int64_t> rows = drawn(kWindow, kWindow, seed);
    for (size_t position = 0; position < kWindow; ++position) ++counts[static_cast<size_t>(rows[position])][position];
  }
  for (size_t row = 0; row < kWindow; ++row) EXPECT_LT(chi_square(counts[row]), bound(kWindow - 1)) << "row " << row;
}

}  // namespace
}  // namespace millrace

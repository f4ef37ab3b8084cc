#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::error_of;
using testing_support::make_op;

struct Row {
  RowId id;
  std::vector<float> features;
  float label = 0;
  bool operator==(const Row&) const = default;
};

class SyntheticRun {
 public:
  explicit SyntheticRun(const Spec& options, uint64_t seed = 23, std::string_view name = "synthetic")
      : op_(make_op<RowSource>("synthetic", options)) {
    BindArgs args;
    args.seed = seed;
    args.name = name;
    args.source_index = 2;
    port_ = op_->bind(args);
  }

  RowSource& op() { return *op_; }
  const Port& port() const { return port_; }

  std::vector<Row> rows_of(const Unit& unit) {
    chunk_.reset(unit);
    op_->producer().apply(chunk_);
    std::vector<Row> out;
    for (int64_t i = 0; i < chunk_.rows.size(); ++i) {
      const float* features = chunk_.rows.row<float>(0, i);
      const auto count = static_cast<size_t>(port_.rows.fields[0].shape.elements());
      out.push_back({chunk_.rows.id(i), {features, features + count}, *chunk_.rows.row<float>(1, i)});
    }
    return out;
  }
  // At least `count` rows, where there are so many.
  std::vector<Row> take(size_t count) {
    std::vector<Row> out;
    Unit unit;
    while (out.size() < count && op_->next(unit)) {
      for (Row& row : rows_of(unit)) out.push_back(std::move(row));
    }
    return out;
  }

 private:
  std::unique_ptr<RowSource> op_;
  Port port_;
  Chunk chunk_;
};

Spec options(int64_t features, int64_t rows) { return Spec::map().set("features", features).set("rows", rows); }

TEST(Synthetic, MakesTheRowsThatTheDocumentationDefines) {
  SyntheticRun run(options(3, 2));
  EXPECT_EQ(run.port().rows.text(), "features: float32 (3), label: float32 (1)");
  const std::vector<Row> rows = run.take(2);
  ASSERT_EQ(rows.size(), 2u);
  // Computed by another program, with its own logarithm and cosine, from the documented Philox blocks.
  const double expected[2][3] = {{0.5743897915414353, 1.0147147240892487, 0.8448237009476247},
                                 {-0.2730952069951166, -1.878252525635379, 0.9779944895350334}};
  for (size_t row = 0; row < 2; ++row) {
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(rows[row].features[i], expected[row][i], 2e-7) << row << ' ' << i;
  }
  EXPECT_EQ(rows[0].label, 1.0f);
  EXPECT_EQ(rows[1].label, 0.0f);
}

TEST(Synthetic, LabelsSayWhetherTheSumIsPositive) {
  int positive = 0;
  for (const Row& row : SyntheticRun(options(5, 2000)).take(2000)) {
    double sum = 0;
    for (const float x : row.features) sum += static_cast<double>(x);
    EXPECT_EQ(row.label, sum > 0 ? 1.0f : 0.0f);
    positive += row.label == 1.0f;
  }
  EXPECT_NEAR(positive, 1000, 100);
}

TEST(Synthetic, IsNormal) {
  double sum = 0, squares = 0, within = 0, count = 0;
  for (const Row& row : SyntheticRun(options(1024, 100)).take(100)) {
    for (const float x : row.features) {
      const auto value = static_cast<double>(x);
      sum += value;
      squares += value * value;
      within += std::abs(value) < 1 ? 1 : 0;
      ++count;
    }
  }
  EXPECT_NEAR(sum / count, 0, 0.015);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NEAR(within / count, 0.6827, 0.007);
}

TEST(Synthetic, EveryRowIsTheSameFromWhereverItIsMade) {
  SyntheticRun run(options(7, 3000));
  const std::vector<Row> rows = run.take(3000);
  ASSERT_EQ(rows.size(), 3000u);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].id.offset, i);
    EXPECT_EQ(rows[i].id.source, 2u);
    EXPECT_EQ(rows[i].id.next_line, i + 2);
    EXPECT_EQ(run.op().place(rows[i].id).text(), cat("synthetic:", i + 1));
  }
  for (const size_t i : {0u, 1u, 1023u, 1024u, 2999u}) {
    EXPECT_THAT(run.rows_of(run.op().unit_of(rows[i].id)), ElementsAre(rows[i]));
    SyntheticRun other(options(7, 3000));
    other.op().seek({.pass = 0, .file_ordinal = 0, .offset = i, .line = i + 1});
    EXPECT_EQ(other.take(1).front(), rows[i]);
  }
}

TEST(Synthetic, EndsOrNot) {
  SyntheticRun run(options(4, 5));
  EXPECT_EQ(run.take(100).size(), 5u);
  EXPECT_EQ(run.take(100).size(), 0u);
  EXPECT_FALSE(run.op().endless());
  run.op().seek({.pass = 0, .file_ordinal = 0, .offset = 5, .line = 6});
  EXPECT_EQ(run.take(100).size(), 0u);
  SyntheticRun endless(Spec::map().set("features", 4));
  EXPECT_TRUE(endless.op().endless());
  EXPECT_GE(endless.take(5000).size(), 5000u);
  EXPECT_EQ(endless.port().rows.fields[0].shape[0], 4);
  EXPECT_EQ(SyntheticRun(Spec::map()).port().rows.fields[0].shape[0], 1024);
}

TEST(Synthetic, HasAUnitInEveryRun) {
  SyntheticRun none(options(4, 0));
  Unit unit;
  ASSERT_TRUE(none.op().next(unit));
  EXPECT_EQ(unit.begin, unit.end);
  EXPECT_THAT(none.rows_of(unit), ElementsAre());
  EXPECT_FALSE(none.op().next(unit));
  none.op().rewind(1);
  ASSERT_TRUE(none.op().next(unit));
  EXPECT_EQ(unit.pass, 1u);
}

TEST(Synthetic, AnotherRunHasTheSameRows) {
  SyntheticRun run(options(4, 5));
  std::vector<Row> first = run.take(5);
  run.op().rewind(1);
  const std::vector<Row> second = run.take(5);
  for (Row& row : first) row.id.pass = 1;
  EXPECT_EQ(first, second);
}

TEST(Synthetic, MayBeConstant) {
  const std::vector<Row> rows = SyntheticRun(options(6, 3000).set("constant", true)).take(3000);
  const Row first = SyntheticRun(options(6, 1)).take(1).front();
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].features, first.features);
    EXPECT_EQ(rows[i].label, first.label);
    EXPECT_EQ(rows[i].id.offset, i);
  }
}

TEST(Synthetic, IsKeyedBySeedAndName) {
  const Row row = SyntheticRun(options(6, 1)).take(1).front();
  EXPECT_NE(SyntheticRun(options(6, 1), 24).take(1).front().features, row.features);
  EXPECT_NE(SyntheticRun(options(6, 1), 23, "other").take(1).front().features, row.features);
}

TEST(Synthetic, KeepsItsUnitsSmall) {
  for (const int64_t features : {1, 100, 1024, 100000}) {
    SyntheticRun run(Spec::map().set("features", features));
    Unit unit;
    ASSERT_TRUE(run.op().next(unit));
    EXPECT_LE(unit.end, run.op().chunk_bound().rows);
    EXPECT_LE(static_cast<int64_t>(unit.end) * features, std::max<int64_t>(features, 8192));
    EXPECT_TRUE(unit.exact);
    EXPECT_EQ(unit.line, 1u);
  }
}

TEST(Synthetic, FindsTheSameRowsAgain) {
  State state;
  SyntheticRun(options(4, 5)).op().save(state);
  SyntheticRun(options(4, 5)).op().check(state);
  EXPECT_EQ(error_of([&] { SyntheticRun(options(4, 6)).op().check(state); }),
            "the saved state is of 5 rows, now there are 6 rows");
  EXPECT_EQ(error_of([&] { SyntheticRun(Spec::map()).op().check(state); }),
            "the saved state is of 5 rows, now there are endless rows");
}

TEST(Synthetic, RefusesOptionsThatMakeNoSense) {
  const auto make_error = [](const Spec& with) { return error_of([&] { make_op<RowSource>("synthetic", with); }); };
  EXPECT_THAT(make_error(Spec::map().set("task", "product")), HasSubstr("task: expected sum"));
  EXPECT_THAT(make_error(Spec::map().set("features", 0)), HasSubstr("features: expected at least 1"));
  EXPECT_THAT(make_error(Spec::map().set("rows", -1)), HasSubstr("rows: expected at least 0"));
}

}  // namespace
}  // namespace millrace

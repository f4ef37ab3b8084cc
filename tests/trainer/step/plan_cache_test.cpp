#include "millrace/trainer/step/plan_cache.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

struct FakePlan {
  int64_t rows = 0;
  size_t bytes = 0;
};

class PlanCacheTest : public ::testing::Test {
 protected:
  auto maker(int64_t rows) {
    return [this, rows] {
      made_.push_back(rows);
      return std::make_unique<FakePlan>(FakePlan{rows, static_cast<size_t>(rows) * 10});
    };
  }
  FakePlan& get(int64_t rows) { return plans_.get(rows, maker(rows)); }
  FakePlan& use(int64_t rows) {
    FakePlan& plan = get(rows);
    plans_.use(plan);
    return plan;
  }

  Executor executor_{1};
  Context context_{Device::cpu(), executor_};
  PlanCache<FakePlan> plans_{context_, 3};
  std::vector<int64_t> made_;
};

TEST_F(PlanCacheTest, KeepsTheMostRecentlyWanted) {
  for (const int64_t rows : {1, 2, 3, 1, 4, 1, 3}) EXPECT_EQ(get(rows).rows, rows);
  EXPECT_EQ(made_, (std::vector<int64_t>{1, 2, 3, 4})) << "4 took the place of 2";
  EXPECT_EQ(plans_.bytes(), 80U);
  get(2);
  EXPECT_EQ(made_.back(), 2);
}

TEST_F(PlanCacheTest, NeverDropsTheOneInUse) {
  EXPECT_EQ(plans_.used(), nullptr);
  FakePlan& used = use(1);
  for (int64_t rows = 2; rows < 10; ++rows) get(rows);
  EXPECT_EQ(plans_.used(), &used);
  EXPECT_EQ(used.rows, 1);
  EXPECT_EQ(&get(1), &used);
  use(20);
  for (int64_t rows = 2; rows < 10; ++rows) get(rows);
  EXPECT_EQ(plans_.used()->rows, 20);
  get(1);
  EXPECT_EQ(made_.back(), 1) << "another one was used since";
}

}  // namespace
}  // namespace millrace

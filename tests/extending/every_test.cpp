#include <gtest/gtest.h>

#include "tests/input/fake_rows.h"

namespace millrace {
namespace {

using testing_support::bind_to;
using testing_support::FakeRows;
using testing_support::make_op;

TEST(Every, LetsOneRowInThreeThroughAndCountsTheOthers) {
  FakeRows rows(8);
  const auto every = make_op<RowBuffer>("every", Spec::map().set("rows", 3));
  bind_to(*every, {&rows});
  std::vector<int64_t> seen;
  while (const RowSpan row = every->pull(100)) seen.push_back(row.block->row<int64_t>(0, row.begin)[0]);
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 3, 6}));

  std::vector<Dropped> dropped;
  every->add_dropped(dropped);
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].rows, 5u);
}

}  // namespace
}  // namespace millrace

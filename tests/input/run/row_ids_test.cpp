#include "millrace/input/run/row_ids.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

TEST(RowIds, ComeBackAsTheyWere) {
  const std::vector<RowId> ids = {{1, 2, 3, 4, 5, 6, 7}, {0, UINT32_MAX, 0, 9, UINT64_MAX, 1, State::kMostCount}};
  State state;
  save_ids(state, "window", ids);
  save_ids(state, "none", {});
  const State read = State::decode(state.encode());
  EXPECT_EQ(load_ids(read, "window"), ids);
  EXPECT_TRUE(load_ids(read, "none").empty());
}

TEST(RowIds, AreFoundInTheStateOfAnyOp) {
  State state;
  save_ids(state, kHeldRows, std::vector<RowId>{{1, 2, 3, 4, 5, 6, 7}});
  save_ids(state, kTakenRows, std::vector<RowId>{{1, 2, 3, 4, 8, 9, 10}, {2, 0, 0, 1, 11, 1, 2}});
  std::vector<uint64_t> offsets;
  const auto add = [&](const RowId& id) { offsets.push_back(id.offset); };
  for_each_saved_id(state, add);
  EXPECT_EQ(offsets, (std::vector<uint64_t>{5, 8, 11}));
  State other;
  other.set("rows", 17);
  offsets.clear();
  for_each_saved_id(other, add);
  EXPECT_TRUE(offsets.empty()) << "a count of rows";
}

TEST(RowIds, RefuseWhatIsNone) {
  State state;
  EXPECT_THROW(load_ids(state, "window"), DataError);
  state.set("window", {1, 2, 3});
  try {
    load_ids(state, "window");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "the saved state has 3 values for \"window\", which is not a multiple of 7");
  }
  state.set("window", {1, 2, 3, uint64_t{1} << 32, 5, 6, 7});
  EXPECT_THROW(load_ids(state, "window"), DataError);
  state.set("window", {1, 2, 3, 4, 5, State::kMostCount + 1, 7});
  EXPECT_THROW(load_ids(state, "window"), DataError);
}

}  // namespace
}  // namespace millrace

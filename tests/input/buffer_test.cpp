// RowBuffer: what buffers with one or several inputs pass on.
#include <gtest/gtest.h>

#include "tests/input/fake_rows.h"

namespace millrace {
namespace {

using testing_support::bind_to;
using testing_support::error_of;
using testing_support::FakeRows;

class Joined : public RowBuffer {
 public:
  RowSpan pull(int64_t at_most) override { return input().pull(at_most); }
  void save(State&) const override {}
  void restore(const State&) override {}
};

// FakeRows of source 1 or another, which remembers what it is told.
struct Input : FakeRows {
  explicit Input(uint32_t given_source) : FakeRows(10), source(given_source) {}
  bool has_source(uint32_t asked) const override { return asked == source; }
  void set_ahead(int64_t rows, int tasks) override { told = cat(rows, " rows, ", tasks, " tasks"); }
  uint32_t source;
  std::string told;
};

TEST(RowBuffer, FetchesARowFromTheInputThatHasItsSource) {
  Input first(0), second(4);
  Joined joined;
  bind_to(joined, {&first, &second});
  EXPECT_TRUE(joined.has_source(4));
  EXPECT_FALSE(joined.has_source(1));
  RowBlock block;
  block.configure(FakeRows::spec(), 1);
  block.resize(1);
  RowId id;
  id.source = 4;
  id.offset = 7;
  joined.fetch(id, block, 0);
  EXPECT_EQ(first.fetches, 0);
  EXPECT_EQ(second.fetches, 1);
  EXPECT_EQ(block.row<int64_t>(0, 0)[0], 7);
  id.source = 2;
  EXPECT_EQ(error_of([&] { joined.fetch(id, block, 0); }),
            "the saved state holds a row of source 2, which this input does not have");
}

TEST(RowBuffer, GivesRowsOnAsTheyAreByDefault) {
  Input first(0), second(1);
  Joined joined;
  EXPECT_EQ(joined.input_count(), 0u);
  const Port port = bind_to(joined, {&first, &second});
  EXPECT_EQ(joined.input_count(), 2u);
  EXPECT_EQ(port.type, PortType::rows);
  EXPECT_EQ(port.rows, FakeRows::spec());
}

TEST(RowBuffer, SharesOutWhatMayWaitAndRewindsAll) {
  Input first(0), second(1);
  Joined joined;
  bind_to(joined, {&first, &second});
  joined.set_ahead(101, 4);
  EXPECT_EQ(first.told, "50 rows, 2 tasks");
  joined.set_ahead(1, 1);
  EXPECT_EQ(second.told, "1 rows, 1 tasks");
  joined.set_ahead(0, 0);
  EXPECT_EQ(second.told, "0 rows, 0 tasks") << "0 tasks: as many as there are threads";
  first.pull(3);
  second.pull(3);
  joined.rewind(1);
  EXPECT_EQ(first.at() + second.at(), 0);
}

}  // namespace
}  // namespace millrace

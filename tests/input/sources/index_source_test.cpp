#include "millrace/input/source.h"

#include <gtest/gtest.h>

#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;

struct Nothing final : Transform {
  std::vector<PortType> inputs() const override { return {}; }
  Port bind(const BindArgs&) override { return {.type = PortType::rows}; }
  void apply(Chunk&) const override {}
};

class Numbers final : public IndexSource {
 public:
  explicit Numbers(IndexRange range) : IndexSource("numbers", range, std::make_unique<Nothing>()) {}
};

// "pass:begin-end" of the next units.
std::string units(Numbers& source, int most = 100) {
  std::string out;
  Unit unit;
  for (int i = 0; i < most && source.next(unit); ++i) {
    EXPECT_TRUE(unit.exact);
    EXPECT_EQ(unit.line, unit.begin + 1);
    out += cat(i == 0 ? "" : " ", unit.pass, ':', unit.begin, '-', unit.end);
  }
  return out;
}

TEST(IndexSource, GoesThroughAllRowsInEachPass) {
  Numbers once({.rows = 5, .unit_rows = 2});
  EXPECT_EQ(units(once), "0:0-2 0:2-4 0:4-5");
  EXPECT_EQ(units(once), "") << "it stays at its end";
  Numbers twice({.rows = 3, .unit_rows = 2, .passes = 2});
  EXPECT_EQ(units(twice), "0:0-2 0:2-3 1:0-2 1:2-3");
  EXPECT_FALSE(twice.endless());
  EXPECT_EQ(twice.passes(), 2u);
}

TEST(IndexSource, EveryPassHasAUnit) {
  Numbers none({.rows = 0, .unit_rows = 2, .passes = 2});
  EXPECT_EQ(units(none), "0:0-0 1:0-0");
}

TEST(IndexSource, MayNeverEnd) {
  Numbers rows({.unit_rows = 4});
  EXPECT_TRUE(rows.endless());
  EXPECT_EQ(units(rows, 2), "0:0-4 0:4-8");
  Numbers passes({.rows = 1, .unit_rows = 4, .passes = {}});
  EXPECT_TRUE(passes.endless());
  EXPECT_EQ(units(passes, 3), "0:0-1 1:0-1 2:0-1");
}

TEST(IndexSource, MayCountItsRowsLate) {
  struct Late final : IndexSource {
    Late() : IndexSource("late", {.rows = 0}, std::make_unique<Nothing>()) { set_rows(5, 2); }
  } late;
  std::string found;
  for (Unit unit; late.next(unit);) found += cat(unit.begin, '-', unit.end, ' ');
  EXPECT_EQ(found, "0-2 2-4 4-5 ");
  EXPECT_EQ(late.chunk_bound().rows, 2u);
  EXPECT_EQ(late.pass_size(), 5u);
}

TEST(IndexSource, PassesAreCountedOnFromRunToRun) {
  Numbers source({.rows = 1, .unit_rows = 2, .passes = 2});
  source.rewind(3);
  EXPECT_EQ(units(source), "6:0-1 7:0-1");
  Numbers endless({.rows = 1, .unit_rows = 2, .passes = {}});
  endless.rewind(3);
  EXPECT_EQ(units(endless, 2), "3:0-1 4:0-1");
}

TEST(IndexSource, GoesOnWhereItIsToldTo) {
  Numbers source({.rows = 5, .unit_rows = 2, .passes = 2});
  source.seek({.pass = 2, .offset = 3});
  EXPECT_EQ(units(source), "2:3-5 3:0-2 3:2-4 3:4-5");
  source.seek({.pass = 1, .offset = 5});
  EXPECT_EQ(units(source), "");
  EXPECT_EQ(error_of([&] { source.seek({.pass = 1, .offset = 6}); }),
            "the saved state is at row 6 of numbers, which does not exist");
}

TEST(IndexSource, FindsARowAgain) {
  Numbers source({.rows = 5, .unit_rows = 2});
  BindArgs args;
  args.source_index = 7;
  EXPECT_EQ(source.bind(args).type, PortType::rows) << "what its producer makes";
  Unit unit;
  source.next(unit);
  const RowId id = IndexSource::id_of(unit, 1);
  EXPECT_EQ(source.place(id).text(), "numbers:2");
  const Unit again = source.unit_of(id);
  EXPECT_EQ(cat(again.source, ' ', again.begin, '-', again.end), "7 1-2");
  EXPECT_EQ(error_of([&] { source.unit_of({.offset = 5}); }),
            "the saved state is at row 5 of numbers, which does not exist");
  EXPECT_EQ(error_of([] { Numbers({.rows = 0}).unit_of({.offset = 0}); }),
            "the saved state is at row 0 of numbers, which does not exist");
}

TEST(IndexSource, RefusesTheStateOfOtherRows) {
  State state;
  Numbers({.rows = 5}).save(state);
  Numbers({.rows = 5}).check(state);
  EXPECT_EQ(error_of([&] { Numbers({.rows = 1}).check(state); }), "the saved state is of 5 rows, now there is 1 row");
  EXPECT_EQ(error_of([&] { Numbers({}).check(state); }), "the saved state is of 5 rows, now there are endless rows");
}

}  // namespace
}  // namespace millrace

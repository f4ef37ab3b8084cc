#include "millrace/input/rows/empty_passes.h"

#include <gtest/gtest.h>

#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;

RowId row_of(uint32_t source, uint32_t pass) {
  RowId id;
  id.source = source;
  id.pass = pass;
  return id;
}

TEST(EmptyPasses, RefusesAWholePassThatGaveNothing) {
  EmptyPasses passes("filter", true, 1);
  passes.took(row_of(0, 3));
  passes.took(row_of(0, 4));
  EXPECT_EQ(error_of([&] { passes.took(row_of(0, 5)); }),
            "filter: the data has no row to give, and without epochs it would be read forever; check what the files "
            "hold and what is left out, or set epochs");
}

TEST(EmptyPasses, AnyRowThatIsGivenOutWillDo) {
  EmptyPasses passes("filter", true, 1);
  for (uint32_t pass = 0; pass < 10; ++pass) {
    passes.took(row_of(0, pass));
    passes.took(row_of(1, 2 * pass));
    passes.gave();
  }
}

TEST(EmptyPasses, DataThatEndsMayBeEmpty) {
  EmptyPasses passes("filter", false, 1);
  for (uint32_t pass = 0; pass < 10; ++pass) passes.took(row_of(0, pass));
}

TEST(EmptyPasses, ARunMayHaveManyPasses) {
  EmptyPasses passes("filter", true, 3);
  for (uint32_t pass = 0; pass <= 3; ++pass) passes.took(row_of(0, pass));
  EXPECT_THROW(passes.took(row_of(0, 4)), DataError);
}

TEST(EmptyPasses, DrawnRowsMayComeLate) {
  EmptyPasses passes("filter", true, 1, 10);
  passes.took(row_of(0, 7));
  for (int rows = 0; rows < 2000; ++rows) passes.took(row_of(0, rows % 600 == 0 ? 8 : 9));
  passes.gave();
  passes.took(row_of(0, 9));
  for (int rows = 0; rows < 640; ++rows) passes.took(row_of(0, 20));
  EXPECT_THROW(passes.took(row_of(0, 9 + 2)), DataError);
}

TEST(EmptyPasses, WaitForTheFirstRunOfEveryInput) {
  EmptyPasses passes("filter", true, 1, 2);
  for (uint32_t pass = 0; pass < 500; ++pass) {
    passes.took(row_of(0, pass));
    passes.took(row_of(1, 0));
  }
  for (uint32_t pass = 0; pass < 128; ++pass) passes.took(row_of(0, 500 + pass));
  EXPECT_THROW(passes.took(row_of(0, 700)), DataError) << "the other one has ended";
}

}  // namespace
}  // namespace millrace

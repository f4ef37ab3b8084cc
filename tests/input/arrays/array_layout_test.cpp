#include "millrace/input/arrays/array_layout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/input/arrays/array_bytes.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::BytesFile;
using testing_support::error_of;

TEST(FileRange, ReadsWhatThePartHas) {
  const BytesFile file("0123456789");
  const FileRange part{file, 2, 5};
  EXPECT_EQ(part.read(0, 3), "234");
  EXPECT_EQ(part.read(3, 9), "56");
  EXPECT_EQ(part.read(5, 1), "");
  EXPECT_EQ(part.read(UINT64_MAX, 9), "");
}

class LayoutTest : public ::testing::Test {
 protected:
  ArrayLayout layout(const std::vector<uint64_t>& sizes, size_t bytes, NumberType type = NumberType::int16) const {
    const BytesFile file(std::string(bytes, 'x'));
    return layout_of({.numbers = {.type = type}, .sizes = sizes, .begin = 10}, file.range());
  }
  std::string error(const std::vector<uint64_t>& sizes, size_t bytes) const {
    return error_of([&] { layout(sizes, bytes); });
  }
};

TEST_F(LayoutTest, SaysWhatARowIs) {
  const ArrayLayout images = layout({2, 3, 4}, 10 + 48);
  EXPECT_EQ(images.rows, 2u);
  EXPECT_EQ(images.row, (Shape{3, 4}));
  EXPECT_EQ(images.begin, 10u);
  EXPECT_EQ(images.row_bytes(), 24u);
  EXPECT_EQ(layout({7}, 10 + 14).row, (Shape{1})) << "a number each";
  EXPECT_EQ(layout({0, 3}, 10).rows, 0u);
  EXPECT_EQ(layout({1, 1, 1, 1, 1, 2}, 10 + 4).row.rank(), 5);
}

TEST_F(LayoutTest, RefusesSizesThatTheFileDoesNotHave) {
  const std::string hint = "; was the file cut short, or does it hold several arrays?";
  EXPECT_EQ(error({2, 3}, 10 + 11),
            "the header says shape (2, 3), with 2 bytes a number, but 11 bytes follow it" + hint);
  EXPECT_EQ(error({2, 3}, 10 + 13),
            "the header says shape (2, 3), with 2 bytes a number, but 13 bytes follow it" + hint);
  EXPECT_EQ(error({3}, 4), "the header says shape (3,), with 2 bytes a number, but 0 bytes follow it" + hint);
  EXPECT_EQ(error({0, 3}, 12), "the header says shape (0, 3), with 2 bytes a number, but 2 bytes follow it" + hint);
}

// Products that overflow 64 bits, or come back to what the file has.
TEST_F(LayoutTest, RefusesSizesThatNobodyCanCount) {
  const uint64_t half = uint64_t{1} << 32;
  for (const std::vector<uint64_t>& sizes : std::vector<std::vector<uint64_t>>{{half, half},
                                                                               {UINT64_MAX},
                                                                               {UINT64_MAX, UINT64_MAX},
                                                                               {half, half, 4},
                                                                               {2, uint64_t{1} << 63},
                                                                               {0, half, half},
                                                                               {0, UINT64_MAX},
                                                                               {0, half, 1024},
                                                                               {half + 1, half - 1, 3},
                                                                               {2, UINT64_MAX, 2}}) {
    EXPECT_NE(error(sizes, 10).find("the header says shape"), std::string::npos) << sizes[0];
    EXPECT_NE(error(sizes, 12).find("the header says shape"), std::string::npos) << sizes[0];
  }
}

TEST_F(LayoutTest, RefusesWhatHasNoRows) {
  EXPECT_EQ(error({}, 12), "the array is a single number, which has no rows");
  EXPECT_EQ(error({5, 0}, 10), "the array has shape (5, 0): its rows have no values");
  EXPECT_EQ(error({1, 1, 1, 1, 1, 1, 1}, 12), "the array has 7 dimensions, at most 6 are read");
}

}  // namespace
}  // namespace millrace

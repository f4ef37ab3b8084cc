#include "millrace/input/arrays/array_layout.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/input/arrays/array_bytes.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::BytesFile;
using testing_support::error_of;
using testing_support::idx_array;
using testing_support::npy_array;
using testing_support::throws_exactly;

ArrayLayout layout(const std::string& bytes) { return read_idx_header(BytesFile(bytes).range()); }
std::string error(const std::string& bytes) {
  EXPECT_TRUE((throws_exactly<DataError>([&] { layout(bytes); })));
  return error_of([&] { layout(bytes); });
}

TEST(IdxHeader, SaysHowAnArrayLies) {
  const ArrayLayout images = layout(idx_array(8, {2, 3, 4}, std::string(24, 'x')));
  EXPECT_EQ(images.numbers.type, NumberType::uint8);
  EXPECT_EQ(images.rows, 2u);
  EXPECT_EQ(images.row, (Shape{3, 4}));
  EXPECT_EQ(images.begin, 16u);
  EXPECT_FALSE(images.by_columns);
  EXPECT_EQ(layout(idx_array(8, {5}, "12345")).row, (Shape{1}));
}

TEST(IdxHeader, KnowsEveryTypeOfNumbers) {
  const std::pair<int, NumberType> types[] = {{0x08, NumberType::uint8},   {0x09, NumberType::int8},
                                              {0x0b, NumberType::int16},   {0x0c, NumberType::int32},
                                              {0x0d, NumberType::float32}, {0x0e, NumberType::float64}};
  for (const auto& [code, type] : types) {
    const NumberFormat format{.type = type, .big_endian = true};
    EXPECT_EQ(layout(idx_array(code, {3}, std::string(3 * format.bytes(), 'x'))).numbers, format) << code;
  }
}

TEST(IdxHeader, RefusesWhatIsNoArray) {
  const std::string none = "this is no array in the IDX format";
  EXPECT_EQ(error(""), none);
  EXPECT_EQ(error(std::string("\0\0\x08", 3)), none);
  EXPECT_EQ(error(idx_array(0x0a, {3}, "abc")), none);
  EXPECT_EQ(error("x" + idx_array(8, {3}, "abc")), none);
  EXPECT_EQ(error(npy_array("|u1", "(3,)", "abc")),
            none + "; the file is a NumPy array: read it by the op npy_reader: {fields: {features: FILE}}");
  EXPECT_EQ(error(idx_array(8, {}, "a")), "the array is a single number, which has no rows");
  EXPECT_EQ(error(idx_array(8, {1, 1, 1, 1, 1, 1, 1}, "a")), "the array has 7 dimensions, at most 6 are read");
  EXPECT_EQ(error(idx_array(8, {3}, "abc").substr(0, 7)),
            "the file ends inside the header of the array; was it cut short?");
  EXPECT_EQ(error(idx_array(8, {0xffffffff, 0xffffffff, 0xffffffff}, "abc")),
            "the header says shape (4294967295, 4294967295, 4294967295), with 1 byte a number, but 3 bytes follow it; "
            "was the file cut short, or does it hold several arrays?");
}

}  // namespace
}  // namespace millrace

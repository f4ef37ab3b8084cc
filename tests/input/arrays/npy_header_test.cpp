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
using testing_support::npy_file;
using testing_support::number_bytes;
using testing_support::throws_exactly;
using testing_support::zip_file;

ArrayLayout layout(const std::string& bytes) { return read_npy_header(BytesFile(bytes).range()); }
std::string error(const std::string& bytes) {
  EXPECT_TRUE((throws_exactly<DataError>([&] { layout(bytes); }))) << bytes;
  return error_of([&] { layout(bytes); });
}
std::string error_of_type(const std::string& descr) { return error(npy_array(descr, "(1,)", "12345678")); }

TEST(NpyHeader, SaysHowAnArrayLies) {
  const ArrayLayout rows = layout(npy_array("<f4", "(3, 2)", std::string(24, 'x')));
  EXPECT_EQ(rows.numbers, (NumberFormat{.type = NumberType::float32}));
  EXPECT_EQ(rows.row, (Shape{2}));
  EXPECT_EQ(rows.rows, 3u);
  EXPECT_EQ(rows.begin, 128u);
  EXPECT_FALSE(rows.by_columns);
  const ArrayLayout columns = layout(npy_array(">i8", "(3, 2, 4)", std::string(192, 'x'), true));
  EXPECT_EQ(columns.numbers, (NumberFormat{.type = NumberType::int64, .big_endian = true}));
  EXPECT_EQ(columns.row, (Shape{2, 4}));
  EXPECT_TRUE(columns.by_columns);
  EXPECT_FALSE(layout(npy_array("|u1", "(3,)", "abc", true)).by_columns) << "one dimension lies alike either way";
}

TEST(NpyHeader, AWholeArrayMayBeARow) {
  const auto row = [](const std::string& bytes) { return read_npy_row(BytesFile(bytes).range()); };
  const ArrayLayout image = row(npy_array(">i2", "(3, 2)", std::string(12, 'x')));
  EXPECT_EQ(image.rows, 1u);
  EXPECT_EQ(image.row, (Shape{3, 2}));
  EXPECT_EQ(image.begin, 128u);
  EXPECT_EQ(image.numbers, (NumberFormat{.type = NumberType::int16, .big_endian = true}));
  EXPECT_EQ(row(npy_array("|u1", "(3,)", "abc")).row, Shape{3});
  EXPECT_EQ(row(npy_array("|u1", "()", "a")).row, Shape{1});
  const auto error = [&](const std::string& bytes) { return error_of([&] { row(bytes); }); };
  EXPECT_EQ(error(npy_array("|u1", "(2, 2)", "abcd", true)),
            "the array is in Fortran's order, expected that of C; save numpy.ascontiguousarray(a)");
  EXPECT_EQ(error(npy_array("|u1", "(0,)", "")), "the array has no values");
  EXPECT_EQ(error(npy_array("|u1", "(1, 1, 1, 1, 1, 1)", "a")), "the array has 6 dimensions, a row at most 5");
  EXPECT_NE(error(npy_array("|u1", "(3,)", "ab")), "no error");
}

TEST(NpyHeader, ReadsEveryFormatOfTheHeader) {
  const std::string text = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
  for (const int major : {1, 2, 3}) EXPECT_EQ(layout(npy_file(text, "abc", major)).rows, 3u) << major;
  // Other programs than NumPy, and Python 2.
  for (const char* other : {"{\"shape\":(3,),\"descr\":\"|u1\",\"fortran_order\":False}",
                            "{'descr': '|u1', 'fortran_order': False, 'shape': (3L,), }",
                            "  { 'shape' : ( 3 , ) , 'fortran_order' : False , 'descr' : 'u1' } "}) {
    EXPECT_EQ(layout(npy_file(other, "abc")).rows, 3u) << other;
  }
}

TEST(NpyHeader, KnowsEveryTypeOfNumbers) {
  const std::pair<const char*, NumberType> types[] = {
      {"|b1", NumberType::boolean}, {"|u1", NumberType::uint8},  {"|i1", NumberType::int8},
      {"<i2", NumberType::int16},   {"<u2", NumberType::uint16}, {"<i4", NumberType::int32},
      {"<u4", NumberType::uint32},  {"<i8", NumberType::int64},  {"<f2", NumberType::float16},
      {"<f4", NumberType::float32}, {"<f8", NumberType::float64}};
  for (const auto& [descr, type] : types) {
    const std::string data(NumberFormat{.type = type}.bytes() * 2, 'x');
    EXPECT_EQ(layout(npy_array(descr, "(2,)", data)).numbers.type, type) << descr;
  }
}

TEST(NpyHeader, RefusesOtherValuesByName) {
  EXPECT_EQ(error_of_type("<u8"),
            "the array holds uint64, which no field can hold (\"<u8\"), expected numbers; save a.astype(\"int64\")");
  EXPECT_EQ(error_of_type("<f16"),
            "the array holds floats longer than 8 bytes (\"<f16\"), expected numbers; save a.astype(\"float64\")");
  EXPECT_EQ(
      error_of_type("<c8"),
      "the array holds complex numbers (\"<c8\"), expected numbers; save a.real and a.imag, each in a file of its "
      "own");
  EXPECT_EQ(error_of_type("|O"),
            "the array holds Python objects (\"|O\"), expected numbers; make numbers of them first: "
            "a.astype(\"float32\")");
  EXPECT_EQ(error_of_type("<U5"),
            "the array holds texts (\"<U5\"), expected numbers; save the numbers of their classes: numpy.unique(a, "
            "return_inverse=True)[1]");
  EXPECT_NE(error_of_type("|S5").find("holds texts"), std::string::npos);
  EXPECT_NE(error_of_type("<M8[ns]").find("holds dates"), std::string::npos);
  EXPECT_NE(error_of_type("<m8[s]").find("holds times"), std::string::npos);
  EXPECT_NE(error_of_type("|V7").find("holds structures"), std::string::npos);
  EXPECT_NE(
      error(npy_file("{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (1,), }", "12345678"))
          .find("holds structures"),
      std::string::npos);
  EXPECT_EQ(error_of_type("<q9"), "the array holds values of an unknown type, \"<q9\"");
  EXPECT_EQ(error_of_type(""), "the array holds values of an unknown type, \"\"");
}

TEST(NpyHeader, RefusesWhatIsNoArray) {
  EXPECT_EQ(error(""), "this is no array of NumPy: it does not begin with \\x93NUMPY");
  EXPECT_EQ(
      error("a,b\n1,2\n"),
      "this is no array of NumPy: it does not begin with \\x93NUMPY; the file looks like text: csv_reader reads CSV");
  EXPECT_TRUE(error(idx_array(8, {3}, "abc"))
                  .ends_with("read it by the op idx_reader: {fields: {features: IMAGES, label: LABELS}}"));
  EXPECT_TRUE(error(zip_file({{"x.npy", "abc"}}))
                  .ends_with("read it by the op npz_reader: {fields: {features: NAME}}, with the names of its arrays"));
  EXPECT_EQ(error(npy_file("{}", "", 4)), "the array is in format 4.0, 1.0 to 3.0 are read");
  EXPECT_EQ(error("\x93NUMPY"), "the array is in format 0.0, 1.0 to 3.0 are read");
}

TEST(NpyHeader, RefusesDamagedHeaders) {
  for (const char* header : {"",
                             "{",
                             "}",
                             "{}",
                             "{'descr': '|u1', 'fortran_order': False}",
                             "{'descr': '|u1', 'shape': (3,)}",
                             "{'fortran_order': False, 'shape': (3,)}",
                             "{'descr': '|u1', 'fortran_order': 0, 'shape': (3,)}",
                             "{'descr': '|u1', 'fortran_order': False, 'shape': 3}",
                             "{'descr': '|u1', 'fortran_order': False, 'shape': (-3,)}",
                             "{'descr': '|u1', 'fortran_order': False, 'shape': (3.0,)}",
                             "{'descr': '|u1', 'fortran_order': False, 'shape': (3 3)}",
                             "{'descr': '|u1', 'fortran_order': False, 'shape': (,)}",
                             "{'descr': '|u1', 'fortran_order': False, 'shape': (18446744073709551616,)}",
                             "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), 'more': 1}",
                             "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (3,)}",
                             "{'descr': '|u1', 'fortran_order': False, 'shape': (3,)} x",
                             "{'descr: '|u1'",
                             "{'descr': u1",
                             "{'descr': '|u1' 'fortran_order': False, 'shape': (3,)}",
                             "{descr: '|u1'}"}) {
    EXPECT_EQ(error(npy_file(header, "abc")), "the header of the array is damaged") << header;
  }
}

// However it is cut, and whatever a byte of it says, an error comes or the array that is there.
TEST(NpyHeader, SurvivesEveryCutAndEveryChangedByte) {
  const std::string whole = npy_array("<i4", "(2, 3)", std::string(24, 'x'));
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) EXPECT_NE(error(whole.substr(0, bytes)), "no error") << bytes;
  for (size_t at = 0; at < 128; ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = whole;
      changed[at] = static_cast<char>(byte);
      try {
        const ArrayLayout out = layout(changed);
        ASSERT_EQ(out.rows * out.row_bytes() + out.begin, whole.size()) << at << ' ' << byte;
      } catch (const DataError&) {
      }
    }
  }
}

TEST(NpyHeader, TakesNoMemoryForALongHeader) {
  EXPECT_EQ(error(cat("\x93NUMPY\2", '\0', number_bytes(0xffffffff, 4), "{")),
            "the header of the array has 4294967295 bytes, at most 65536 are read");
  EXPECT_EQ(error(cat("\x93NUMPY\1", '\0', number_bytes(100, 2), "{")),
            "the file ends inside the header of the array; was it cut short?");
}

}  // namespace
}  // namespace millrace

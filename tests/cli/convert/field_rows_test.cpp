#include "millrace/cli/convert/field_rows.h"

#include <gtest/gtest.h>

#include <vector>

#include "millrace/core/crc32.h"
#include "tests/cli/convert/made_rows.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

std::string values_of(const RowBlock& rows, size_t field) {
  std::string out;
  for (int64_t row = 0; row < rows.size(); ++row) {
    out.append(reinterpret_cast<const char*>(rows.at(field, row)), rows.spec().fields[field].tensor().bytes());
  }
  return out;
}

std::string read_field(FieldRows& values, size_t field) {
  std::string out;
  EXPECT_TRUE(values.read(field, [&](std::string_view bytes) {
    out += bytes;
    return true;
  }));
  return out;
}

// Groups of less than a row, of one row, of some, and of all.
TEST(FieldRowsTest, EachFieldComesByItself) {
  const TempFolder folder;
  const RowSpec spec = number_fields();
  const RowBlock rows = made_rows(spec, 20);
  for (const size_t group_bytes : std::vector<size_t>{1, 100, 300, 500, 100000}) {
    FieldRows values(spec, folder.path("a.npz"), group_bytes);
    values.add({&rows, 0, 7});
    values.add({&rows, 7, 0});
    values.add({&rows, 7, 13});
    EXPECT_EQ(values.rows(), 20u);
    for (size_t field = 0; field < spec.fields.size(); ++field) {
      const std::string expected = values_of(rows, field);
      EXPECT_EQ(values.bytes(field), expected.size());
      EXPECT_EQ(read_field(values, field), expected) << spec.fields[field].name << ' ' << group_bytes;
      EXPECT_EQ(values.crc(field), crc32_of(expected)) << spec.fields[field].name << ' ' << group_bytes;
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing stays";
}

TEST(FieldRowsTest, NoRowsAreNoBytes) {
  const TempFolder folder;
  FieldRows values({{{"x", DType::f32, Shape{2}}}}, folder.path("a.npz"));
  EXPECT_EQ(values.bytes(0), 0u);
  EXPECT_EQ(values.crc(0), 0u);
  EXPECT_TRUE(values.read(0, [](std::string_view) { return false; })) << "there is nothing to stop at";
}

TEST(FieldRowsTest, ReadingEndsWhereItIsToEnd) {
  const TempFolder folder;
  const RowSpec spec = {{{"x", DType::f32, Shape{2}}}};
  const RowBlock rows = made_rows(spec, 5);
  FieldRows values(spec, folder.path("a.npz"), 16);
  values.add({&rows, 0, 5});
  size_t bytes = 0;
  EXPECT_FALSE(values.read(0, [&](std::string_view piece) {
    bytes += piece.size();
    return bytes < 32;
  }));
  EXPECT_EQ(bytes, 32u);
}

TEST(FieldRowsTest, AFolderThatIsNotThereIsAnError) {
  const TempFolder folder;
  const RowSpec spec = {{{"x", DType::f32, Shape{2}}}};
  const RowBlock rows = made_rows(spec, 5);
  FieldRows values(spec, folder.path("no/a.npz"), 16);
  EXPECT_EQ(error_of<IoError>([&] {
              values.add({&rows, 0, 5});
            }),
            cat(folder.path("no/a.npz"), ": cannot write: No such file or directory; make the folder \"",
                folder.path("no"), "\" first"));
}

}  // namespace
}  // namespace millrace::cli

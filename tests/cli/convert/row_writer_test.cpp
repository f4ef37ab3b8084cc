#include "millrace/cli/convert/row_writer.h"

#include <gtest/gtest.h>

#include "tests/cli/convert/made_rows.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(RowWriter, EachFormatHasAWriter) {
  EXPECT_EQ(row_formats(), "csv|npz|tfrecord");
  const RowSpec rows = {{{"x", DType::f32, Shape{2}}}};
  for (const char* format : {"csv", "npz", "tfrecord"}) {
    const TempFolder folder;
    const auto writer = make_row_writer(format, {rows});
    EXPECT_FALSE(writer->readers().items().empty());
    // Nothing stays of a file that is not finished, and the next one is written as if there had been none.
    writer->begin(folder.path("a"));
    const RowBlock some = made_rows(rows, 3);
    writer->write(RowSpan{&some, 0, 3}, [](int64_t) { return Place{}; });
    EXPECT_FALSE(std::filesystem::exists(folder.path("a")));
    writer->finish();
    const std::string first = TempFolder::read(folder.path("a"));
    write_rows(*writer, folder.path("b"), some);
    EXPECT_EQ(TempFolder::read(folder.path("b")), first) << format;
  }
}

TEST(RowWriter, NothingStaysOfAFileThatWasBegun) {
  const TempFolder folder;
  folder.write("a", "old");
  const RowSpec rows = {{{"x", DType::f32, Shape{1}}}};
  for (const char* format : {"csv", "npz", "tfrecord"}) make_row_writer(format, {rows})->begin(folder.path("a"));
  EXPECT_EQ(TempFolder::read(folder.path("a")), "old");
}

TEST(RowWriter, ARefusalNamesTheFormat) {
  const RowSpec rows = {{texts("name", 1)}};
  EXPECT_EQ(error_of<ConfigError>([&] { make_row_writer("npz", {rows}); }),
            "--to npz: an array cannot hold name, which is string (1); make numbers of the texts with vocabulary, or "
            "of pictures with decode_image, or write csv");
}

}  // namespace
}  // namespace millrace::cli

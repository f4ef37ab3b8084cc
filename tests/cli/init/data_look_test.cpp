#include "millrace/cli/init/data_look.h"

#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "tests/input/op_testing.h"
#include "tests/input/parquet/parquet_bytes.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing_support::MemoryFiles;

class DataLookTest : public ::testing::Test {
 protected:
  DataLook look(std::vector<std::string> paths, const std::string& label = "y", uint64_t most = 1 << 20) {
    return look_at_data({.files = std::move(paths), .label = label, .most_bytes = most, .file_system = &files_});
  }
  static std::string rows(int first, int count) {
    std::string out;
    for (int i = first; i < first + count; ++i) out += cat(i, ',', i % 7, ",\"t\n", i % 2, "\"\n");
    return out;
  }
  MemoryFiles files_;
};

TEST_F(DataLookTest, CountsEveryColumnOfEveryFile) {
  files_.files["a.csv"] =
      "\xef\xbb\xbf"
      "x,n,y\n" +
      rows(0, 50);
  files_.files["b.csv"] = "x,n,y\n" + rows(50, 20);
  const DataLook seen = look({"?.csv"});
  EXPECT_EQ(seen.rows, 70u);
  EXPECT_TRUE(seen.whole);
  EXPECT_EQ(seen.paths, (std::vector<std::string>{"a.csv", "b.csv"}));
  EXPECT_EQ(seen.patterns, std::vector<std::string>{"?.csv"});
  EXPECT_EQ(seen.label, 2u);
  EXPECT_EQ(seen.columns[0].numbers.count, 70u);
  EXPECT_EQ(seen.columns[0].numbers.max, 69);
  EXPECT_TRUE(seen.columns[0].counts);
  EXPECT_EQ(seen.columns[1].values.size(), 7u);
  EXPECT_EQ(seen.columns[2].values.at("t\n1"), 35u) << "a quoted line end is part of the field";
  EXPECT_EQ(seen.name_of(1), "n");
}

TEST_F(DataLookTest, StopsBehindSoManyBytesAndThenLooksIntoManyFiles) {
  for (const char* path : {"a.csv", "b.csv", "c.csv"}) {
    files_.files[path] = "x,n,y\n" + rows(path[0] * 100000, 3000);
  }
  const DataLook all = look({"a.csv", "b.csv", "c.csv"});
  EXPECT_TRUE(all.whole);
  EXPECT_EQ(all.rows, 9000u);
  const DataLook part = look({"a.csv", "b.csv", "c.csv"}, "y", 20000);
  EXPECT_FALSE(part.whole);
  EXPECT_LT(part.rows, 4000u);
  EXPECT_LT(part.columns[0].numbers.min, 'b' * 100000);
  EXPECT_GE(part.columns[0].numbers.max, 'c' * 100000) << "rows of the last file, too";
}

TEST_F(DataLookTest, PlacesRecordsWithOtherNumbersOfFields) {
  std::string text = "x,n,y\n";
  for (int i = 0; i < 40; ++i) text += i == 20 ? "1,2\n" : i == 30 ? "1,2,3,4\n" : cat(i, ",2,a\n");
  files_.files["a.csv"] = text;
  const DataLook seen = look({"a.csv"});
  EXPECT_EQ(seen.rows, 38u);
  EXPECT_EQ(seen.bad_rows, 2u);
  EXPECT_EQ(seen.bad_examples,
            (std::vector<std::string>{"a.csv:22:1: expected 3 fields, got 2", "a.csv:32:1: expected 3 fields, got 4"}));
  files_.files["b.csv"] = "x,n,y\n1,2,3\n1,2,3\n1,2,3\n1,2\n1,2\n";
  EXPECT_NE(error_of<DataError>([&] { look({"b.csv"}); }).find("2 of 5 records do not have 3 fields"),
            std::string::npos);
}

TEST_F(DataLookTest, ReadsAFileWhosePathLooksLikeAPattern) {
  files_.files["a[1].csv"] = "x,y\n1,a\n2,b\n";
  const DataLook seen = look({"a[1].csv"});
  EXPECT_EQ(seen.paths, std::vector<std::string>{"a[1].csv"});
  EXPECT_EQ(seen.patterns, std::vector<std::string>{"a[1].csv"});
}

TEST_F(DataLookTest, AFileThatIsGivenTwiceIsReadOnce) {
  files_.files["a.csv"] = "x,y\n1,a\n2,b\n";
  const DataLook seen = look({"a.csv", "a.csv", "*.csv"});
  EXPECT_EQ(seen.rows, 2u);
  EXPECT_EQ(seen.patterns, std::vector<std::string>{"a.csv"});
}

TEST_F(DataLookTest, RefusesWhatItCannotRead) {
  files_.files["a.csv"] = "x,y\n1,a\n2,b\n";
  files_.streams["pipe"] = {"x,y\n"};
  const auto error = [&](const std::string& path) { return error_of<Error>([&] { look({path}); }); };
  EXPECT_NE(error("-").find("standard input"), std::string::npos);
  EXPECT_NE(error("pipe").find("can be read only once"), std::string::npos);
  EXPECT_NE(error("b\xff.csv").find("is not UTF-8"), std::string::npos);
  EXPECT_EQ(error("http://a/b.csv"),
            "DATA: no file matches \"http://a/b.csv\"; only local files are read: download it first");
  EXPECT_NE(error("b.csv").find("no file matches \"b.csv\""), std::string::npos);
  files_.files["one.csv"] = "y\n1\n2\n";
  EXPECT_EQ(error_of<DataError>([&] { look({"one.csv"}); }),
            "one.csv:1:1: the files have one column, the label, and nothing to learn from; is there another delimiter? "
            "--delimiter names it");
  files_.files["blanks.csv"] = "x y\n1 2\n3 4\n";
  EXPECT_NE(error_of<DataError>([&] { look({"blanks.csv"}, "0"); }).find("fields seem to end at blanks"),
            std::string::npos);
  files_.files["wide.csv"] = std::string(70000, ',') + "\n" + std::string(70000, ',') + "\n";
  EXPECT_NE(error_of<DataError>([&] { look({"wide.csv"}, "0"); }).find("70001 fields"), std::string::npos);
}

TEST_F(DataLookTest, LooksAtParquet) {
  if (!builtin_ops().entries().contains("parquet_reader")) GTEST_SKIP() << "parquet is not in this build";
  using testing_support::FileParts;
  using testing_support::kInt32;
  FileParts file{.schema = {{.name = "x", .type = kInt32}, {.name = "l", .type = kInt32, .repetition = 2}}};
  file.schema.push_back({.name = "y", .type = kInt32});
  const auto numbers = testing_support::plain_chunk<int32_t>(kInt32, {4, 5, 6});
  file.groups = {{.rows = 3, .chunks = {numbers, numbers, numbers}}};
  files_.files["a.parquet"] = file.bytes();
  const DataLook seen = look({"a.parquet"});
  EXPECT_EQ(seen.rows, 3u);
  EXPECT_TRUE(seen.whole);
  EXPECT_EQ(seen.label, 2u);
  EXPECT_EQ(seen.form.refused, (std::vector<std::string>{"", "lists of int32", ""}));
  EXPECT_EQ(seen.columns[0].numbers.mean, 5);
  EXPECT_EQ(seen.columns[1].rows, 0u);
  EXPECT_EQ(error_of<ConfigError>([&] { look({"a.parquet"}, "l"); }),
            "--label \"l\": the column holds lists of int32, from which no label is made");
  DataLookArgs args = {.files = {"a.parquet"}, .label = "y", .delimiter = ';', .file_system = &files_};
  EXPECT_EQ(error_of<ConfigError>([&] { look_at_data(args); }), "--delimiter: a Parquet file has none");
  files_.files["a.parquet"].resize(40);
  EXPECT_TRUE(error_of<DataError>([&] { look({"a.parquet"}); }).starts_with("a.parquet: the Parquet file is damaged"));
}

TEST_F(DataLookTest, MemoryIsBoundedWhateverTheNumberOfDifferentTexts) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 20000; ++i) text += cat("name ", i, ",other ", i, ',', i % 2, '\n');
  files_.files["a.csv"] = text;
  const DataLook seen = look({"a.csv"}, "y", 1 << 30);
  EXPECT_TRUE(seen.columns[0].many);
  EXPECT_TRUE(seen.columns[0].values.empty());
  EXPECT_EQ(seen.columns[2].values.size(), 2u);
}

TEST(FindColumnTest, ByNameThenByNumber) {
  CsvForm form;
  form.header = true;
  form.names = {"a", " b ", "a", "7", ""};
  form.columns = 5;
  EXPECT_EQ(find_column(form, "b", "--label"), 1u) << "blanks around it do not count";
  EXPECT_EQ(find_column(form, "7", "--label"), 3u);
  EXPECT_EQ(find_column(form, "4", "--label"), 4u);
  EXPECT_EQ(
      error_of<ConfigError>([&] { find_column(form, "a", "--label"); }),
      "--label \"a\": the header has this name 2 times, in the columns 0 and 2; select it by its number: --label 0");
  EXPECT_EQ(error_of<ConfigError>([&] { find_column(form, "5", "--label"); }),
            "--label 5: there is no such column; the files have columns 0 to 4");
  EXPECT_NE(error_of<ConfigError>([&] { find_column(form, "A", "--label"); }).find("did you mean \"a\"?"),
            std::string::npos);
  CsvForm bare;
  bare.columns = 1;
  EXPECT_NE(error_of<ConfigError>([&] { find_column(bare, "x", "--label"); }).find("--delimiter"), std::string::npos);
}

}  // namespace
}  // namespace millrace

#include "millrace/cli/convert/row_files.h"

#include <gtest/gtest.h>

#include "millrace/cli/process/exit_code.h"
#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

// Writes down what it is asked to do.
class Diary final : public RowWriter {
 public:
  Spec readers() const override { return Spec::list(); }
  void begin(const std::string& path) override { pages += cat("begin ", path, '\n'); }
  void write(const RowSpan& rows, FunctionRef<Place(int64_t)>) override {
    pages += cat("write ", rows.begin, " +", rows.count, '\n');
  }
  void finish() override { pages += "finish\n"; }

  std::string pages;
};

const auto kNowhere = [](int64_t) { return Place{}; };

TEST(RowFilesTest, OneFileHasAllRows) {
  Diary diary;
  const RowBlock block;
  RowFiles files(diary, {.path = "a.csv"});
  EXPECT_EQ(diary.pages, "begin a.csv\n") << "before the first row, as it may not be writable";
  files.write({&block, 0, 3}, kNowhere);
  files.write({&block, 3, 2}, kNowhere);
  EXPECT_TRUE(files.files().empty());
  EXPECT_EQ(files.rows(), 0u) << "no file is there yet";
  files.finish();
  EXPECT_EQ(diary.pages, "begin a.csv\nwrite 0 +3\nwrite 3 +2\nfinish\n");
  EXPECT_EQ(files.files(), std::vector<std::string>{"a.csv"});
  EXPECT_EQ(files.rows(), 5u);
}

TEST(RowFilesTest, FilesEndInTheMiddleOfABatch) {
  Diary diary;
  const RowBlock block;
  RowFiles files(diary, {.path = "d/a.csv", .rows = 2});
  files.write({&block, 0, 5}, kNowhere);
  EXPECT_EQ(files.files(), (std::vector<std::string>{"d/a-00000.csv", "d/a-00001.csv"}));
  files.write({&block, 0, 1}, kNowhere);
  files.finish();
  EXPECT_EQ(diary.pages,
            "begin d/a-00000.csv\nwrite 0 +2\nfinish\nbegin d/a-00001.csv\nwrite 2 +2\nfinish\n"
            "begin d/a-00002.csv\nwrite 4 +1\nwrite 0 +1\nfinish\n");
  EXPECT_EQ(files.rows(), 6u) << "the last file is full, and no empty one follows";
}

TEST(RowFilesTest, WithoutRowsThereIsOneFile) {
  Diary diary;
  RowFiles files(diary, {.path = "a", .rows = 2});
  files.finish();
  EXPECT_EQ(diary.pages, "begin a-00000\nfinish\n");
}

TEST(RowFilesTest, NumbersStandBeforeTheEnding) {
  const auto second = [](const std::string& path) { return RowFilesPath{path, 1}.file(1); };
  EXPECT_EQ(second("a.csv"), "a-00001.csv");
  EXPECT_EQ(second("a.b.csv"), "a.b-00001.csv");
  EXPECT_EQ(second("d.x/a"), "d.x/a-00001");
  EXPECT_EQ(second("d/.a"), "d/.a-00001");
  EXPECT_EQ((RowFilesPath{"a.csv", 1}.file(99999)), "a-99999.csv");
  EXPECT_EQ((RowFilesPath{"a.csv", {}}.file(0)), "a.csv");
}

TEST(RowFilesTest, ThePatternMatchesTheFilesAndNoOther) {
  EXPECT_EQ((RowFilesPath{"d/a.csv", {}}.pattern()), "d/a.csv");
  EXPECT_EQ((RowFilesPath{"a[1]*?\\.c*v", {}}.pattern()), "a\\[1]\\*\\?\\\\.c\\*v");
  EXPECT_EQ((RowFilesPath{"d/a.csv", 9}.pattern()), "d/a-[0-9][0-9][0-9][0-9][0-9].csv");
  EXPECT_EQ((RowFilesPath{"a*.c*v", 9}.pattern()), "a\\*-[0-9][0-9][0-9][0-9][0-9].c\\*v");
}

TEST(RowFilesTest, ThereAreNoMoreFilesThanFiveDigitsCount) {
  Diary diary;
  const RowBlock block;
  RowFiles files(diary, {.path = "a", .rows = 1});
  files.write({&block, 0, 100000}, kNowhere);
  EXPECT_EQ(files.files().back(), "a-99999");
  EXPECT_EQ(error_of<UsageError>([&] {
              files.write({&block, 0, 1}, kNowhere);
            }),
            "--rows 1 makes more than 100000 files; give each file more rows");
}

}  // namespace
}  // namespace millrace::cli

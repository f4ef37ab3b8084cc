#include "millrace/trainer/checkpoint/appended_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "millrace/core/errors.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AppendedFilesTest : public ::testing::Test {
 protected:
  AppendedFilesTest() {
    files_.add(log_);
    files_.add(other_);
    temp_.write("log.jsonl", "one\ntwo\n");
    files_.record(state_);
    temp_.write("log.jsonl", "one\ntwo\nthree\n");
  }

  TempFolder temp_;
  const std::string log_ = temp_.path("log.jsonl"), other_ = temp_.path("other.jsonl");
  AppendedFiles files_;
  State state_;
};

TEST_F(AppendedFilesTest, AreCutToWhatTheyWere) {
  temp_.write("other.jsonl", "there was none\n");
  EXPECT_THAT(files_.present(), ElementsAre(log_, other_));
  files_.check(state_);
  files_.cut(state_);
  EXPECT_EQ(TempFolder::read(log_), "one\ntwo\n");
  EXPECT_EQ(TempFolder::read(other_), "") << "it was not there yet";
}

TEST_F(AppendedFilesTest, ThatAreNotOnRecordStayAsTheyAre) {
  AppendedFiles again;
  const std::string unknown = temp_.write("unknown.jsonl", "of somebody else\n");
  again.add(unknown);
  again.check(state_);
  again.cut(state_);
  EXPECT_EQ(TempFolder::read(unknown), "of somebody else\n");
}

TEST_F(AppendedFilesTest, AreKnownHoweverTheirPathIsSpelled) {
  AppendedFiles again;
  again.add(temp_.path("./x/../log.jsonl"));
  again.check(state_);
  again.cut(state_);
  EXPECT_EQ(TempFolder::read(log_), "one\ntwo\n");
}

TEST_F(AppendedFilesTest, BeginAnewIfTheyAreGone) {
  EXPECT_THAT(files_.gone(state_), ElementsAre()) << "the other file had no bytes";
  std::filesystem::remove(log_);
  files_.check(state_);
  EXPECT_THAT(files_.gone(state_), ElementsAre(log_));
  files_.cut(state_);
  EXPECT_FALSE(std::filesystem::exists(log_));
}

TEST_F(AppendedFilesTest, MustNotHaveLostAnything) {
  temp_.write("log.jsonl", "one\n");
  try {
    files_.check(state_);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("log.jsonl: the file has 4 bytes, but there were 8"));
    EXPECT_EQ(error.hint(), "move " + log_ + " away to go on with another one");
  }
}

TEST_F(AppendedFilesTest, AreRegularFiles) {
  AppendedFiles special;
  special.add("/dev/null");
  ASSERT_EQ(::mkfifo(other_.c_str(), 0600), 0);
  special.add(other_);
  State state;
  special.record(state);
  EXPECT_EQ(state, State());
  EXPECT_THAT(special.present(), ElementsAre());
  special.check(state_);
  EXPECT_THAT(special.gone(state_), ElementsAre());
  special.cut(state_);
}

}  // namespace
}  // namespace millrace

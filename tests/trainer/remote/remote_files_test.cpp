#include "millrace/trainer/remote/remote_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/trainer/remote/messages.h"
#include "millrace/trainer/remote/rooted_files.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

// Asks the files of a folder, without a network.
class RemoteFilesTest : public ::testing::Test {
 protected:
  TempFolder folder_;
  RootedFiles there_{folder_.path()};
  RemoteFiles files_{[this](const State& question) {
    ++asked_;
    return answer_file_question(State::decode(question.encode()), there_);
  }};
  int asked_ = 0;
};

TEST_F(RemoteFilesTest, AreWhatIsThere) {
  folder_.write("b.csv", "1,2\n");
  folder_.write("a.csv", "");
  EXPECT_THAT(files_.match("*.csv"), ElementsAre("a.csv", "b.csv"));
  EXPECT_THAT(files_.match("*.txt"), ElementsAre());
  EXPECT_THAT(files_.list("."), ElementsAre("a.csv", "b.csv"));
  EXPECT_EQ(files_.type("b.csv"), FileSystem::Type::file);
  EXPECT_EQ(files_.type("."), FileSystem::Type::folder);
  EXPECT_EQ(files_.type("c.csv"), FileSystem::Type::none);
  EXPECT_EQ(files_.look("b.csv").size, 4u);
  const auto file = files_.open("b.csv");
  EXPECT_EQ(file->size(), 4u);
  char text[8] = {};
  EXPECT_EQ(file->read(1, text, 8), 3u);
  EXPECT_STREQ(text, ",2\n");
  EXPECT_EQ(file->read(4, text, 8), 0u);
  EXPECT_EQ(file->read(99, text, 8), 0u);
}

TEST_F(RemoteFilesTest, LongReadsTakeSeveralQuestions) {
  std::string all((size_t{17} << 20) + 3, 'x');
  all.back() = 'y';
  folder_.write("a.bin", all);
  const auto file = files_.open("a.bin");
  asked_ = 0;
  std::string got(all.size() + 5, '\0');
  ASSERT_EQ(file->read(0, got.data(), got.size()), all.size());
  got.resize(all.size());
  EXPECT_TRUE(got == all);
  EXPECT_EQ(asked_, 18);
}

TEST_F(RemoteFilesTest, ErrorsAndStreams) {
  EXPECT_THROW(files_.open("c.csv"), IoError);
  EXPECT_THROW(files_.open_stream("-"), ConfigError);
  State wrong = make_message(message::kFile);
  wrong.set_text("what", "write");
  wrong.set_text("path", "a");
  EXPECT_THROW(answer_file_question(wrong, there_), DataError);
  wrong.set_text("what", "read");
  wrong.set("range", {0, uint64_t{1} << 40});
  EXPECT_THROW(answer_file_question(wrong, there_), DataError);
  wrong.set_text("what", "look");
  wrong.set_text("path", std::string_view("a\0b", 3));
  EXPECT_THROW(answer_file_question(wrong, there_), DataError);
}

}  // namespace
}  // namespace millrace

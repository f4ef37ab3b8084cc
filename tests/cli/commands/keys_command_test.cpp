// `trainer keys`, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"
#include "tests/trainer/remote/has_zmq.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::run_trainer;
using ::testing::HasSubstr;

TEST(KeysCommand, MakesTwoFilesOnce) {
  SKIP_WITHOUT_ZMQ();
  const TempFolder folder;
  const auto made = run_trainer({"keys", "--out", "a"}, {.folder = folder.path()});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, "a.key: secret, stays here\na.pub: for the other side\n");
  EXPECT_EQ(std::filesystem::status(folder.path("a.key")).permissions(), std::filesystem::perms(0600));
  const std::string secret = TempFolder::read(folder.path("a.key"));
  EXPECT_EQ(TempFolder::read(folder.path("a.pub")).find(secret), std::string::npos);
  const auto again = run_trainer({"keys", "--out", "a"}, {.folder = folder.path()});
  EXPECT_EQ(again.exit_code, 74) << again.err;
  EXPECT_THAT(again.err, HasSubstr("a.key"));
  EXPECT_EQ(TempFolder::read(folder.path("a.key")), secret);
  EXPECT_EQ(run_trainer({"keys", "--out", "none/a"}, {.folder = folder.path()}).err,
            "error: none/a.key: cannot write: No such file or directory\nhint: make the folder \"none\" first\n");
}

TEST(KeysCommand, NeedsAName) {
  const auto result = run_trainer({"keys"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no name is given"));
  EXPECT_THAT(run_trainer({"keys", "--out", "a.key"}).err,
              HasSubstr("--out \"a.key\": expected a name without .key and .pub\nhint: --out a "));
  EXPECT_THAT(run_trainer({"keys", "--out", "keys/"}).err, HasSubstr("--out \"keys/\" is a folder\n"));
}

}  // namespace
}  // namespace millrace::cli

#include "millrace/cli/arguments/check_out.h"

#include "millrace/cli/process/usage_error.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(CheckOutTest, RefusesWhatTheRunNeeds) {
  const TempFolder folder;
  InputFiles files;
  files.read = {folder.write("a.csv", "")};
  files.written = {folder.path("bad.jsonl")};
  const std::string source = folder.write("m.safetensors", "");
  const auto refused = [&](const std::string& out) {
    Arguments arguments;
    arguments.out = out;
    return error_of<UsageError>([&] { check_out(arguments, files, source); });
  };
  const std::string beside = folder.path("./");
  EXPECT_EQ(refused(beside + "a.csv"), "--out \"" + beside + "a.csv\" would overwrite \"" + folder.path("a.csv") +
                                           "\", which this run reads; give it another name");
  EXPECT_TRUE(refused(beside + "bad.jsonl").ends_with("which this run writes; give it another name"));
  EXPECT_TRUE(refused(beside + "m.safetensors").ends_with("which this run reads; give it another name"));
}

TEST(CheckOutTest, AnotherFileOrNoneIsFine) {
  const TempFolder folder;
  InputFiles files;
  files.read = {folder.write("a.csv", "")};
  Arguments arguments;
  EXPECT_NO_THROW(check_out(arguments, files, "config.yaml"));
  arguments.out = folder.path("b.csv");
  EXPECT_NO_THROW(check_out(arguments, files, "config.yaml"));
}

}  // namespace
}  // namespace millrace::cli

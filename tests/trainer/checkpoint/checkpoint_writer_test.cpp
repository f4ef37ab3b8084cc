#include "millrace/trainer/checkpoint/checkpoint_writer.h"

#include <gmock/gmock.h>

#include <cstddef>

#include "tests/support/faulty_calls.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/checkpoint/checkpoint_testing.h"

namespace millrace {
namespace {

using test::FaultyCalls;
using test::MadeCheckpoint;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CheckpointOutcome outcome_of(CheckpointWriter& writer, CheckpointJob job) {
  writer.write(std::move(job));
  writer.wait();
  return writer.outcome().value();
}

TEST(CheckpointWriter, WritesOneAfterAnother) {
  const TempFolder temp;
  CheckpointFolder folder(temp.path("runs"));
  CheckpointWriter writer(folder, 2, nullptr);
  EXPECT_EQ(writer.outcome(), std::nullopt) << "nothing was given";
  for (const uint64_t step : {5U, 6U, 7U}) {
    const MadeCheckpoint made(step);
    const CheckpointOutcome outcome = outcome_of(writer, {.parts = made.parts});
    EXPECT_EQ(outcome.failure, "");
    EXPECT_EQ(outcome.path, temp.path("runs/" + checkpoint_name(step)));
    EXPECT_GT(outcome.seconds, 0);
  }
  EXPECT_EQ(writer.outcome(), std::nullopt) << "it was taken";
  EXPECT_EQ(folder.list().size(), 2u);
}

TEST(CheckpointWriter, EndsWhenEverythingIsWritten) {
  const TempFolder temp;
  const MadeCheckpoint made(9);
  CheckpointFolder folder(temp.path("runs"));
  { CheckpointWriter(folder, 2, nullptr).write({.parts = made.parts}); }
  EXPECT_EQ(verify_checkpoint(temp.path("runs/" + checkpoint_name(9))).step, 9u);
}

TEST(CheckpointWriter, SaysWhyItFailed) {
  const TempFolder temp;
  const MadeCheckpoint made(9);
  FaultyCalls counting(SIZE_MAX, [] { return 0; });
  CheckpointFolder(temp.path("runs"), counting);
  FaultyCalls calls(counting.made().size() + 2, [] { return ENOSPC; });
  {
    CheckpointFolder folder(temp.path("runs"), calls);
    CheckpointWriter writer(folder, 2, nullptr);
    EXPECT_THAT(outcome_of(writer, {.parts = made.parts}).failure, HasSubstr("No space left"));
    EXPECT_THAT(folder.list(), IsEmpty());
    EXPECT_EQ(outcome_of(writer, {.parts = made.parts}).failure, "") << "the disk has room again";
    EXPECT_EQ(folder.list().size(), 1u);
  }
}

TEST(CheckpointWriter, BringsOtherFilesToTheDiskFirst) {
  const TempFolder temp;
  const MadeCheckpoint made(9);
  FaultyCalls calls(SIZE_MAX, [] { return 0; });
  CheckpointFolder folder(temp.path("runs"), calls);
  CheckpointWriter writer(folder, 2, nullptr);
  const size_t before = calls.made().size();
  const std::string log = temp.write("log.jsonl", "a line\n");
  EXPECT_EQ(outcome_of(writer, {.parts = made.parts, .synced = {log, temp.path("none")}}).failure, "");
  const std::vector<std::string> first(calls.made().begin() + static_cast<std::ptrdiff_t>(before),
                                       calls.made().begin() + static_cast<std::ptrdiff_t>(before + 3));
  EXPECT_THAT(first, ElementsAre("open", "sync", "open"));
  EXPECT_THAT(outcome_of(writer, {.parts = made.parts, .synced = {log + "/x"}}).failure, HasSubstr("log.jsonl/x"));
}

}  // namespace
}  // namespace millrace

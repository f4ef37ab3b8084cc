#include "millrace/cli/verify/kill_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace millrace::cli {
namespace {

using When = PlannedKill::When;

constexpr TrainingTimes kTimes = {.starting = 0.5, .training = 60, .checkpoint = 2};

TEST(KillPlan, SpreadsKillsOverTheTrainingAndTheCalls) {
  Draws draws(1, "kills");
  KillPlan plan(kTimes, draws);
  std::map<When, int> counts;
  std::map<std::string, std::set<uint64_t>> calls;
  double seconds = 0;
  for (int i = 0; i < 2000; ++i) {
    const PlannedKill kill = plan.next(60, 5, false);
    ++counts[kill.when];
    if (kill.when == When::starting) {
      EXPECT_LT(kill.seconds, 0.5);
    }
    if (kill.when == When::training) {
      EXPECT_LT(kill.seconds, 2 * 60.0 / 6);
      seconds += kill.seconds;
    }
    if (kill.when == When::calling) calls[kill.call].insert(kill.time);
  }
  EXPECT_GT(counts[When::starting], 50);
  EXPECT_GT(counts[When::training], 800);
  EXPECT_GT(counts[When::calling], 800);
  EXPECT_NEAR(seconds / counts[When::training], 10, 1);
  for (const char* call : {"open", "open_nameless", "write", "sync", "close", "link", "rename", "unlink"}) {
    EXPECT_TRUE(calls[call].contains(1) && calls[call].contains(2)) << call;
  }
  EXPECT_FALSE(calls.contains("make_folder")) << "is made before it goes on";
  EXPECT_EQ(counts[When::never], 0);
}

TEST(KillPlan, OfATrainingThatBeginsKnowsItsFolder) {
  Draws draws(1, "kills");
  KillPlan plan(kTimes, draws);
  bool made = false;
  for (int i = 0; i < 100; ++i) made = plan.next(60, 5, true).call == "make_folder" || made;
  EXPECT_TRUE(made);
}

// Otherwise a training that is killed often would never reach its next checkpoint.
TEST(KillPlan, LetsTheTrainingReachTheNextCheckpoint) {
  Draws draws(1, "kills");
  KillPlan plan(kTimes, draws);
  double most = 0;
  for (int i = 0; i < 1000; ++i) {
    const PlannedKill kill = plan.next(60, 1000000, false);
    if (kill.when == When::training) most = std::max(most, kill.seconds);
  }
  EXPECT_GT(most, 3.9);
}

TEST(KillPlan, WaitsForNoCallThatNeverComes) {
  Draws draws(1, "kills");
  KillPlan plan(kTimes, draws);
  std::map<std::string, int> missed;
  for (int i = 0; i < 1000; ++i) {
    const PlannedKill kill = plan.next(60, 5, true);
    if (kill.when != When::calling) continue;
    ++missed[kill.call];
    plan.missed(kill);
  }
  EXPECT_EQ(missed.size(), 9u);
  for (const auto& [call, times] : missed) EXPECT_LE(times, 7) << call;
}

TEST(KillPlan, MeetsATrainingThatIsShorterThanItsKills) {
  Draws draws(1, "kills");
  KillPlan plan(kTimes, draws);
  for (int i = 0; i < 200; ++i) {
    const PlannedKill kill = plan.next(60, 5, false);
    if (kill.when != When::training) continue;
    plan.missed(kill);
    EXPECT_NE(plan.next(60, 5, false).when, When::training);
  }
}

}  // namespace
}  // namespace millrace::cli

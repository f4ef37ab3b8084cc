#include "millrace/trainer/remote/worker_news.h"

#include <gmock/gmock.h>

namespace millrace {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WorkerNewsTest : public ::testing::Test {
 protected:
  void tell_unused(std::string_view why) { news_.tell_unused("a", "is not used: ", why, now_); }

  WorkerNews news_;
  Clock::time_point now_ = Clock::time_point() + 1h;
};

TEST_F(WorkerNewsTest, AreLinesThatAreTakenOnce) {
  news_.tell("a", "is lost");
  news_.tell("b", "is back");
  EXPECT_THAT(news_.take(), ElementsAre("worker a is lost", "worker b is back"));
  EXPECT_THAT(news_.take(), IsEmpty());
}

TEST_F(WorkerNewsTest, TellAReasonOnceWhileItStands) {
  tell_unused("one");
  now_ += 10min;
  tell_unused("one");
  tell_unused("another");
  EXPECT_THAT(news_.take(), ElementsAre("worker a is not used: one", "worker a is not used: another"));
}

TEST_F(WorkerNewsTest, TellTheSameReasonOnceAMinute) {
  tell_unused("one");
  EXPECT_TRUE(news_.end_unused("a"));
  EXPECT_FALSE(news_.end_unused("a")) << "it was used already";
  now_ += 30s;
  tell_unused("one");
  EXPECT_FALSE(news_.end_unused("a")) << "nobody was told";
  now_ += 31s;
  tell_unused("one");
  EXPECT_TRUE(news_.end_unused("a"));
  EXPECT_THAT(news_.take(), ElementsAre("worker a is not used: one", "worker a is not used: one"));
}

TEST_F(WorkerNewsTest, NameTheReasonsThatStand) {
  EXPECT_EQ(news_.reasons(), "");
  tell_unused("one");
  news_.tell_unused("b", "is not used for some rows: ", "two", now_);
  EXPECT_EQ(news_.reasons(), "a is not used: one; b is not used: two");
  news_.end_unused("a");
  EXPECT_EQ(news_.reasons(), "b is not used: two");
}

TEST_F(WorkerNewsTest, DoNotGrowForEver) {
  for (int i = 0; i < 5000; ++i) news_.tell("a", "is lost");
  EXPECT_EQ(news_.take().size(), 1000u);
}

}  // namespace
}  // namespace millrace

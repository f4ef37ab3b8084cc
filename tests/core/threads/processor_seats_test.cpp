#include "millrace/core/threads/processor_seats.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <optional>
#include <thread>
#include <vector>

namespace millrace {
namespace {

std::vector<int> allowed_processors() {
  cpu_set_t set;
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) out.push_back(i);
  }
  return out;
}

void allow(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

// Of 20 threads that come to processor `from`, may run on `processors` and work beside the seats that are taken: how
// many work on `to`. The kernel may move one on its own.
int working_on(int to, ProcessorSeats& seats, int from, const std::vector<int>& processors, bool may_move) {
  int out = 0;
  for (int i = 0; i < 20; ++i) {
    std::thread([&] {
      allow({from});
      allow(processors);
      const ProcessorSeats::Seat seat(seats, may_move);
      if (sched_getcpu() == to) ++out;
      EXPECT_EQ(allowed_processors(), processors);
    }).join();
  }
  return out;
}

// This thread waits on the first processor, without using it, while others work.
class ProcessorSeatsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    all_ = allowed_processors();
    if (all_.size() < 2) GTEST_SKIP() << "one processor";
    two_ = {all_[0], all_[1]};
    seats_.emplace(2);
    allow({two_[0]});
  }
  void TearDown() override {
    if (!all_.empty()) allow(all_);
  }

  std::vector<int> all_, two_;
  std::optional<ProcessorSeats> seats_;
};

TEST_F(ProcessorSeatsTest, AThreadLeavesTheProcessorOfAnother) {
  const ProcessorSeats::Seat mine(*seats_, false);
  EXPECT_GT(working_on(two_[1], *seats_, two_[0], two_, true), 15);
}

TEST_F(ProcessorSeatsTest, AThreadStaysWhereNobodyWorksAnyMore) {
  { const ProcessorSeats::Seat gone(*seats_, false); }
  EXPECT_GT(working_on(two_[0], *seats_, two_[0], two_, true), 15);
}

TEST_F(ProcessorSeatsTest, AThreadStaysWhereNoOtherProcessorIsAllowed) {
  const ProcessorSeats::Seat mine(*seats_, false);
  EXPECT_EQ(working_on(two_[0], *seats_, two_[0], {two_[0]}, true), 20);
}

TEST_F(ProcessorSeatsTest, AThreadStaysWhereNoOtherProcessorIsFree) {
  if (all_.size() > 2) GTEST_SKIP() << "others would be free";
  const ProcessorSeats::Seat mine(*seats_, false);
  std::thread([&] {
    allow({two_[1]});
    const ProcessorSeats::Seat other(*seats_, true);
    EXPECT_GT(working_on(two_[0], *seats_, two_[0], two_, true), 15);
  }).join();
}

TEST_F(ProcessorSeatsTest, AThreadThatMayNotIsNotMoved) {
  const ProcessorSeats::Seat mine(*seats_, false);
  EXPECT_GT(working_on(two_[0], *seats_, two_[0], two_, false), 15);
}

TEST_F(ProcessorSeatsTest, MoreThreadsThanProcessorsShareThem) {
  ProcessorSeats seats(static_cast<int>(all_.size()) + 1);
  const ProcessorSeats::Seat mine(seats, false);
  EXPECT_GT(working_on(two_[0], seats, two_[0], two_, true), 15);
}

}  // namespace
}  // namespace millrace

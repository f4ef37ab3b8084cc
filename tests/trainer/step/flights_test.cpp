#include "millrace/trainer/step/flights.h"

#include <gtest/gtest.h>

#include "tests/support/busy_device.h"
#include "tests/support/cuda.h"
#include "tests/trainer/step/planned_step.h"

#if defined(MILLRACE_CUDA_EMULATED)
#include "tests/emulated_gpu/emulated_gpu.h"
#endif

namespace millrace {
namespace {

using testing::PlannedStep;

TEST(Flights, OnTheCpuNothingWaits) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  PlannedStep step(context, 1);
  Flights flights(context, 1);
  for (int i = 0; i < 3; ++i) {
    flights.take_off(step.plan);
    EXPECT_FALSE(flights.launches());
    flights.landed();
  }
  EXPECT_EQ(flights.batches(), 3U);
  EXPECT_EQ(flights.failure(), "");
}

// Each step takes the number of its batch to the device and back.
class CudaFlights : public test::CudaTest {
 protected:
  class Numbered {
   public:
    Numbered(Context& context, size_t slots)
        : context_(context),
          from_(Memory::pinned(context.device(), slots * sizeof(int64_t))),
          to_(Memory::pinned(context.device(), slots * sizeof(int64_t))),
          between_(context.device(), sizeof(int64_t)),
          step_(context, slots),
          flights_(context, slots) {}
    ~Numbered() { context_.drain(); }

    Flights& flights() { return flights_; }
    // Whether the batch was launched from a recording, or will be.
    bool give() {
      Flight& flight = flights_.next();
      const size_t slot = flights_.next_slot();
      flights_.end_of(flight).synchronize();
      numbers(from_)[slot] = static_cast<int64_t>(flights_.batches());
      flights_.take_off(step_.plan);
      if (flights_.launches()) return true;
      step_.plan.play(context_, step_.plan.slots[slot], StepPlan::kAlone, [&] {
        context_.copy_async(between_.data(), &numbers(from_)[slot], sizeof(int64_t));
        context_.copy_async(&numbers(to_)[slot], between_.data(), sizeof(int64_t));
      });
      flights_.landed();
      return false;
    }
    // Gives so many batches, none of which finds the device at work.
    void give_apart(int count) {
      for (int i = 0; i < count; ++i) {
        context_.synchronize();
        EXPECT_FALSE(give());
      }
    }
    // What came back of the last batch, or of one of the last 8. REQUIRES: it was launched.
    int64_t answer() {
      flights_.launch();
      return answer(flights_.batches() - 1);
    }
    int64_t answer(uint64_t batch) {
      flights_.end_of(flights_.of(batch)).synchronize();
      return numbers(to_)[batch % flights_.size()];
    }
    // Makes the last batch's step take a while.
    void keep_busy() {
      for (int i = 0; i < 5; ++i) test::keep_busy(context_);
      flights_.landed();
    }

   private:
    static int64_t* numbers(const Memory& memory) { return static_cast<int64_t*>(memory.data()); }

    Context& context_;
    Memory from_, to_, between_;
    PlannedStep step_;  // behind the memory that it was recorded with
    Flights flights_;
  };
};

TEST_F(CudaFlights, AreLaunchedOneByOneWhereTheyAreFew) {
  Numbered step(context(), 3);
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_FALSE(step.give());
    EXPECT_EQ(step.answer(), i);
  }
}

TEST_F(CudaFlights, AnswerWhoeverAsksWhenever) {
  for (const int64_t every : {1, 2, 3, 5, 8}) {
    Numbered step(context(), 8);
    for (int64_t i = 0; i < 60; ++i) {
      step.give();
      if (i % every == 0) {
        EXPECT_EQ(step.answer(), i) << every;
      }
    }
    EXPECT_EQ(step.answer(), 59);
  }
}

TEST_F(CudaFlights, GoTogetherWhileTheDeviceIsBusy) {
  if (!test::can_be_busy(context())) GTEST_SKIP() << "this device does what it is given at once, or whenever it likes";
  Numbered step(context(), 8);
  step.give_apart(12);  // every slot is recorded when the next group begins
  for (uint64_t group = 0; group < 4; ++group) {
    step.keep_busy();
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(step.flights().groups(), group);
      EXPECT_TRUE(step.give());
    }
    EXPECT_EQ(step.flights().groups(), group + 1);
    const uint64_t first = step.flights().batches() - 4;
    for (uint64_t batch = first; batch < first + 4; ++batch) EXPECT_EQ(step.answer(batch), batch);
  }
  step.keep_busy();
  step.give();
  step.give();
  EXPECT_EQ(step.answer(), 29);
  step.give();
  step.give();
  EXPECT_EQ(step.answer(), 31);
  EXPECT_EQ(step.flights().groups(), 4U) << "somebody looked in between";
}

TEST_F(CudaFlights, NothingWaitsForAnIdleDevice) {
  Numbered step(context(), 8);
  step.give_apart(24);
  EXPECT_EQ(step.flights().groups(), 0U);
}

#if defined(MILLRACE_CUDA_EMULATED)
TEST_F(CudaFlights, MakeNoGraphTwice) {
  if (!test::can_be_busy(context())) GTEST_SKIP() << "when the device is busy is drawn";
  Numbered step(context(), 8);
  step.give_apart(12);
  for (int i = 0; i < 2; ++i) {
    const uint64_t graphs = emulation::counters().graphs, launches = emulation::counters().graph_launches;
    step.keep_busy();
    for (int give = 0; give < 4; ++give) step.give();
    EXPECT_EQ(emulation::counters().graph_launches, launches + 1);
    EXPECT_EQ(emulation::counters().graphs, graphs + 1) << "of each half of the slots";
  }
  const uint64_t graphs = emulation::counters().graphs;
  step.keep_busy();
  step.give();
  step.give();
  EXPECT_EQ(step.answer(), 21);
  EXPECT_EQ(emulation::counters().graphs, graphs) << "those that go alone are there already";
}

TEST_F(CudaFlights, GoOneByOneWhereADriverRefuses) {
  if (!test::can_be_busy(context())) GTEST_SKIP() << "when the device is busy is drawn";
  Numbered step(context(), 8);
  step.give_apart(12);
  emulation::refuse_child_graphs(true);
  step.keep_busy();
  const uint64_t before = emulation::counters().graph_launches;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(step.give());
  emulation::refuse_child_graphs(false);
  EXPECT_EQ(emulation::counters().graph_launches, before + 4);
  EXPECT_EQ(step.flights().groups(), 0U);
  EXPECT_NE(step.flights().failure().find("cudaGraphAddChildGraphNode"), std::string::npos) << step.flights().failure();
  EXPECT_EQ(step.answer(), 15);
  step.keep_busy();
  EXPECT_FALSE(step.give()) << "and so for good";
  EXPECT_EQ(step.answer(), 16);
}
#endif

}  // namespace
}  // namespace millrace

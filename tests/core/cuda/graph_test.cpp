// Replay on a GPU.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/replay.h"
#include "tests/support/cuda.h"

namespace millrace {
namespace {

// Takes a number from pinned memory to the device and back.
class Echo {
 public:
  explicit Echo(Context& context)
      : context_(context),
        from_(Memory::pinned(context.device(), sizeof(int32_t))),
        to_(Memory::pinned(context.device(), sizeof(int32_t))),
        between_(context.device(), sizeof(int32_t)) {}
  ~Echo() { context_.synchronize(); }

  void give() {
    ++given_;
    context_.copy_async(between_.data(), from_.data(), from_.bytes());
    context_.copy_async(to_.data(), between_.data(), to_.bytes());
  }
  // What comes back of `value` where `replay` runs `work`.
  template <class Work>
  int32_t answer(Replay& replay, int32_t value, const Work& work) {
    *static_cast<int32_t*>(from_.data()) = value;
    replay.run(context_, work);
    context_.synchronize();
    return *static_cast<const int32_t*>(to_.data());
  }
  int32_t answer(Replay& replay, int32_t value) {
    return answer(replay, value, [this] { give(); });
  }
  // How often the host gave the work.
  int given() const { return given_; }

 private:
  Context& context_;
  Memory from_, to_, between_;
  int given_ = 0;
};

class CudaReplay : public test::CudaTest {};

TEST_F(CudaReplay, RecordsTheSecondTime) {
  Echo echo(context());
  Replay replay;
  for (int32_t value = 1; value <= 5; ++value) {
    EXPECT_EQ(echo.answer(replay, value), value);
    EXPECT_EQ(replay.recorded(), value >= 2);
  }
  EXPECT_EQ(echo.given(), 2) << "as it is, and recorded";
}

TEST_F(CudaReplay, RecordsAtOnceWhatRanElsewhere) {
  Echo echo(context());
  Replay replay;
  replay.run(
      context(), [&] { echo.give(); }, true);
  EXPECT_TRUE(replay.recorded());
  EXPECT_EQ(echo.answer(replay, 5), 5);
  EXPECT_EQ(echo.given(), 1);
}

TEST_F(CudaReplay, RunsWhatCannotBeRecordedAsItIs) {
  Echo echo(context());
  Replay replay;
  for (int32_t value = 1; value <= 4; ++value) {
    const auto work = [&] {
      echo.give();
      context().synchronize();
    };
    EXPECT_EQ(echo.answer(replay, value, work), value);
    EXPECT_FALSE(replay.recorded());
    EXPECT_EQ(replay.failure().empty(), value < 4) << "three attempts";
  }
  Replay other;
  for (int32_t value = 1; value <= 3; ++value) EXPECT_EQ(echo.answer(other, value), value);
  EXPECT_TRUE(other.recorded()) << "the stream can be recorded again";
}

TEST_F(CudaReplay, AnErrorOfTheWorkEndsTheRecording) {
  Echo echo(context());
  Replay replay;
  EXPECT_EQ(echo.answer(replay, 1), 1);
  const auto fails = [&] {
    echo.give();
    throw ShapeError("does not fit");
  };
  EXPECT_THROW(echo.answer(replay, 2, fails), ShapeError);
  for (int32_t value = 3; value <= 5; ++value) EXPECT_EQ(echo.answer(replay, value), value);
}

// Each link adds a digit to what the one before it left in the device's memory.
TEST_F(CudaReplay, AChainIsOneLaunchInOrder) {
  constexpr size_t kLinks = 4, kBytes = 2 * sizeof(int32_t);
  const Memory values = Memory::pinned(context().device(), kLinks * sizeof(int32_t));
  const Memory out = Memory::pinned(context().device(), kLinks * sizeof(int32_t));
  const Memory there(context().device(), kLinks * kBytes);
  auto* const digits = static_cast<int32_t*>(values.data());
  auto* const device = static_cast<int32_t*>(there.data());
  std::vector<Replay> replays(kLinks);
  std::vector<const Replay*> links;
  for (size_t i = 0; i < kLinks; ++i) {
    // What came last lies at 0: the next link takes it on, and puts its own there.
    const auto work = [&] {
      context().copy_async(device + i + 1, device, sizeof(int32_t));
      context().copy_async(device, digits + i, sizeof(int32_t));
    };
    replays[i].run(context(), work, true);
    ASSERT_TRUE(replays[i].recorded());
    links.push_back(&replays[i]);
  }
  ReplayChain chain;
  for (int32_t round = 1; round <= 3; ++round) {
    for (size_t i = 0; i < kLinks; ++i) digits[i] = 10 * round + static_cast<int32_t>(i);
    chain.launch(context(), links);
    context().copy_async(out.data(), device + 1, out.bytes());
    context().synchronize();
    const auto* const seen = static_cast<const int32_t*>(out.data());
    for (size_t i = 1; i < kLinks; ++i) EXPECT_EQ(seen[i], digits[i - 1]) << round;
  }
  EXPECT_EQ(chain.failure(), "");
}

TEST_F(CudaReplay, ThreadsRecordAtTheSameTime) {
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&wrong, t, device = context().device()] {
      Executor executor(1);
      Context own(device, executor);
      for (int round = 0; round < 10; ++round) {
        Echo echo(own);
        Replay replay;
        for (int32_t value = 1; value <= 4; ++value) {
          if (echo.answer(replay, value) != value || replay.recorded() != (value >= 2)) ++wrong[t];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace millrace

#include "millrace/core/library_call.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "millrace/core/threads/executor.h"

namespace millrace {
namespace {

TEST(LibraryCall, MarksThisThreadUntilTheBlockEnds) {
  EXPECT_FALSE(LibraryCall::active());
  {
    const LibraryCall outer;
    EXPECT_TRUE(LibraryCall::active());
    {
      const LibraryCall inner;
      std::thread([] { EXPECT_FALSE(LibraryCall::active()); }).join();
    }
    EXPECT_TRUE(LibraryCall::active());
    {
      const OwnCode callback;
      EXPECT_FALSE(LibraryCall::active());
      const LibraryCall nested;
      EXPECT_TRUE(LibraryCall::active());
    }
    EXPECT_TRUE(LibraryCall::active());
  }
  EXPECT_FALSE(LibraryCall::active());
}

struct MarkTask : Task {
  std::atomic<int>* marked = nullptr;
  void run() noexcept override { *marked += LibraryCall::active() ? 1 : 0; }
};

TEST(LibraryCall, BodiesOnAnExecutorAreOwnCode) {
  for (const int threads : {1, 3}) {
    Executor executor(threads);
    std::atomic<int> marked{0};
    const auto look = [&](int64_t) { marked += LibraryCall::active() ? 1 : 0; };
    executor.parallel_for(100, look);
    executor.run([&] {
      look(0);
      executor.parallel_for(100, look);
      look(0);
    });
    TaskGroup group(executor);
    MarkTask task;
    task.marked = &marked;
    group.submit(task);
    group.wait();
    EXPECT_EQ(marked.load(), 0);
    EXPECT_FALSE(LibraryCall::active());
  }
}

}  // namespace
}  // namespace millrace

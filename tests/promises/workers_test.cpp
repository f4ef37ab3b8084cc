// P1 with workers: whoever decodes, comes and goes, the weights stay the same.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tests/promises/training.h"
#include "tests/trainer/remote/remote_testing.h"

namespace millrace::testing {
namespace {

using testing_support::RunningWorker;

constexpr size_t kWorkers = 8;

class WorkersPromise : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ZMQ();
    write_data(folder_);
    for (size_t i = 0; i < kWorkers; ++i) {
      workers_.push_back(std::make_unique<RunningWorker>(folder_.path()));
      endpoints_.push_back(workers_.back()->endpoint());
    }
  }
  TrainResult train(const char* fallback, int chunk_bytes = 100, const char* delivery = "native") const {
    Setting setting{.chunk_bytes = chunk_bytes, .delivery = delivery};
    if (fallback != nullptr) {
      setting.more = "workers: {connect: [";
      for (const std::string& endpoint : endpoints_) setting.more += cat(quote(endpoint), ',');
      setting.more += cat("], fallback: ", fallback, "}\n");
    }
    return make_trainer(folder_, setting).run();
  }

  const TempFolder folder_;
  std::vector<std::unique_ptr<RunningWorker>> workers_;
  std::vector<std::string> endpoints_;
};

TEST_F(WorkersPromise, EightWorkersChangeNothing) {
  const TrainResult expected = train(nullptr);
  for (const char* fallback : {"local", "wait", "fail"}) {
    for (const int chunk_bytes : {100, 1000}) {
      for (const char* delivery : {"native", "feed", "queue"}) {
        const TrainResult result = train(fallback, chunk_bytes, delivery);
        ASSERT_EQ(result.weights, expected.weights) << fallback << ' ' << chunk_bytes << ' ' << delivery;
        ASSERT_EQ(result.loss, expected.loss);
      }
    }
  }
  uint64_t rows = 0;
  for (const auto& worker : workers_) rows += worker->server().counts().rows;
  EXPECT_GT(rows, uint64_t{kAllRows});
}

TEST_F(WorkersPromise, ComingAndGoingChangesNothing) {
  const TrainResult expected = train(nullptr);
  const std::jthread restarts([this](const std::stop_token& end) {
    for (size_t i = 0; !end.stop_requested(); i = (i + 1) % (kWorkers - 1)) {  // one stays
      workers_[i] = nullptr;
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      workers_[i] = std::make_unique<RunningWorker>(folder_.path(), endpoints_[i]);
    }
  });
  for (int round = 0; round < 2; ++round) {
    for (const char* fallback : {"local", "wait"}) {
      EXPECT_EQ(train(fallback).weights, expected.weights) << fallback;
    }
  }
}

}  // namespace
}  // namespace millrace::testing

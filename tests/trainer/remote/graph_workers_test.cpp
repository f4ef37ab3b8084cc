#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/input/compressed/compressing.h"
#include "tests/trainer/remote/pool_testing.h"

namespace millrace::testing_support {
namespace {

using GraphWorkersTest = WorkersTest;

void expect_end_by_cancel(Pipeline& pipeline, RowBlock& slot) {
  std::thread cancels([&pipeline] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    pipeline.cancel();
  });
  while (pipeline.next(slot) > 0) {
  }
  cancels.join();
  EXPECT_TRUE(pipeline.cancelled());
}

TEST_F(GraphWorkersTest, OneOfTwoGraphsMayEnd) {
  const Lines expected = lines(graph(nullptr));
  RunningWorker worker(folder_.path());
  const auto pool = workers({worker.endpoint()}, WorkerFallback::wait);
  const Lines got = lines(graph(pool), [&](int batch) {
    if (batch % 40 == 5) {
      EXPECT_EQ(lines(graph(pool)), expected);
    } else if (batch % 40 == 7) {
      Pipeline given_up(graph(pool), {.executor = &executor_});
      RowBlock slot = given_up.make_slot();
      given_up.next(slot);
    }
  });
  EXPECT_EQ(got, expected);
}

TEST_F(GraphWorkersTest, ARunThatIsCancelledDoesNotWaitForWorkers) {
  RunningWorker worker(folder_.path());
  Pipeline pipeline(graph(workers({worker.endpoint()}, WorkerFallback::wait)), {.executor = &executor_});
  RowBlock slot = pipeline.make_slot();
  pipeline.next(slot);
  worker.stop();
  expect_end_by_cancel(pipeline, slot);
}

#ifdef MILLRACE_TESTS_COMPRESSED
// Rows of a gzip file are decoded here, from what workers read.
TEST_F(GraphWorkersTest, APipelineEndsWhileItsTasksWaitForFiles) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += cat(i, ',', i * 7, ",1\n");
  folder_.write("c.csv.gz", gzip_of(text));
  RunningWorker worker(folder_.path());
  const auto pool = workers({worker.endpoint()}, WorkerFallback::wait);
  const std::string list =
      "- filename_queue: {files: c.csv.gz}\n- csv_reader: {chunk_bytes: 4096}\n"
      "- decode_csv: {fields: {x: {columns: 0}}}\n- batch: {batch_size: 100}\n";
  Pipeline training(graph(pool, list), {.executor = &executor_});
  RowBlock slot = training.make_slot();
  EXPECT_EQ(training.next(slot), 100);
  {
    Pipeline validation(graph(pool, list), {.executor = &executor_});
    EXPECT_EQ(validation.next(slot), 100);
  }
  for (int batch = 0; batch < 500; ++batch) EXPECT_EQ(training.next(slot), 100) << "the other one has ended";
  worker.stop();
  expect_end_by_cancel(training, slot);
}
#endif

}  // namespace
}  // namespace millrace::testing_support

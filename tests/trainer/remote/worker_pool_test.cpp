#include "millrace/trainer/remote/worker_pool.h"

#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "tests/trainer/remote/pool_testing.h"

namespace millrace::testing_support {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

using WorkerPoolTest = WorkersTest;

TEST_F(WorkerPoolTest, RowsAreThoseOfALocalRun) {
  const Lines expected = lines(graph(nullptr));
  ASSERT_GT(expected.size(), 5000u);
  RunningWorker first(folder_.path()), second(folder_.path());
  for (const WorkerFallback fallback : {WorkerFallback::local, WorkerFallback::wait}) {
    const uint64_t before = first.server().counts().rows;
    EXPECT_EQ(lines(graph(workers({first.endpoint(), second.endpoint()}, fallback))), expected);
    EXPECT_GT(first.server().counts().rows, before);
  }
  EXPECT_GT(second.server().counts().rows, 0u);
}

TEST_F(WorkerPoolTest, TheTrainerNeedsNoFiles) {
  const Lines expected = lines(graph(nullptr));
  RunningWorker worker(folder_.path());
  const TempFolder* const elsewhere = &folder_;
  std::filesystem::create_directory(elsewhere->path("empty"));
  std::filesystem::current_path(elsewhere->path("empty"));
  EXPECT_EQ(lines(graph(workers({worker.endpoint()}, WorkerFallback::wait))), expected);
  EXPECT_THROW(graph(workers({worker.endpoint()}, WorkerFallback::local)), MissingError);
}

TEST_F(WorkerPoolTest, WithoutWorkersFallbackDecides) {
  const Lines expected = lines(graph(nullptr));
  const std::string nobody = "tcp://127.0.0.1:1";
  EXPECT_EQ(lines(graph(workers({nobody}, WorkerFallback::local))), expected);
}

TEST_F(WorkerPoolTest, WorkersMayComeAndGo) {
  const Lines expected = lines(graph(nullptr));
  auto first = std::make_unique<RunningWorker>(folder_.path());
  const std::string endpoint = first->endpoint();
  std::unique_ptr<RunningWorker> second;
  const Lines got = lines(graph(workers({endpoint, "tcp://127.0.0.1:1"}, WorkerFallback::local)), [&](int batch) {
    if (batch == 20) first.reset();
    if (batch == 60) second = std::make_unique<RunningWorker>(folder_.path(), endpoint);
    if (batch > 60) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  EXPECT_EQ(got, expected);
  EXPECT_THAT(news_, Contains(HasSubstr("is lost")));
}

TEST_F(WorkerPoolTest, AWorkerWithOtherDataIsRefusedByName) {
  const Lines expected = lines(graph(nullptr));
  std::filesystem::create_directory(folder_.path("other"));
  for (const char* name : {"a.csv", "b.csv"}) {
    std::filesystem::copy(folder_.path(name), folder_.path(cat("other/", name)));
  }
  std::ofstream(folder_.path("other/b.csv"), std::ios::app) << "1,2,3\n";
  RunningWorker good(folder_.path()), other(folder_.path("other"));
  EXPECT_EQ(lines(graph(workers({other.endpoint(), good.endpoint()}, WorkerFallback::local))), expected);
  EXPECT_THAT(news_,
              Contains(HasSubstr(cat("worker ", other.endpoint(), " is not used: it has other data: b.csv has"))));
  EXPECT_EQ(other.server().counts().rows, 0u);

  const Lines got = lines(graph(workers({good.endpoint(), other.endpoint()}, WorkerFallback::wait)));
  ASSERT_EQ(got.size(), 1u) << "not one row is used";
  EXPECT_THAT(got.front(), HasSubstr("error workers see different files: b.csv has"));
  EXPECT_THAT(got.front(), HasSubstr(good.endpoint()));
  EXPECT_THAT(got.front(), HasSubstr(other.endpoint()));
}

TEST_F(WorkerPoolTest, AWorkerWithOtherDataMayComeLater) {
  const std::string other_list =
      "- filename_queue: {files: a.csv, epochs: 1}\n- csv_reader\n"
      "- decode_csv: {fields: {x: {columns: 0}}}\n- batch: {batch_size: 100}\n";
  const Lines expected = lines(graph(nullptr)), expected_later = lines(graph(nullptr, other_list));
  const TempFolder* const here = &folder_;
  std::filesystem::create_directory(here->path("other"));
  here->write("other/a.csv", "0,0.5,0\n");
  here->write("other/b.csv", "0,0.5,0\n");
  RunningWorker good(folder_.path());
  auto other = std::make_unique<RunningWorker>(folder_.path("other"));
  const std::string endpoint = other->endpoint();
  other.reset();
  const auto pool = workers({good.endpoint(), endpoint}, WorkerFallback::wait);
  EXPECT_EQ(lines(graph(pool)), expected);
  other = std::make_unique<RunningWorker>(folder_.path("other"), endpoint);
  // A second graph, as that of a validation: the worker is refused, and nothing ends.
  for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(lines(graph(pool, other_list)), expected_later);
  EXPECT_EQ(other->server().counts().rows, 0u);
}

TEST_F(WorkerPoolTest, OneOfTwoGraphsMayEnd) {
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

TEST_F(WorkerPoolTest, ErrorsAreThoseOfALocalRun) {
  RunningWorker worker(folder_.path());
  std::ofstream(folder_.path("b.csv"), std::ios::app) << "7,x,1\n8,y,1\n";
  for (const char* options : {"", ", on_bad_row: skip", ", on_bad_row: skip, max_bad_rows: 3",
                              ", on_bad_row: skip, bad_rows_file: bad.jsonl"}) {
    const Lines expected = lines(graph(nullptr, list(options)));
    EXPECT_EQ(lines(graph(workers({worker.endpoint()}, WorkerFallback::wait), list(options))), expected) << options;
  }
  EXPECT_GT(worker.server().counts().rows, 0u);
}

TEST_F(WorkerPoolTest, AStateGoesOnWithOtherWorkers) {
  const Lines expected = lines(graph(nullptr));
  RunningWorker worker(folder_.path());
  State state;
  {
    Pipeline pipeline(graph(workers({worker.endpoint()}, WorkerFallback::wait)), {.executor = &executor_});
    RowBlock slot = pipeline.make_slot();
    for (int i = 0; i < 50; ++i) pipeline.next(slot);
    state = pipeline.save();
  }
  for (const auto& pool : {workers({worker.endpoint()}, WorkerFallback::local), std::shared_ptr<Workers>()}) {
    Pipeline pipeline(graph(pool), {.executor = &executor_});
    pipeline.restore(state);
    RowBlock slot = pipeline.make_slot();
    Lines rest;
    while (pipeline.next(slot) > 0) {
      for (int64_t row = 0; row < slot.size(); ++row) {
        rest.push_back(cat(pipeline.place(slot.id(row)).text(), ' ', row_text(slot, row)));
      }
    }
    EXPECT_EQ(rest, Lines(expected.begin() + 50 * 23, expected.end()));
  }
}

TEST_F(WorkerPoolTest, ARunThatIsCancelledDoesNotWaitForWorkers) {
  RunningWorker worker(folder_.path());
  Pipeline pipeline(graph(workers({worker.endpoint()}, WorkerFallback::wait)), {.executor = &executor_});
  RowBlock slot = pipeline.make_slot();
  pipeline.next(slot);
  worker.stop();
  std::thread cancels([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    pipeline.cancel();
  });
  while (pipeline.next(slot) > 0) {
  }
  cancels.join();
  EXPECT_TRUE(pipeline.cancelled());
}

}  // namespace
}  // namespace millrace::testing_support

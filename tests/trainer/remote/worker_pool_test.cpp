#include "millrace/trainer/remote/worker_pool.h"

#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "tests/trainer/remote/pool_testing.h"

namespace millrace::testing_support {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
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

// The graph of a validation is made while the training's is in use.
std::string second_list() {
  return "- filename_queue: {files: second.csv, epochs: 1}\n- csv_reader\n- decode_csv: {fields: {x: {columns: 0}}}\n"
         "- batch: {batch_size: 100}\n";
}

TEST_F(WorkerPoolTest, AWorkerWithOtherDataForOneGraphDecodesTheOthers) {
  const Lines expected = lines(graph(nullptr));
  folder_.write("second.csv", "1,2,3\n4,5,6\n");
  const Lines expected_second = lines(graph(nullptr, second_list()));
  std::filesystem::create_directory(folder_.path("other"));
  for (const char* name : {"a.csv", "b.csv"}) {
    std::filesystem::copy(folder_.path(name), folder_.path(cat("other/", name)));
  }
  for (const char* text : {"", "1,2,3\n4,5,60\n"}) {
    if (*text != '\0') folder_.write("other/second.csv", text);
    news_.clear();
    RunningWorker other(folder_.path("other"));
    const auto pool = workers({other.endpoint()}, WorkerFallback::local);
    const Lines got = lines(graph(pool), [&](int batch) {
      if (batch != 10) return;
      EXPECT_EQ(lines(graph(pool, second_list())), expected_second);
    });
    EXPECT_EQ(got, expected);
    EXPECT_THAT(news_, ElementsAre(HasSubstr("is not used for some rows: ")));
    EXPECT_GT(other.server().counts().rows, 5000u);
  }
}

TEST_F(WorkerPoolTest, AWorkerWithOtherDataMayComeLater) {
  const Lines expected = lines(graph(nullptr));
  std::filesystem::create_directory(folder_.path("other"));
  for (const char* name : {"other/a.csv", "other/b.csv"}) folder_.write(name, "0,0.5,0\n");
  RunningWorker good(folder_.path());
  auto other = std::make_unique<RunningWorker>(folder_.path("other"));
  const std::string endpoint = other->endpoint();
  other.reset();
  const auto pool = workers({good.endpoint(), endpoint}, WorkerFallback::wait);
  EXPECT_EQ(lines(graph(pool)), expected);
  other = std::make_unique<RunningWorker>(folder_.path("other"), endpoint);
  for (int pass = 0; news_.empty() && pass < 1000; ++pass) EXPECT_EQ(lines(graph(pool)), expected);
  EXPECT_THAT(news_, ElementsAre(HasSubstr(cat("worker ", endpoint, " is not used: it has other data"))));
  EXPECT_EQ(other->server().counts().rows, 0u);
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

// Its middle differs, which no comparison sees.
TEST_F(WorkerPoolTest, AWorkerIsNotUsedAgainIfItsFilesWereWrittenTo) {
  const std::string row = "0.25,0.5,1\n";
  std::string text;
  for (int i = 0; i < 3000; ++i) text += row;
  std::filesystem::create_directory(folder_.path("worker"));
  for (const char* name : {"a.csv", "b.csv", "worker/a.csv", "worker/b.csv"}) {
    std::filesystem::last_write_time(folder_.write(name, text), {});
  }
  const Lines expected = lines(graph(nullptr));
  auto worker = std::make_unique<RunningWorker>(folder_.path("worker"));
  const std::string endpoint = worker->endpoint();
  text[text.size() / 2 / row.size() * row.size() + 3] = '6';
  const Lines got = lines(graph(workers({endpoint}, WorkerFallback::local)), [&](int batch) {
    if (batch == 10) {
      worker.reset();
      folder_.write("worker/a.csv", text);
    } else if (batch == 20) {
      worker = std::make_unique<RunningWorker>(folder_.path("worker"), endpoint);
    } else if (batch > 20 && news_.size() < 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  EXPECT_EQ(got, expected);
  EXPECT_THAT(news_, Contains(HasSubstr("is not used: its files were written to since it was first used")));
}

TEST_F(WorkerPoolTest, OthersAreAskedUntilAllHaveFailed) {
  WorkerOptions options;
  options.connect = {"tcp://127.0.0.1:1", "tcp://127.0.0.1:2"};
  for (const WorkerFallback fallback : {WorkerFallback::wait, WorkerFallback::fail}) {
    options.fallback = fallback;
    const WorkerPool pool(options);
    WorkerPool::Failures failures(pool);
    EXPECT_TRUE(failures.may_ask_others(1));
    EXPECT_TRUE(failures.may_ask_others(1));
    EXPECT_FALSE(failures.may_ask_others(0));
  }
  options.fallback = WorkerFallback::local;
  const WorkerPool pool(options);
  EXPECT_FALSE(WorkerPool::Failures(pool).may_ask_others(0)) << "the file is here";
}

}  // namespace
}  // namespace millrace::testing_support

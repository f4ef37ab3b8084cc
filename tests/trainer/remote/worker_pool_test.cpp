#include "millrace/trainer/remote/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/input/workers.h"
#include "tests/input/op_testing.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/remote/remote_testing.h"

namespace millrace::testing_support {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using Lines = std::vector<std::string>;

class WorkerPoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ZMQ();
    before_ = std::filesystem::current_path();
    write_data(folder_, 2000);
    std::filesystem::current_path(folder_.path());
  }
  void TearDown() override {
    if (!before_.empty()) std::filesystem::current_path(before_);
  }
  static void write_data(const TempFolder& folder, int rows) {
    std::string text;
    for (int i = 0; i < rows; ++i) text += cat(i, ",0.5,", i % 3, '\n');
    folder.write("a.csv", text);
    folder.write("b.csv", text.substr(0, text.find("1000,")));
  }
  static std::string list(const std::string& options = {}) {
    return cat("- filename_queue: {files: '?.csv', epochs: 2}\n- csv_reader: {chunk_bytes: 500}\n",
               "- decode_csv: {fields: {x: {columns: 0-1}, y: {columns: 2, type: int32}}", options,
               "}\n- shuffle_batch: {batch_size: 23, capacity: 200, min_after_dequeue: 100}\n");
  }
  static std::shared_ptr<Workers> workers(std::vector<std::string> connect, WorkerFallback fallback) {
    WorkerOptions options;
    options.connect = std::move(connect);
    options.ahead = 4;
    options.fallback = fallback;
    return make_workers(options);
  }
  InputGraph graph(std::shared_ptr<Workers> pool, const std::string& ops = list()) {
    return InputGraph::build(parse_yaml(ops, "input.yaml"), builtin_ops(), {.seed = 23, .workers = std::move(pool)});
  }
  Lines lines(InputGraph built, const std::function<void(int)>& after_batch = {}) {
    Pipeline pipeline(std::move(built), {.executor = &executor_,
                                         .on_print = [this](std::string_view line) { news_.emplace_back(line); }});
    RowBlock slot = pipeline.make_slot();
    Lines out;
    try {
      for (int batch = 0; pipeline.next(slot) > 0; ++batch) {
        for (int64_t row = 0; row < slot.size(); ++row) {
          out.push_back(cat(pipeline.place(slot.id(row)).text(), ' ', row_text(slot, row)));
        }
        if (after_batch) after_batch(batch);
      }
    } catch (const Error& error) {
      out.push_back(cat("error ", error.what()));
    }
    return out;
  }

  TempFolder folder_;
  std::filesystem::path before_;
  Executor executor_{2};
  Lines news_;
};

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

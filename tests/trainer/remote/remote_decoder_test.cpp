#include "millrace/trainer/remote/remote_decoder.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/trainer/remote/pool_testing.h"

namespace millrace::testing_support {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// The data of the workers is a copy, which changes while they read it.
class RemoteDecoderTest : public WorkersTest {
 protected:
  void SetUp() override {
    WorkersTest::SetUp();
    if (IsSkipped()) return;
    for (const char* folder : {"first", "second"}) {
      std::filesystem::create_directory(folder_.path(folder));
      for (const char* name : {"a.csv", "b.csv"}) {
        std::filesystem::copy(folder_.path(name), folder_.path(cat(folder, "/", name)));
      }
    }
  }
  // The same length, but other numbers.
  std::string other_text(const std::string& name) const {
    std::string text = TempFolder::read(folder_.path(name));
    for (size_t at = text.find("0.5"); at != text.npos; at = text.find("0.5", at)) text[at + 2] = '6';
    return text;
  }
  void replace(const std::string& name) const {
    std::filesystem::rename(folder_.write("new", other_text(name)), folder_.path(name));
  }
};

TEST_F(RemoteDecoderTest, RowsOfAFileThatChangesAreDecodedElsewhere) {
  const Lines expected = lines(graph(nullptr));
  const std::string changed = "the file has changed since the worker compared it";
  const std::vector<std::pair<std::function<void()>, std::string>> changes = {
      {[&] { replace("first/a.csv"); }, changed},
      {[&] { folder_.write("first/b.csv", other_text("first/b.csv")); }, changed},
      {[&] { std::filesystem::remove(folder_.path("first/a.csv")); }, "a.csv"}};
  for (const auto& [change, news] : changes) {
    for (const WorkerFallback fallback : {WorkerFallback::local, WorkerFallback::wait, WorkerFallback::fail}) {
      for (const char* name : {"a.csv", "b.csv"}) {
        std::filesystem::copy_file(folder_.path(name), folder_.path(cat("first/", name)),
                                   std::filesystem::copy_options::overwrite_existing);
        // The times of a change have steps of a few milliseconds.
        std::filesystem::last_write_time(folder_.path(cat("first/", name)), {});
      }
      SCOPED_TRACE(cat(news, ' ', static_cast<int>(fallback)));
      news_.clear();
      RunningWorker first(folder_.path("first")), second(folder_.path("second"));
      const Lines got = lines(graph(workers({first.endpoint(), second.endpoint()}, fallback)), [&](int batch) {
        if (batch == 10) change();
      });
      EXPECT_EQ(got, expected) << news;
      EXPECT_THAT(news_, Contains(HasSubstr(cat("worker ", first.endpoint(), " is not used: "))));
      EXPECT_THAT(news_, Contains(HasSubstr(news)));
      EXPECT_GT(second.server().counts().rows, 0u);
    }
  }
}

TEST_F(RemoteDecoderTest, WhatNoWorkerCanReadIsDecodedHere) {
  const Lines expected = lines(graph(nullptr));
  RunningWorker only(folder_.path("first"));
  const Lines got = lines(graph(workers({only.endpoint()}, WorkerFallback::local)), [&](int batch) {
    if (batch == 10) replace("first/a.csv");
  });
  EXPECT_EQ(got, expected);
  EXPECT_THAT(news_, Contains(HasSubstr("a.csv: the file has changed since the worker compared it")));
}

}  // namespace
}  // namespace millrace::testing_support

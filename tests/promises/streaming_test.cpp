// P5: what a run holds does not depend on how much data goes through it. The files are made of nothing as they are
// read, so the data may be larger than any disk.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing::begin_peak;
using testing::held_bytes;
using testing::peak_bytes;

constexpr uint64_t kMegabyte = 1000000;

// One file, of lines that repeat.
class EndlessFiles : public FileSystem {
 public:
  EndlessFiles(std::string lines, uint64_t bytes) : lines_(std::move(lines)), bytes_(bytes - bytes % lines_.size()) {}

  std::unique_ptr<File> open(const std::string&) override { return std::make_unique<Repeated>(*this); }
  std::unique_ptr<ByteStream> open_stream(const std::string&) override { return std::make_unique<Stream>(*this); }
  Type type(const std::string& path) override { return path == "-" ? Type::stream : Type::file; }
  std::vector<std::string> match(const std::string& pattern) override { return {pattern}; }
  std::vector<std::string> list(const std::string&) override { return {}; }

  size_t copy(uint64_t offset, char* to, size_t bytes) const {
    bytes = static_cast<size_t>(std::min<uint64_t>(bytes, bytes_ - std::min(offset, bytes_)));
    for (size_t done = 0; done < bytes;) {
      const size_t begin = static_cast<size_t>((offset + done) % lines_.size());
      const size_t count = std::min(bytes - done, lines_.size() - begin);
      std::memcpy(to + done, lines_.data() + begin, count);
      done += count;
    }
    return bytes;
  }

 private:
  class Repeated : public File {
   public:
    explicit Repeated(const EndlessFiles& files) : files_(files) {}
    uint64_t size() const override { return files_.bytes_; }
    size_t read(uint64_t offset, void* to, size_t bytes) const override {
      return files_.copy(offset, static_cast<char*>(to), bytes);
    }

   private:
    const EndlessFiles& files_;
  };

  class Stream : public ByteStream {
   public:
    explicit Stream(const EndlessFiles& files) : files_(files) {}
    size_t read(void* to, size_t bytes) override {
      const size_t got = files_.copy(at_, static_cast<char*>(to), bytes);
      at_ += got;
      return got;
    }
    void interrupt() noexcept override {}

   private:
    const EndlessFiles& files_;
    uint64_t at_ = 0;
  };

  const std::string lines_;
  const uint64_t bytes_;
};

// 64 records of numbers and a text that differs in length, some of them quoted over two lines.
std::string some_lines() {
  std::string out;
  for (int i = 0; i < 64; ++i) {
    for (int column = 0; column < 40; ++column) out += cat(i, '.', column * 37 % 1000, ',');
    out += i % 8 == 0 ? "\"a\nb\"" : std::string(static_cast<size_t>(i), 'x');
    out += '\n';
  }
  return out;
}

size_t count_of_entries(const char* folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

struct Held {
  int64_t bytes = 0;   // the most
  uint64_t bound = 0;  // that the graph announced
  size_t threads = 0, descriptors = 0;
};

Held stream(const std::string& fields, const std::string& path, uint64_t bytes, FileSystem* files) {
  Held out;
  const int64_t before = held_bytes();
  begin_peak();
  Executor executor(2);
  Pipeline pipeline(InputGraph::build(parse_yaml(cat("- filename_queue: {files: '", path,
                                                     "', epochs: 1}\n- csv_reader\n- decode_csv: "
                                                     "{fields: {",
                                                     fields,
                                                     "}}\n- shuffle_batch: {batch_size: 64, capacity: 2000, "
                                                     "min_after_dequeue: 1000, threads: 2}\n"),
                                                 "input.yaml"),
                                      builtin_ops(), {.seed = 1, .files = files}),
                    {.executor = &executor});
  out.bound = pipeline.graph().memory_bound(2);
  RowBlock slot = pipeline.make_slot();
  uint64_t batches = 0;
  while (pipeline.next(slot) > 0) ++batches;
  EXPECT_GT(batches, bytes / 64 / 1000);
  out.threads = count_of_entries("/proc/self/task");
  out.descriptors = count_of_entries("/proc/self/fd");
  out.bytes = peak_bytes() - before;
  return out;
}

void expect_constant(const std::string& fields, const std::string& path, uint64_t small, uint64_t large) {
  const std::string lines = some_lines();
  EndlessFiles few(lines, small), many(lines, large);
  stream(fields, path, small, &few);  // what is made once a process
  const Held first = stream(fields, path, small, &few), second = stream(fields, path, large, &many);
  EXPECT_LE(static_cast<double>(second.bytes), 1.05 * static_cast<double>(first.bytes)) << path;
  EXPECT_EQ(second.threads, first.threads);
  EXPECT_EQ(second.descriptors, first.descriptors);
  ::testing::Test::RecordProperty("peak_bytes", std::to_string(second.bytes));
}

TEST(Streaming, TwoGigabytesTakeNoMoreThanTwoHundredMegabytes) {
  expect_constant("x: {columns: 0-39}", "data.csv", 200 * kMegabyte, 2000 * kMegabyte);
}

TEST(Streaming, NorDoTexts) {
  expect_constant("x: {columns: 0-39}, s: {columns: 40, type: string, default: ''}", "data.csv", 40 * kMegabyte,
                  400 * kMegabyte);
}

// How far a pipe is read ahead is a matter of timing, but not how far at most.
TEST(Streaming, StaysWithinItsBound) {
  for (const char* path : {"data.csv", "-"}) {
    EndlessFiles files(some_lines(), 200 * kMegabyte);
    const Held held = stream("x: {columns: 0-39}", path, 200 * kMegabyte, &files);
    EXPECT_LE(held.bytes, static_cast<int64_t>(held.bound) + 2000000) << path << ": threads and the graph itself";
  }
}

TEST(Streaming, ManyFilesKeepFewOpen) {
  const TempFolder folder;
  for (int i = 0; i < 1000; ++i) folder.write(cat("f", i, ".csv"), some_lines());
  const size_t before = count_of_entries("/proc/self/fd");
  const Held held = stream("x: {columns: 0-39}", folder.path("*.csv"), 1000 * some_lines().size(), nullptr);
  EXPECT_LE(held.descriptors, before + 70);
}

}  // namespace
}  // namespace millrace

#include "millrace/input/files/stream_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;

class StreamFileTest : public ::testing::Test {
 protected:
  std::unique_ptr<StreamFile> open(std::vector<std::string> pieces, size_t part_bytes = 8) {
    files_.streams["-"] = std::move(pieces);
    auto file = std::make_unique<StreamFile>(files_.open_stream("-"));
    file->set_part_bytes(part_bytes);
    return file;
  }
  // All that is still to come, part by part.
  static Lines parts(StreamFile& file, uint64_t end = 0) {
    Lines out;
    while (const auto part = file.take()) {
      EXPECT_EQ(part->begin, end);
      end = part->end();
      out.push_back(part->bytes);
    }
    return out;
  }
  static std::string joined(const Lines& lines) {
    std::string out;
    for (const std::string& line : lines) out += line;
    return out;
  }
  MemoryFiles files_;
};

TEST_F(StreamFileTest, PartsEndBehindALineEnd) {
  const auto file = open({"a,1\nb", ",2\nc,3", "333333333", "33\nd"});
  const Lines all = parts(*file);
  EXPECT_EQ(joined(all), "a,1\nb,2\nc,333333333333\nd");
  ASSERT_GE(all.size(), 2u);
  for (size_t i = 0; i + 1 < all.size(); ++i) EXPECT_EQ(all[i].back(), '\n') << all[i];
  EXPECT_TRUE(file->ready());
  EXPECT_TRUE(file->at_end());
  EXPECT_EQ(file->take(), nullptr) << "again";
}

TEST_F(StreamFileTest, PartsAreNoLargerThanWantedButForLongerLines) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += cat(i, "\n");
  for (const size_t size : {1u, 4u, 5u, 64u}) {
    const auto file = open({text.substr(0, 1000), text.substr(1000)}, size);
    const Lines all = parts(*file);
    EXPECT_EQ(joined(all), text);
    for (const std::string& part : all) {
      EXPECT_TRUE(part.size() <= size || std::count(part.begin(), part.end(), '\n') == 1) << part;
    }
  }
}

TEST_F(StreamFileTest, AnEmptyStreamHasNoPart) {
  const auto file = open({});
  EXPECT_EQ(file->take(), nullptr);
  char byte = 0;
  EXPECT_EQ(file->read(0, &byte, 1), 0u);
}

TEST_F(StreamFileTest, ReadsWhatFollowsAPart) {
  const auto file = open({"ab\n", "cd\nef\n", "g"}, 3);
  const auto first = file->take();
  ASSERT_EQ(first->bytes, "ab\n");
  std::string text(7, ' ');
  size_t got = 0;
  while (got < 7) {
    const size_t more = file->read(3 + got, text.data() + got, 7 - got);
    ASSERT_GT(more, 0u);
    got += more;
  }
  EXPECT_EQ(text, "cd\nef\ng");
  EXPECT_EQ(file->read(10, text.data(), 1), 0u) << "the end";
  EXPECT_EQ(joined(parts(*file, 3)), "cd\nef\ng") << "they are still to be taken";
}

TEST_F(StreamFileTest, InterruptEndsWhatWaits) {
  files_.waiting = {"-"};
  for (int round = 0; round < 100; ++round) {
    const auto file = open({"a\n", "b"});
    EXPECT_EQ(file->take()->bytes, "a\n");
    EXPECT_FALSE(file->at_end());
    std::thread taker([&] { EXPECT_EQ(file->take(), nullptr); });
    std::thread reader([&] {
      char byte = 0;
      EXPECT_EQ(file->read(3, &byte, 1), 0u);
    });
    file->interrupt();
    taker.join();
    reader.join();
    EXPECT_TRUE(file->ready());
  }
}

TEST_F(StreamFileTest, AnErrorComesBehindTheData) {
  files_.failing = {"-"};
  const auto file = open({"a\n", "b\n"}, 2);
  EXPECT_EQ(file->take()->bytes, "a\n");
  EXPECT_EQ(file->take()->bytes, "b\n");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(error_of([&] { file->take(); }), "-: cannot read the file: Input/output error");
    char byte = 0;
    EXPECT_EQ(error_of([&] { static_cast<void>(file->read(4, &byte, 1)); }),
              "-: cannot read the file: Input/output error");
  }
}

TEST_F(StreamFileTest, WakesWhoeverFoundItNotReady) {
  const auto file = open({"a\n"});
  std::atomic<bool> woken = false;
  file->set_wake([&] {
    woken = true;
    woken.notify_all();
  });
  if (!file->ready()) woken.wait(false);
  EXPECT_TRUE(file->ready());
  EXPECT_EQ(file->take()->bytes, "a\n");
  file->set_wake({});
}

// Of the file system of this machine.
TEST_F(StreamFileTest, ReadsANamedPipe) {
  const std::string path = testing::TempDir() + "stream_file_test.pipe";
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(FileSystem::local().type(path), FileSystem::Type::stream);
  EXPECT_EQ(FileSystem::local().type("-"), FileSystem::Type::stream);
  StreamFile file(FileSystem::local().open_stream(path));
  std::thread writer([&] {
    FILE* out = std::fopen(path.c_str(), "w");
    for (int i = 0; i < 100000; ++i) std::fputs("0123456789\n", out);
    std::fclose(out);
  });
  size_t bytes = 0;
  while (const auto part = file.take()) bytes += part->bytes.size();
  writer.join();
  EXPECT_EQ(bytes, 1100000u);
  StreamFile waiting(FileSystem::local().open_stream(path));
  EXPECT_FALSE(waiting.ready()) << "nobody writes";
  waiting.interrupt();
  EXPECT_EQ(waiting.take(), nullptr);
  std::filesystem::remove(path);
}

class StreamGraphTest : public ::testing::Test {
 protected:
  GraphCheck graph(const std::string& queue, const std::string& reader, const std::string& ops = "") {
    return {files_, cat("- filename_queue: {", queue, "}\n- csv_reader: {", reader,
                        "}\n- decode_csv: {fields: {x: {columns: 0}, s: {columns: 1, type: string, default: ''}}}\n",
                        ops, "- batch: {batch_size: 3, allow_smaller_final_batch: true}\n")};
  }
  // The batches for every number of threads, which must be the same.
  static Lines run(const GraphCheck& check) {
    const Lines expected = check.run();
    for (const int threads : {1, 2, 3, 8}) {
      Executor executor(threads);
      EXPECT_EQ(check.run(&executor), expected) << threads << " threads";
    }
    return expected;
  }
  // As a file and as a stream in pieces of `size` bytes.
  void check_same(const std::string& text, const std::string& reader) {
    files_.files["-"] = text;
    const Lines expected = graph("files: '?', epochs: 1", reader).run();
    files_.files.erase("-");
    for (const size_t size : {1u, 2u, 7u, 1000u}) {
      std::vector<std::string>& pieces = files_.streams["-"];
      pieces.clear();
      for (size_t at = 0; at < text.size(); at += size) pieces.push_back(text.substr(at, size));
      for (const char* chunk : {"1", "5", "262144"}) {
        EXPECT_EQ(run(graph("files: '-'", cat(reader, ", chunk_bytes: ", chunk))), expected)
            << quote(text) << " by " << size << " and " << chunk;
      }
    }
    files_.streams.clear();
  }
  MemoryFiles files_;
};

TEST_F(StreamGraphTest, GivesWhatAFileWouldGive) {
  check_same("1,a\n2,b\n3,c\n4,d\n5,e\n", "quote: none");
  check_same("1,\"a\nb\"\n2,\"c\n\n\"\n3,d", "blank_lines: skip");
  check_same("\xef\xbb\xbf# one\n\nx,s\n1,a\r\n\n2,b\n", "header: true, comment: '#'");
  check_same("skip\nthis\n1,a\n2,b\n", "skip_lines: 2");
  check_same("", "header: true");
  check_same("x,s", "header: true");
  check_same("1,a\n2\n", "quote: none");
  check_same("1,a\n2,\"b\n", "blank_lines: skip");
  check_same("1,a\"b\n2,\"b\"\n", "blank_lines: skip");
}

TEST_F(StreamGraphTest, StreamsAndFilesFollowOneAnother) {
  files_.streams["p"] = {"1,a\n2", ",b"};
  files_.streams["q"] = {};
  files_.streams["r"] = {"4,d\n"};
  files_.files["t.csv"] = "3,c\n";
  EXPECT_EQ(run(graph("files: [p, q, t.csv, r], shuffle: false", "quote: none")),
            (Lines{"p:1 x=1 s=\"a\"", "p:2 x=2 s=\"b\"", "t.csv:1 x=3 s=\"c\"", "--", "r:1 x=4 s=\"d\""}));
}

// The name of the next file is asked for where a stream ends, which nobody waits for while others are locked out.
TEST_F(StreamGraphTest, AStreamThatDeliversNothingHoldsNothingBack) {
  files_.streams["p"] = {"1,a\n2,b\n3,c\n"};
  files_.streams["q"] = {};
  files_.waiting = {"q"};
  for (const int threads : {1, 2, 8}) {
    Executor executor(threads);
    for (int round = 0; round < 50; ++round) {
      Pipeline pipeline(graph("files: [p, q], shuffle: false", "quote: none").graph(), {.executor = &executor});
      RowBlock slot = pipeline.make_slot();
      EXPECT_EQ(pipeline.next(slot), 3);
    }
  }
}

TEST_F(StreamGraphTest, AnErrorOfReadingIsToldBehindTheRows) {
  files_.streams["-"] = {"1,a\n2,b\n3,c\n4,d\n"};
  files_.failing = {"-"};
  const Lines lines = graph("files: '-'", "quote: none").run();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[3], "error -: cannot read the file: Input/output error");
}

TEST_F(StreamGraphTest, CancelEndsAWait) {
  files_.streams["-"] = {"1,a\n"};
  files_.waiting = {"-"};
  for (const int threads : {0, 1, 2, 8}) {
    std::unique_ptr<Executor> executor = threads == 0 ? nullptr : std::make_unique<Executor>(threads);
    for (int round = 0; round < 20; ++round) {
      Pipeline pipeline(graph("files: '-'", "quote: none").graph(), {.executor = executor.get()});
      RowBlock slot = pipeline.make_slot();
      std::thread stopper([&] { pipeline.cancel(); });
      EXPECT_EQ(pipeline.next(slot), 0);
      stopper.join();
    }
  }
}

TEST_F(StreamGraphTest, ComesOnce) {
  files_.streams["-"] = {"1,a\n2,b\n"};
  const auto refused = [&](const std::string& queue, const std::string& ops = "") {
    return error_of([&] {
      Pipeline pipeline(graph(queue, "quote: none", ops).graph(), {});
      RowBlock slot = pipeline.make_slot();
      while (pipeline.next(slot) > 0) {
      }
    });
  };
  EXPECT_EQ(
      refused("files: '-', epochs: 2"),
      "input.yaml:1:27: standard input can be read only once, not 2 times; write it to a file first, or use cache "
      "and repeat");
  EXPECT_EQ(refused("files: ['-', '-']"), "input.yaml:1:27: standard input can be read only once, but is named twice");
  EXPECT_NE(
      error_of([&] { graph("files: '-'", "readers: 2").graph(); }).find("several readers cannot share standard input"),
      std::string::npos);
  EXPECT_NE(refused("files: '-'", "- repeat: {epochs: 2}\n").find("standard input can be read only once"),
            std::string::npos);
  EXPECT_EQ(graph("files: '-'", "quote: none", "- cache\n- repeat: {epochs: 2}\n").run().size(), 5u);
  EXPECT_NE(refused("files: '-'", "- cache\n- take: {rows: 1}\n- repeat: {epochs: 4}\n").find("can be read only once"),
            std::string::npos)
      << "a cache does not keep a first run that was cut short";
  Pipeline pipeline(graph("files: '-'", "quote: none").graph(), {});
  EXPECT_NE(error_of([&] { pipeline.save(); }).find("standard input can be read only once"), std::string::npos);
  EXPECT_TRUE(pipeline.graph().reads_once());
  EXPECT_TRUE(pipeline.graph().endless_source().empty());
}

TEST_F(StreamGraphTest, TwoOpsCannotReadTheSame) {
  files_.streams["-"] = {"1,a\n2,b\n"};
  const GraphCheck twice = {
      files_,
      "- filename_queue: {files: '-'}\n- csv_reader\n- decode_csv: {name: a, fields: {x: {columns: 0}}}\n"
      "- filename_queue: {files: '-'}\n- csv_reader\n- decode_csv: {name: b, fields: {x: {columns: 0}}}\n"
      "- interleave: {from: [a, b]}\n- batch: {batch_size: 1}\n"};
  EXPECT_NE(error_of([&] { twice.graph(); }).find("two ops read -, which can be read only once"), std::string::npos);
}

}  // namespace
}  // namespace millrace

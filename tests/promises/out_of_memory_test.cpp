// P3 without memory: whichever allocation of the input graph fails, on whatever thread, a call throws, and what is left
// can be destroyed. Calls of libraries (LibraryCall) are spared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "millrace/input/files/stream_file.h"
#include "millrace/input/run/note_log.h"
#include "millrace/trainer/trainer.h"
#include "tests/input/graph/rich_graph.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/temp_folder.h"

namespace millrace::testing {
namespace {

using testing_support::add_rich_files;
using testing_support::add_rich_stream;
using testing_support::all_batches;
using testing_support::Batches;
using testing_support::build_graph;
using testing_support::error_of;
using testing_support::executors_of_all_sizes;
using testing_support::MemoryFiles;
using testing_support::rich_graph;
using testing_support::rich_stream_graph;
using testing_support::threads_of;

class OutOfMemory : public ::testing::Test {
 protected:
  // Runs with allocation 0, 1 and so on failing, until one run needs fewer; returns how many that were.
  int64_t fail_each(const Spec& list, FileSystem& files, Executor* executor) {
    const Batches expected = all_batches(list, files);
    int64_t number = 0;
    for (bool failed = true; failed && !HasFailure(); ++number) {
      auto pipeline = std::make_unique<Pipeline>(build_graph(list, files), PipelineOptions{.executor = executor});
      RowBlock slot = pipeline->make_slot();
      int64_t batches = 0;
      std::string error;
      fail_any_allocation(number);
      try {
        while (pipeline->next(slot) > 0) ++batches;
        failed = any_allocation_failed();
      } catch (const Error& thrown) {
        failed = any_allocation_failed();
        error = thrown.what();
      }
      if (error.empty()) {
        // A task that began in a wrong place, and was done again, may have been the one that failed.
        EXPECT_TRUE(!failed || executor != nullptr) << number;
        EXPECT_EQ(batches, std::ssize(expected));
      } else {
        // A thread has more reasons than memory not to start.
        EXPECT_THAT(error, ::testing::AnyOf(::testing::HasSubstr("out of memory"),
                                            ::testing::HasSubstr("could not start a thread")))
            << number << ", " << threads_of(executor);
        EXPECT_EQ(error_of([&] { pipeline->next(slot); }), error);
        EXPECT_LE(batches, std::ssize(expected));
      }
      pipeline->summary();
      pipeline.reset();
    }
    EXPECT_EQ(all_batches(list, files), expected) << "the next pipeline";
    return number;
  }
};

TEST_F(OutOfMemory, IsAnErrorOfTheRunThatNeededIt) {
  MemoryFiles files;
  add_rich_files(files);
  const Spec list = rich_graph();
  for (Executor* executor : executors_of_all_sizes()) EXPECT_GT(fail_each(list, files, executor), 200);
}

TEST_F(OutOfMemory, IsAnErrorWhereAThreadReadsAStream) {
  MemoryFiles files;
  add_rich_stream(files);
  const Spec list = rich_stream_graph();
  for (Executor* executor : executors_of_all_sizes()) EXPECT_GT(fail_each(list, files, executor), 50);
}

// Before the run the standard's own exception may come, too: nothing waits yet that would have to be told.
TEST_F(OutOfMemory, LeavesNothingOfAPipelineThatCouldNotBeMade) {
  MemoryFiles files, stream;
  add_rich_files(files);
  add_rich_stream(stream);
  for (const auto& [list, from] : {std::pair(rich_graph(), &files), {rich_stream_graph(), &stream}}) {
    for (Executor* executor : executors_of_all_sizes()) {
      int64_t number = 0;
      for (bool failed = true; failed; ++number) {
        fail_any_allocation(number);
        try {
          Pipeline pipeline(build_graph(list, *from), {.executor = executor});
          failed = any_allocation_failed();
          // What the thread that reads a stream could not do is the run's error.
          EXPECT_TRUE(!failed || from == &stream) << number;
        } catch (const Error& error) {
          EXPECT_TRUE(any_allocation_failed());
          EXPECT_EQ(error.kind(), ErrorKind::internal) << error.what();
        } catch (const std::bad_alloc&) {
          EXPECT_TRUE(any_allocation_failed());
        }
        if (number > 100) number += 6;
      }
      EXPECT_GT(number, 200);
      EXPECT_EQ(from->open_now, 0);
    }
  }
}

// Calls `body` with each of its allocations failing, and `after` behind each failure.
template <class Body, class After>
int64_t fail_each_of(const Body& body, const After& after) {
  int64_t number = 0;
  for (bool failed = true; failed; ++number) {
    fail_allocation(number);
    try {
      body();
    } catch (const std::exception&) {
    }
    failed = allocation_failed();
    if (failed) after();
  }
  return number;
}

RowSpec rows_of(std::initializer_list<const char*> names) {
  RowSpec spec;
  for (const char* name : names) {
    FieldSpec field;
    field.name = name;
    field.shape = Shape({1});
    spec.fields.push_back(field);
  }
  FieldSpec text = {.name = "a text with a name that needs memory", .shape = Shape({1}), .text = true};
  spec.fields.push_back(text);
  return spec;
}

TEST_F(OutOfMemory, ABlockThatDidNotGrowHasItsRows) {
  std::unique_ptr<RowBlock> block;
  const RowSpec spec = rows_of({"a", "b"});
  const auto make = [&] {
    block = std::make_unique<RowBlock>();
    block->configure(spec, 2);
    block->resize(2);
    *block->row<float>(1, 1) = 7;
  };
  for (int64_t number = 0; number < 10; ++number) {
    make();
    fail_allocation(number);
    try {
      block->grow(1000);
    } catch (const std::exception&) {
      EXPECT_EQ(block->capacity(), 2);
    }
    if (!allocation_failed()) {
      EXPECT_EQ(block->capacity(), 1000);
    }
    EXPECT_EQ(*block->row<float>(1, 1), 7);
    block->clear();
    block->configure(spec, 2);
    block->resize(2);
    *block->row<float>(1, 1) = 8;
    EXPECT_EQ(*block->row<float>(1, 1), 8);
  }
}

TEST_F(OutOfMemory, ABlockThatCouldNotBeMadeCanBeMadeLater) {
  RowBlock block;
  const RowSpec one = rows_of({"a", "b", "c"}), other = rows_of({"a", "b"});
  const auto use = [&] {
    block.configure(one, 5);
    EXPECT_GE(block.capacity(), 5);
    block.resize(5);
    for (size_t field = 0; field < 3; ++field) *block.row<float>(field, 4) = 1;
    block.varying(3, 4).clear();
  };
  const int64_t number = fail_each_of(
      [&] {
        block = RowBlock();
        block.configure(other, 100);
        block.configure(one, 5);
      },
      use);
  EXPECT_GT(number, 5);
}

TEST_F(OutOfMemory, ACauseThatCouldNotBeNotedHasNoRows) {
  std::unique_ptr<NoteLog> log;
  const int64_t number = fail_each_of(
      [&] {
        log = std::make_unique<NoteLog>();
        log->drop("a cause that is too long for its string", 1);
        log->drop("another cause that is too long for its string", 2);
      },
      [&] {
        if (!log) return;
        std::vector<Dropped> dropped;
        log->add_dropped(dropped);
        EXPECT_LE(dropped.size(), 1u);
        log->drop("another cause that is too long for its string", 2);
        dropped.clear();
        log->add_dropped(dropped);
        EXPECT_EQ(dropped.back().rows, 2u);
      });
  EXPECT_GT(number, 4);
}

TEST_F(OutOfMemory, AStreamWithoutAThreadHasAnError) {
  MemoryFiles files;
  files.streams["-"] = {"a\n"};
  std::set<std::string> errors;
  std::unique_ptr<StreamFile> file;
  for (int64_t number = 0; number < 4; ++number) {
    file = std::make_unique<StreamFile>(files.open_stream("-"));
    fail_allocation(number);
    std::string first;
    try {
      while (file->take() != nullptr) {
      }
    } catch (const Error& error) {
      first = error.what();
    }
    if (!allocation_failed()) continue;
    EXPECT_TRUE(file->ready());
    char byte = 0;
    EXPECT_EQ(error_of([&] { static_cast<void>(file->read(0, &byte, 1)); }), first);
    errors.insert(first);
  }
  EXPECT_THAT(errors, ::testing::Contains(::testing::StartsWith("could not start a thread: ")));
}

TEST_F(OutOfMemory, OnlyTheModelOfTheLastStepIsLost) {
  const TempFolder folder;
  const std::string best = folder.path("m.safetensors"), last = folder.path("m.last.safetensors");
  const std::string config = cat(
      "device: cpu\nthreads: 1\ninput: [{synthetic: {rows: 40, features: 2}}, {batch: {batch_size: 4}}]\n",
      "model: [{dense: {units: 1}}]\nloss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n",
      "validation: {input: [{synthetic: {rows: 5, features: 2}}, {batch: {batch_size: 5}}], every: 1, keep_best: true}",
      "\nsave: ", quote(best, 4096), '\n');
  int lost = 0;
  for (int64_t number = 0; !std::filesystem::exists(last); ++number) {
    Trainer trainer = Trainer::from_string(config, "t.yaml");
    int validations = 0;
    std::string log;
    TrainCallbacks callbacks;
    callbacks.on_validation = [&](const ValidationReport&) {
      if (++validations != 2) return;
      trainer.stop();
      fail_allocation(number);
    };
    callbacks.on_log = [&](std::string_view text) { log += text; };
    bool ended = false;
    try {
      trainer.run(callbacks);
      ended = true;
    } catch (const std::exception&) {
    }
    EXPECT_TRUE(allocation_failed());
    if (log.find("the model of the last step is lost: ") != log.npos) {
      ++lost;
      EXPECT_TRUE(ended) << log;
    }
    EXPECT_TRUE(!ended || std::filesystem::remove(best)) << log;
  }
  EXPECT_GT(lost, 5);
}

TEST_F(OutOfMemory, AnErrorIsThrownEvenWhereItsTextCannotBeMade) {
  const std::exception_ptr original =
      std::make_exception_ptr(IoError("a message that is too long for its string", {"a/path/that/needs/memory.csv"}));
  const std::exception_ptr bare = std::make_exception_ptr(IoError("a message that is too long for its string"));
  const Place place = {"another/path/that/needs/memory.csv"};
  for (const std::exception_ptr& error : {original, bare}) {
    fail_each_of([&] { EXPECT_THROW(raise_copy(error, place), IoError); }, [] {});
  }
  const std::exception_ptr foreign = std::make_exception_ptr(std::runtime_error("of somebody else, and long as well"));
  std::set<std::string> texts;
  fail_each_of(
      [&] {
        const std::exception_ptr made = as_error(foreign, "op");
        texts.insert(error_of([&] { raise_copy(made); }));
      },
      [] {});
  EXPECT_THAT(texts, ::testing::IsSupersetOf({"out of memory", "op: of somebody else, and long as well"}));
}

}  // namespace
}  // namespace millrace::testing

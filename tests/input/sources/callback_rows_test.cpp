#include "millrace/input/source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/graph_check.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing_support::Lines;

const RowSpec kRows = {{{"x", DType::f32, Shape{1}}}};

// Gives `blocks` blocks of 1, 2, 3, ... rows a pass, numbered from 100 * pass on.
struct Counting {
  int blocks = 3;
  int calls = 0, of_pass = 0, next = 0;
  uint32_t pass = UINT32_MAX;
  std::atomic<int> inside{0};

  void operator()(RowBlock& block, uint32_t now) {
    EXPECT_EQ(++inside, 1) << "one thread at a time";
    ++calls;
    if (now != pass) {
      pass = now;
      of_pass = next = 0;
    }
    block.resize(of_pass < blocks ? ++of_pass : 0);
    for (int64_t row = 0; row < block.size(); ++row) {
      *block.row<float>(0, row) = static_cast<float>(100 * static_cast<int>(now) + next++);
    }
    --inside;
  }
};

InputGraph graph(const std::string& list, CallbackRows callback) {
  OpRegistry ops = builtin_ops();
  ops.add("mine", callback_op(std::move(callback)));
  return InputGraph::build(parse_yaml(list, "input.yaml"), ops, {.seed = 23});
}

Lines lines_of(Pipeline& pipeline) {
  Lines lines;
  RowBlock slot = pipeline.make_slot();
  while (pipeline.next(slot) > 0) {
    for (int64_t row = 0; row < slot.size(); ++row) {
      lines.push_back(cat(pipeline.place(slot.id(row)).text(), ' ', *slot.row<float>(0, row)));
    }
  }
  return lines;
}

const std::string kBatches = "- batch: {batch_size: 4, allow_smaller_final_batch: true}\n";

TEST(CallbackRows, AreAskedForPassByPass) {
  Counting counting;
  Pipeline pipeline(graph("- mine: {epochs: 2}\n" + kBatches, {.rows = kRows, .fill = std::ref(counting)}), {});
  EXPECT_EQ(lines_of(pipeline),
            (Lines{"mine:1 0", "mine:2 1", "mine:3 2", "mine:4 3", "mine:5 4", "mine:6 5", "mine:1 100", "mine:2 101",
                   "mine:3 102", "mine:4 103", "mine:5 104", "mine:6 105"}));
  EXPECT_EQ(counting.calls, 8) << "three blocks and an end, twice";
  EXPECT_EQ(pipeline.summary().rows, 12u);
  EXPECT_EQ(pipeline.summary().passes, 2u);
}

TEST(CallbackRows, ComeInOrderWhateverTheThreads) {
  Lines expected;
  for (const int threads : {1, 2, 5}) {
    Counting counting{.blocks = 40};
    Executor executor(threads);
    Pipeline pipeline(
        graph("- mine: {epochs: 3}\n- shuffle_batch: {batch_size: 7, capacity: 90, min_after_dequeue: 50, "
              "allow_smaller_final_batch: true}\n",
              {.rows = kRows, .fill = std::ref(counting), .rows_at_once = 64}),
        {.executor = &executor});
    const Lines lines = lines_of(pipeline);
    EXPECT_EQ(lines.size(), 3u * 820);
    if (expected.empty()) expected = lines;
    EXPECT_EQ(lines, expected) << threads;
  }
}

TEST(CallbackRows, TheirBlocksCountInTheMemoryBound) {
  const auto bound = [](int64_t at_once) {
    const auto none = [](RowBlock& block, uint32_t) { block.resize(0); };
    return graph("- mine\n" + kBatches, {.rows = kRows, .fill = none, .rows_at_once = at_once}).memory_bound(1);
  };
  // With one task: three chunks and two spare blocks, which may have grown to twice the size, and two filled ones.
  const uint64_t row = kRows.row_bytes() + sizeof(RowId);
  EXPECT_GE(bound(1'000'000) - bound(1000), (2 * 3 + 2 * 2 + 2) * 999'000 * row);
}

TEST(CallbackRows, MayBeNone) {
  Pipeline pipeline(graph("- mine\n" + kBatches, {.rows = kRows, .fill = [](RowBlock&, uint32_t) {}}), {});
  EXPECT_EQ(lines_of(pipeline), Lines{});
}

TEST(CallbackRows, RepeatAsksForFurtherPasses) {
  Counting counting{.blocks = 1};
  Pipeline pipeline(graph("- mine\n- repeat: {epochs: 3}\n" + kBatches, {.rows = kRows, .fill = std::ref(counting)}),
                    {});
  EXPECT_EQ(lines_of(pipeline), (Lines{"mine:1 0", "mine:1 100", "mine:1 200"}));
}

TEST(CallbackRows, WhatTheyThrowComesBehindTheRowsBefore) {
  for (const bool own : {true, false}) {
    int calls = 0;
    Pipeline pipeline(
        graph("- mine\n- batch: {batch_size: 1}\n", {.rows = kRows,
                                                     .fill =
                                                         [&](RowBlock& block, uint32_t) {
                                                           if (++calls == 3) {
                                                             if (own) throw DataError("the sensor is gone");
                                                             throw std::runtime_error("the sensor is gone");
                                                           }
                                                           block.resize(1);
                                                           *block.row<float>(0, 0) = 1;
                                                         }}),
        {});
    RowBlock slot = pipeline.make_slot();
    EXPECT_EQ(pipeline.next(slot), 1);
    EXPECT_EQ(pipeline.next(slot), 1);
    if (own) {
      EXPECT_EQ(error_of<DataError>([&] { pipeline.next(slot); }), "the sensor is gone");
    } else {
      EXPECT_NE(error_of<InternalError>([&] { pipeline.next(slot); }).find("the sensor is gone"), std::string::npos);
    }
  }
}

TEST(CallbackRows, WhateverTheyThrowNamesThem) {
  Pipeline pipeline(
      graph("- mine\n- batch: {batch_size: 1}\n", {.rows = kRows, .fill = [](RowBlock&, uint32_t) { throw 5; }}), {});
  RowBlock slot = pipeline.make_slot();
  const std::string error = error_of<InternalError>([&] { pipeline.next(slot); });
  EXPECT_TRUE(error.ends_with(":1:3: mine: an exception of unknown type")) << error;
}

TEST(CallbackRows, AreChecked) {
  const auto error = [](const std::function<void(RowBlock&, uint32_t)>& fill) {
    Pipeline pipeline(graph("- mine\n" + kBatches, {.rows = kRows, .fill = fill}), {});
    RowBlock slot = pipeline.make_slot();
    return error_of<ConfigError>([&] { pipeline.next(slot); });
  };
  EXPECT_NE(error([](RowBlock& block, uint32_t) { block.resize(block.capacity() + 1); }).find("there was room for"),
            std::string::npos);
  EXPECT_NE(error([](RowBlock& block, uint32_t) {
              block.configure({{{"y", DType::f32, Shape{1}}}}, 1);
              block.resize(1);
            }).find("the callback of mine made rows of (y: float32 (1)), expected (x: float32 (1))"),
            std::string::npos);
  EXPECT_THROW(callback_op({.rows = kRows, .fill = nullptr}), ConfigError);
  EXPECT_THROW(callback_op({.rows = kRows, .fill = [](RowBlock&, uint32_t) {}, .rows_at_once = 0}), ConfigError);
}

TEST(CallbackRows, ComeOnce) {
  EXPECT_TRUE(graph("- mine\n" + kBatches, {.rows = kRows, .fill = [](RowBlock&, uint32_t) {}}).reads_once());
}

TEST(CallbackRows, TwoOpsOfOneListCannotShareACallback) {
  EXPECT_EQ(
      error_of<ConfigError>([] {
        graph("- mine: {name: a}\n- mine: {name: b}\n- mix: {from: [a, b]}\n" + kBatches,
              {.rows = kRows, .fill = [](RowBlock& block, uint32_t) { block.resize(0); }});
      }),
      "input.yaml:2:3: [1]: a and b are the same callback, so each would get a part of its rows; add the callback "
      "once for each of them, under names of their own");
}

// Two graphs of one entry, on two threads, ask the one function.
TEST(CallbackRows, OfOneEntryAreAskedForOneAfterTheOther) {
  std::atomic<int> inside{0}, together{0};
  OpRegistry ops = builtin_ops();
  ops.add("mine", callback_op({.rows = kRows, .fill = [&](RowBlock& block, uint32_t) {
                                 if (++inside > 1) ++together;
                                 std::this_thread::yield();
                                 block.resize(1);
                                 *block.row<float>(0, 0) = 1;
                                 --inside;
                               }}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      Pipeline pipeline(InputGraph::build(parse_yaml("- mine\n- batch: {batch_size: 1}\n", "i"), ops, {}), {});
      RowBlock slot = pipeline.make_slot();
      for (int k = 0; k < 500; ++k) EXPECT_EQ(pipeline.next(slot), 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, 0);
}

// The function may take its time for one graph; the other one is not kept from ending.
TEST(CallbackRows, TheWaitForAnotherGraphCanBeCancelled) {
  std::promise<void> entered, goes_on;
  std::shared_future<void> may_go_on = goes_on.get_future().share();
  OpRegistry ops = builtin_ops();
  std::atomic<int> calls{0};
  ops.add("mine", callback_op({.rows = kRows, .fill = [&](RowBlock& block, uint32_t) {
                                 if (++calls == 1) {
                                   entered.set_value();
                                   may_go_on.wait();
                                 }
                                 block.resize(0);
                               }}));
  const auto make = [&] {
    return std::make_unique<Pipeline>(InputGraph::build(parse_yaml("- mine\n- batch: {batch_size: 1}\n", "i"), ops, {}),
                                      PipelineOptions{});
  };
  const auto first = make(), second = make();
  const auto next = [](Pipeline& pipeline) {
    RowBlock slot = pipeline.make_slot();
    return pipeline.next(slot);
  };
  auto slow = std::async(std::launch::async, [&] { return next(*first); });
  entered.get_future().wait();
  std::atomic<bool> begun{false};
  auto waiting = std::async(std::launch::async, [&] {
    begun = true;
    return next(*second);
  });
  while (!begun) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // by now it waits, most likely
  second->cancel();
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  goes_on.set_value();
  EXPECT_EQ(slow.get(), 0);
  EXPECT_EQ(waiting.get(), 0);
  EXPECT_EQ(calls, 1);
}

TEST(CallbackRows, CannotBeSavedInTheMiddle) {
  Counting counting;
  Pipeline pipeline(graph("- mine\n" + kBatches, {.rows = kRows, .fill = std::ref(counting)}), {});
  RowBlock slot = pipeline.make_slot();
  ASSERT_EQ(pipeline.next(slot), 4);
  EXPECT_NE(error_of<ConfigError>([&] { pipeline.save(); }).find("mine is a callback, whose rows come only once"),
            std::string::npos);
}

TEST(CallbackRows, TextsThatAreNotSetAreEmptyAndTheirNumberIsChecked) {
  RowSpec spec = {{{"name", DType::f32, Shape{1}}}};
  spec.fields[0].text = true;
  const std::string list = "- mine\n- vocabulary: {field: name, texts: [\"\", a], as: n}\n" + kBatches;
  const auto codes = [&](int wrong) {
    int calls = 0;
    Pipeline pipeline(graph(list, {.rows = spec,
                                   .fill =
                                       [&](RowBlock& block, uint32_t) {
                                         block.resize(++calls < 4 ? 2 : 0);
                                         if (block.size() == 0) return;
                                         block.set_text(0, 0, "a");
                                         if (calls == wrong) block.add_text(0, 0, "b");
                                       }}),
                      {});
    std::vector<int32_t> out;
    RowBlock slot = pipeline.make_slot();
    while (pipeline.next(slot) > 0) {
      for (int64_t row = 0; row < slot.size(); ++row) out.push_back(*slot.row<int32_t>(1, row));
    }
    return out;
  };
  EXPECT_EQ(codes(0), (std::vector<int32_t>{1, 0, 1, 0, 1, 0})) << "the memory of a block is used again";
  EXPECT_NE(error_of<ShapeError>([&] { codes(3); }).find("row 4 has 2 texts in the field name, which is string (1)"),
            std::string::npos);
}

}  // namespace
}  // namespace millrace

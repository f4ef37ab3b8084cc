#include "millrace/core/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "millrace/core/threads/executor.h"
#include "tests/support/trace_reader.h"

namespace millrace {
namespace {

using millrace::testing::TracedRange;
using millrace::testing::TraceFile;

TEST(Trace, HoldsNothingAtFirst) {
  const Trace trace;
  const TraceFile file(trace);
  EXPECT_TRUE(file.ranges.empty());
  EXPECT_TRUE(file.threads.empty());
  EXPECT_EQ(file.json["displayTimeUnit"], "ms");
  EXPECT_EQ(file.json["otherData"]["events"], 0);
  EXPECT_EQ(file.json["otherData"]["dropped"], 0);
}

TEST(Trace, RangesNest) {
  Trace trace;
  {
    TraceRange outer(&trace, "step", "outer");
    outer.set("rows", 23);
    outer.set("file", "a.csv");
    for (int i = 0; i < 2; ++i) const TraceRange inner(&trace, "forward", "inner");
  }
  const TraceFile file(trace);
  ASSERT_EQ(file.ranges.size(), 3u);
  EXPECT_EQ(file.ranges[0].name, "outer") << "a range stands before those inside it";
  EXPECT_EQ(file.ranges[0].category, "step");
  EXPECT_EQ(file.ranges[0].args, nlohmann::json::parse(R"({"rows":23,"file":"a.csv"})"));
  EXPECT_EQ(file.ranges[1].name, "inner");
  EXPECT_EQ(file.ranges[2].args, nlohmann::json::object());
  EXPECT_EQ(file.depth_of(1), 1);
  EXPECT_EQ(file.depth_of(2), 1) << "the first inner one is over when the second begins";
}

TEST(Trace, TakesTimesThatTheCallerKnows) {
  Trace trace;
  const auto start = Trace::Clock::now();
  TraceRange range(&trace, "input", "decode", start);
  range.end(start + std::chrono::nanoseconds(1'234'567));
  range.end(start + std::chrono::seconds(1));
  range.set("rows", 1);
  const TraceFile file(trace);
  ASSERT_EQ(file.ranges.size(), 1u);
  EXPECT_EQ(file.ranges[0].end - file.ranges[0].start, 1'234'567);
  EXPECT_TRUE(file.ranges[0].args.empty());
}

TEST(Trace, WritesTimesAsMicroseconds) {
  Trace trace;
  const auto start = Trace::Clock::now();
  TraceRange(&trace, "input", "decode", start).end(start + std::chrono::nanoseconds(1'050));
  std::string text;
  trace.write([&](std::string_view piece) { text += piece; });
  EXPECT_NE(text.find(R"("dur":1.050,)"), std::string::npos) << text;
}

TEST(Trace, KeepsNoMoreNumbersThanItHasRoomFor) {
  Trace trace;
  {
    TraceRange range(&trace, "step", "step");
    for (const char* key : {"a", "b", "c", "d"}) range.set(key, 1);
  }
  EXPECT_EQ(TraceFile(trace).ranges.at(0).args, nlohmann::json::parse(R"({"a":1,"b":1,"c":1})"));
}

TEST(Trace, NothingIsDoneWithoutOne) {
  TraceRange range(nullptr, "step", "step");
  range.set("rows", 1);
  range.set("file", "a.csv");
  range.end(Trace::Clock::now());
  const TraceLoop loop(nullptr);
  const TraceLoop::Turn turn(loop);
}

TEST(Trace, EscapesNames) {
  Trace trace;
  trace.name_thread("\"quoted\"\t");
  {
    TraceRange range(&trace, "input", "a\\b\n\x01");
    range.set("file", "d\xff.csv");
  }
  const TraceFile file(trace);
  EXPECT_EQ(file.threads.at(1), "\"quoted\"\t");
  EXPECT_EQ(file.ranges.at(0).name, "a\\b\n\x01");
  EXPECT_EQ(file.ranges.at(0).args["file"], "d\xef\xbf\xbd.csv");
}

// A name may be gone, and its memory be another name's, when the next range begins.
TEST(Trace, CopiesNames) {
  Trace trace;
  std::string name;
  for (const char* next : {"first", "again", "first"}) {
    name = next;
    const TraceRange range(&trace, "input", name);
  }
  name = "x";
  const TraceFile file(trace);
  ASSERT_EQ(file.ranges.size(), 3u);
  EXPECT_EQ(file.ranges[0].name, "first");
  EXPECT_EQ(file.ranges[1].name, "again");
  EXPECT_EQ(file.ranges[2].name, "first");
}

TEST(Trace, DropsWhatIsTooMuch) {
  Trace trace(3);
  for (int i = 0; i < 3; ++i) const TraceRange range(&trace, "step", "early");
  EXPECT_EQ(trace.dropped(), 0u);
  for (int i = 0; i < 4; ++i) TraceRange(&trace, "step", "late").set("file", "late.csv");
  EXPECT_EQ(trace.dropped(), 4u);
  const TraceFile file(trace);
  ASSERT_EQ(file.ranges.size(), 3u);
  EXPECT_EQ(file.ranges[2].name, "early");
  EXPECT_EQ(file.json["otherData"]["events"], 3);
  EXPECT_EQ(file.json["otherData"]["dropped"], 4);
}

TEST(Trace, TheBoundIsForAllThreads) {
  constexpr size_t kEvents = 5000, kThreads = 4;
  Trace trace(kEvents);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&trace] {
      for (size_t i = 0; i < kEvents; ++i) const TraceRange range(&trace, "step", "step");
    });
  }
  for (std::thread& thread : threads) thread.join();
  const TraceFile file(trace);
  EXPECT_EQ(file.ranges.size() + trace.dropped(), kEvents * kThreads);
  EXPECT_LE(file.ranges.size(), kEvents);
  EXPECT_GT(file.ranges.size(), 0u);
}

TEST(Trace, ShowsCounters) {
  Trace trace;
  for (const int64_t queued : {3, 0}) trace.count("batches queued", queued);
  const TraceFile file(trace);
  ASSERT_EQ(file.counters.at("batches queued").size(), 2u);
  EXPECT_EQ(file.counters.at("batches queued")[0], 3);
  EXPECT_EQ(file.counters.at("batches queued")[1], 0);
}

TEST(Trace, TellsThreadsApart) {
  Trace trace;
  trace.name_thread("training");
  const auto work = [&trace](const char* name) {
    trace.name_thread(name);
    const TraceRange range(&trace, "input", name);
  };
  for (const char* name : {"executor 10", "executor 2"}) std::thread(work, name).join();
  const TraceRange range(&trace, "step", "training");
  const TraceFile file(trace);
  EXPECT_EQ(file.threads, (std::map<int64_t, std::string>{{1, "training"}, {2, "executor 2"}, {3, "executor 10"}}));
  ASSERT_EQ(file.ranges.size(), 2u) << "one is open";
  for (const TracedRange& one : file.ranges) EXPECT_EQ(one.name, file.threads.at(one.thread));
}

// One thread's log in one trace is never taken for that in another one, also where that stands at the same address.
TEST(Trace, TracesDoNotMix) {
  std::optional<Trace> first(std::in_place), second(std::in_place);
  for (int i = 0; i < 3; ++i) {
    const TraceRange a(&*first, "step", "a");
    const TraceRange b(&*second, "step", "b");
  }
  EXPECT_EQ(TraceFile(*first).ranges.size(), 3u);
  EXPECT_EQ(TraceFile(*first).threads.size(), 1u);
  EXPECT_EQ(TraceFile(*second).ranges.at(2).name, "b");
  second.emplace();
  { const TraceRange c(&*second, "step", "c"); }
  const TraceFile file(*second);
  ASSERT_EQ(file.ranges.size(), 1u);
  EXPECT_EQ(file.ranges[0].name, "c");
}

// Who writes sees whole events, while others add more.
TEST(Trace, IsWrittenWhileThreadsGoOn) {
  Trace trace(20'000);
  std::atomic<bool> over{false};
  std::thread thread([&] {
    for (int i = 0; !over.load(); ++i) {
      TraceRange range(&trace, "step", std::to_string(i % 100));
      range.set("number", i);
    }
  });
  size_t seen = 0;
  for (int i = 0; i < 5 || seen == 0; ++i) {
    const TraceFile file(trace);
    EXPECT_GE(file.ranges.size(), seen);
    seen = file.ranges.size();
    for (const TracedRange& range : file.ranges) {
      EXPECT_EQ(range.name, std::to_string(range.args["number"].get<int>() % 100));
    }
  }
  over.store(true);
  thread.join();
}

TEST(Trace, TheSinkMayTrace) {
  Trace trace;
  { const TraceRange range(&trace, "step", "step"); }
  std::string text;
  trace.write([&](std::string_view piece) {
    trace.name_thread("writer");
    trace.count("pieces", 1);
    std::thread([&] { const TraceRange range(&trace, "step", "another"); }).join();
    text += piece;
  });
  EXPECT_EQ(TraceFile(text).ranges.size(), 1u) << "as it was at the beginning";
  EXPECT_EQ(TraceFile(trace).ranges.size(), 2u);
}

TEST(Trace, LoopsAreSeenOnEveryThread) {
  constexpr int64_t kTurns = 64;
  Trace trace;
  Executor executor(2, &trace);
  trace.name_thread("training");
  // Turns that wait for each other: so both threads take some.
  std::atomic<int> together{0};
  {
    const TraceRange range(&trace, "forward", "dense");
    executor.parallel_for(kTurns, [&](int64_t) {
      if (together.load() >= 2) return;
      together.fetch_add(1);
      while (together.load() < 2) std::this_thread::yield();
    });
  }
  { const TraceRange last(&trace, "step", "last"); }  // behind it, the turns of this thread cannot become more
  executor.parallel_for(2, [&](int64_t) {
    const TraceRange last(&trace, "step", "last");
    together.fetch_add(1);
    while (together.load() < 4) std::this_thread::yield();
  });
  const TraceFile file(trace);
  std::map<std::string, int64_t> turns;
  for (const TracedRange& range : file.ranges) {
    if (range.category != "loop" || range.name != "dense") continue;
    turns[file.threads.at(range.thread)] += range.args["turns"].get<int64_t>();
  }
  ASSERT_EQ(turns.size(), 2u) << file.json.dump(1);
  EXPECT_EQ(turns.at("training") + turns.at("executor 1"), kTurns);
}

// One loop's turns are one range, unless something else lay between; two loops' are never one.
TEST(Trace, JoinsTheTurnsOfALoop) {
  Trace trace;
  const auto turn = [](const TraceLoop& loop) { const TraceLoop::Turn taken(loop); };
  {
    const TraceRange range(&trace, "forward", "dense");
    const TraceLoop first(&trace), second(&trace);
    turn(first);
    turn(first);
    turn(second);
    {
      const TraceRange between(&trace, "input", "decode");
      turn(second);
    }
    turn(second);
  }
  const TraceFile file(trace);
  std::vector<int64_t> turns;
  for (const TracedRange& range : file.ranges) {
    if (range.category == "loop") turns.push_back(range.args["turns"].get<int64_t>());
  }
  EXPECT_EQ(turns, (std::vector<int64_t>{2, 1, 1, 1}));
}

}  // namespace
}  // namespace millrace

#include "millrace/input/run/chunk_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "millrace/core/random.h"
#include "tests/input/graph/fake_ops.h"
#include "tests/input/graph/fake_text.h"

namespace millrace {
namespace {

using fake::Cut;
using fake::IntegerOptions;
using fake::Integers;
using fake::Lines;
using fake::Record;
using fake::Step;
using fake::StepOptions;
using fake::value;

Port rows_port() { return {.type = PortType::rows, .format = {}, .rows = fake::integer_rows()}; }
Port text_port() { return {.type = PortType::text, .format = {}, .rows = {}}; }

// Executors of 0 (none), 1, 2, 3 and 8 threads.
std::vector<std::unique_ptr<Executor>> executors() {
  std::vector<std::unique_ptr<Executor>> out(1);
  for (int threads : {1, 2, 3, 8}) out.push_back(std::make_unique<Executor>(threads));
  return out;
}

void run(Executor* executor, FunctionRef<void()> body) {
  if (executor != nullptr) {
    executor->run(body);
  } else {
    body();
  }
}

// What a stream gave, and told, in order.
struct Story {
  std::vector<int64_t> values;
  std::vector<std::string> told;
  std::string error;
  bool operator==(const Story&) const = default;
};

struct Integral {
  Integral(IntegerOptions integers, StepOptions step_options, Executor* executor, int64_t ahead = 50)
      : source(integers),
        step(step_options),
        stream(source, 0, "integers", rows_port(),
               {{.transform = &step, .name = "step", .output = rows_port(), .reporter = &step}}),
        where(executor) {
    events.on_bad_row = [this](const BadRow& bad) { story.told.push_back(bad.place.text() + " " + bad.text); };
    events.on_print = [this](std::string_view text) { story.told.emplace_back(text); };
    stream.set_ahead(ahead, 0);
    stream.start(executor, &events);
  }

  // Pulls up to `rows` rows, `at_most` at a time; the error ends it. If it `asks`, it first asks whether they are
  // there.
  const Story& read(int64_t rows = INT64_MAX, int64_t at_most = 5, bool asks = false) {
    run(where, [&] {
      try {
        while (rows > 0) {
          if (asks) {
            EXPECT_NO_THROW(EXPECT_TRUE(stream.ready()));
          }
          const RowSpan span = stream.pull(std::min(rows, at_most));
          if (!span) break;
          for (int64_t i = 0; i < span.count; ++i) story.values.push_back(value(*span.block, span.begin + i));
          rows -= span.count;
        }
      } catch (const Error& error) {
        story.error = error.what();
      }
    });
    return story;
  }

  Integers source;
  Step step;
  StreamEvents events;
  Story story;
  ChunkStream stream;
  Executor* where;
};

TEST(ChunkStream, TellsTheSameStoryWhateverTheThreads) {
  const StepOptions step = {.spin = 1000, .drop_every = 4, .bad_every = 7, .print_every = 10};
  const Story expected = Integral({.rows = 90, .unit_rows = 90, .passes = 3}, step, nullptr).read();
  EXPECT_EQ(expected.values.size(), 3u * (90 - 13 - 23 + 4));  // multiples of 7, of 4, of both
  EXPECT_EQ(expected.told.size(), 3u * (13 + 3));              // 10 20 .. 80 without 20 40 60 80 and 70
  for (const auto& executor : executors()) {
    for (int64_t unit_rows : {1, 3, 20}) {
      for (int64_t ahead : {0, 7, 1000}) {
        Integral integral({.rows = 90, .unit_rows = unit_rows, .passes = 3, .spin = 2000}, step, executor.get(), ahead);
        EXPECT_EQ(integral.read(INT64_MAX, 1 + unit_rows), expected);
        EXPECT_EQ(integral.stream.bad_rows(), 39u);
      }
    }
  }
}

TEST(ChunkStream, AnErrorComesInItsPlaceAndAgain) {
  for (const auto& executor : executors()) {
    for (int64_t unit_rows : {1, 10, 100}) {
      Integral integral({.rows = 100, .unit_rows = unit_rows, .spin = 500}, {.bad_every = 9, .fail_at = 50},
                        executor.get());
      integral.read();
      EXPECT_EQ(integral.story.values.back(), 49);
      EXPECT_EQ(integral.story.values.size(), 44u);
      EXPECT_EQ(integral.story.told.size(), 6u);
      EXPECT_EQ(integral.story.error, "integers:51: the value 50 is bad");
      const Story before = integral.story;
      EXPECT_EQ(integral.read(), before);
    }
  }
}

TEST(ChunkStream, ALimitOfBadRowsIsAsExactAsTheOrder) {
  for (const auto& executor : executors()) {
    Integral integral({.rows = 100, .unit_rows = 8, .spin = 500}, {.bad_every = 10, .max_bad = 3}, executor.get());
    integral.read();
    EXPECT_EQ(integral.story.values.back(), 29);
    EXPECT_EQ(integral.story.error,
              "integers:31: a bad multiple (bad row 4 of the run; max_bad_rows is 3); repair the data, or raise "
              "max_bad_rows");
    EXPECT_EQ(integral.step.reported, (std::vector<std::string>{"0", "10", "20", "30"}));
  }
}

TEST(ChunkStream, AnErrorThatReadyMeetsIsThePulls) {
  for (const auto& executor : executors()) {
    Integral integral({.rows = 100, .unit_rows = 8}, {.bad_every = 10, .max_bad = 3}, executor.get());
    for (int round = 0; round < 2; ++round) {
      integral.read(INT64_MAX, 5, true);
      EXPECT_EQ(integral.story.values.back(), 29);
      EXPECT_NE(integral.story.error.find("a bad multiple (bad row 4 of the run;"), std::string::npos);
      EXPECT_EQ(integral.step.reported, (std::vector<std::string>{"0", "10", "20", "30"})) << "each once";
    }
  }
}

TEST(ChunkStream, OtherErrorsArriveAtTheNextCall) {
  Executor executor(2);
  Integral integral({.rows = 1000, .unit_rows = 10}, {.throw_at = 900}, &executor, 100000);
  integral.read();
  EXPECT_EQ(integral.story.error, "step: cannot bear 900");
  EXPECT_LE(integral.story.values.size(), 900u);
  integral.read();
  EXPECT_EQ(integral.story.error, "step: cannot bear 900");
  Integral inline_integral({.rows = 1000, .unit_rows = 10}, {.io_error_at = 900}, nullptr);
  EXPECT_EQ(inline_integral.read().error, "the disk is broken");
}

TEST(ChunkStream, GoesOnFromEveryPositionWithOtherThreadsAndChunks) {
  const IntegerOptions integers = {.rows = 40, .unit_rows = 6, .passes = 2};
  const StepOptions step = {.drop_every = 5, .bad_every = 3};
  const std::vector<std::unique_ptr<Executor>> all = executors();
  Integral whole(integers, step, nullptr);
  const Story expected = whole.read();
  std::vector<Dropped> dropped;
  whole.stream.add_dropped(dropped);
  const auto rows = static_cast<int64_t>(expected.values.size());
  for (int64_t k = 0; k <= rows; ++k) {
    Integral first(integers, step, all[static_cast<size_t>(k) % 5].get());
    first.read(k);
    State state;
    first.stream.save(state);
    IntegerOptions other = integers;
    other.unit_rows = 1 + k % 9;
    Integral second(other, step, all[static_cast<size_t>(k + 2) % 5].get());
    second.stream.restore(State::decode(state.encode()));
    second.read();
    Story joined = first.story;
    joined.values.insert(joined.values.end(), second.story.values.begin(), second.story.values.end());
    joined.told.insert(joined.told.end(), second.story.told.begin(), second.story.told.end());
    EXPECT_EQ(joined, expected) << k;
    EXPECT_EQ(second.stream.bad_rows(), whole.stream.bad_rows());
    std::vector<Dropped> dropped_after;
    second.stream.add_dropped(dropped_after);
    ASSERT_EQ(dropped_after.size(), 1u);
    EXPECT_EQ(dropped_after[0].rows, dropped[0].rows);
  }
}

TEST(ChunkStream, RefusesAStateOfOtherData) {
  Integral first({.rows = 40}, {}, nullptr);
  first.read(3);
  State state;
  first.stream.save(state);
  Integral second({.rows = 41}, {}, nullptr);
  EXPECT_THROW(second.stream.restore(state), DataError);
}

TEST(ChunkStream, RewindsAndRestoresInALaterRun) {
  for (const auto& executor : executors()) {
    Integral integral({.rows = 20, .unit_rows = 4, .passes = 2}, {.bad_every = 6}, executor.get());
    integral.read();
    integral.stream.rewind(1);
    integral.read(7);
    State state;
    integral.stream.save(state);
    Integral other({.rows = 20, .unit_rows = 7, .passes = 2}, {.bad_every = 6}, executor.get());
    other.stream.restore(state);
    other.read();
    integral.read();
    EXPECT_EQ(integral.story.values.size(), 4u * 16);
    EXPECT_EQ(other.story.values,
              std::vector<int64_t>(integral.story.values.begin() + 39, integral.story.values.end()));
    EXPECT_EQ(other.stream.bad_rows(), integral.stream.bad_rows());
  }
}

TEST(ChunkStream, FetchesARowAgain) {
  Executor executor(2);
  Integral integral({.rows = 30, .unit_rows = 4, .passes = 2}, {.drop_every = 5, .add = 100}, &executor);
  RowBlock kept, again;
  kept.configure(fake::integer_rows(), 60);
  kept.resize(60);
  again.configure(fake::integer_rows(), 1);
  again.resize(1);
  int64_t rows = 0;
  executor.run([&] {
    while (const RowSpan span = integral.stream.pull(3)) {
      for (int64_t i = 0; i < span.count; ++i) kept.copy_row(*span.block, span.begin + i, rows++);
    }
  });
  EXPECT_EQ(rows, 48);
  for (int64_t row = 0; row < rows; ++row) {
    integral.stream.fetch(kept.id(row), again, 0);
    EXPECT_EQ(value(again, 0), value(kept, row));
    EXPECT_EQ(again.id(0), kept.id(row));
  }
  RowId dropped = kept.id(0);
  dropped.offset = 5;
  EXPECT_THROW(integral.stream.fetch(dropped, again, 0), DataError);
}

TEST(ChunkStream, AnEndlessSourceWithoutRowsIsAnError) {
  for (const auto& executor : executors()) {
    for (const StepOptions& step : {StepOptions{.drop_every = 1}, StepOptions{.bad_every = 1}}) {
      Integral integral({.rows = 10, .unit_rows = 3, .passes = 0}, step, executor.get());
      EXPECT_EQ(integral.read().error,
                "integers: the data has no row to give, and without epochs it would be read forever; check what the "
                "files hold and what is left out, or set epochs");
    }
    Integral finite({.rows = 10, .unit_rows = 3, .passes = 3}, {.drop_every = 1}, executor.get());
    EXPECT_EQ(finite.read().error, "");
    Integral empty({.rows = 0, .passes = 0}, {}, executor.get());
    EXPECT_NE(empty.read().error, "");
  }
}

TEST(ChunkStream, CancelEndsIt) {
  Executor executor(2);
  Integral integral({.rows = 10, .unit_rows = 1, .passes = 0, .spin = 1000}, {}, &executor);
  std::atomic<bool> begun{false};
  std::thread canceller([&] {
    while (!begun) std::this_thread::yield();
    integral.stream.cancel();
  });
  executor.run([&] {
    while (integral.stream.pull(1)) begun = true;
  });
  canceller.join();
  EXPECT_EQ(integral.read().error, "");
}

// Text: the files of a stream of records.
struct Textual {
  Textual(std::vector<std::string> files, uint64_t unit_bytes, Executor* executor, std::string bad = "",
          std::string fatal = "")
      : source(std::move(files), unit_bytes, true, 2),
        cut(std::move(bad), std::move(fatal)),
        stream(source, 0, "lines", text_port(),
               {{.transform = &cut, .name = "cut", .output = rows_port(), .reporter = &cut}}),
        where(executor) {
    events.on_bad_row = [this](const BadRow& row) { told.push_back(row.place.text()); };
    stream.set_ahead(100, 0);
    stream.start(executor, &events);
  }
  void read(int64_t rows = INT64_MAX) {
    run(where, [&] {
      try {
        while (rows > 0) {
          const RowSpan span = stream.pull(std::min<int64_t>(rows, 3));
          if (!span) break;
          for (int64_t i = span.begin; i < span.begin + span.count; ++i) {
            const RowId& id = span.block->id(i);
            const std::string record(source.text(id.file).substr(id.offset, id.length));
            found.push_back({.text = cat(value(*span.block, i)),
                             .file = cat("file-", id.file),
                             .offset = id.offset,
                             .length = id.length,
                             .line = id.line,
                             .next_line = id.next_line});
          }
          rows -= span.count;
        }
      } catch (const Error& raised) {
        error = raised.what();
      }
    });
  }

  Lines source;
  Cut cut;
  StreamEvents events;
  std::vector<Record> found;
  std::vector<std::string> told;
  std::string error;
  ChunkStream stream;
  Executor* where;
};

std::vector<Record> expected_records(const std::vector<std::string>& files) {
  std::vector<Record> out;
  for (int pass = 0; pass < 2; ++pass) {
    for (Record record : fake::records_of(files, true)) {
      record.text = cat(static_cast<int64_t>(fnv1a64(record.text)));
      out.push_back(record);
    }
  }
  return out;
}

TEST(ChunkStreamText, FindsEveryRecordWhateverTheChunksAndThreads) {
  const std::vector<std::unique_ptr<Executor>> all = executors();
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const std::vector<std::string> files = {fake::random_text(seed, 30), fake::random_text(seed + 100, 3), "header",
                                            fake::random_text(seed + 200, 1)};
    const std::vector<Record> expected = expected_records(files);
    const uint64_t bytes = files[0].size();
    for (uint64_t unit_bytes : {uint64_t{1}, uint64_t{2}, uint64_t{13}, uint64_t{100}, bytes - 1, bytes, 2 * bytes}) {
      for (const auto& executor : all) {
        Textual textual(files, unit_bytes, executor.get());
        textual.source.on_task([&](const Unit& unit) { fake::spin(seed + unit.begin, 2000); });
        textual.read();
        ASSERT_EQ(textual.found, expected) << seed << ' ' << unit_bytes << ' ' << (executor ? executor->threads() : 0);
        EXPECT_EQ(textual.error, "");
        uint64_t total = 0;
        for (const std::string& file : files) total += 2 * file.size();
        EXPECT_EQ(textual.stream.bytes(), total);
      }
    }
  }
}

TEST(ChunkStreamText, RunsAWrongGuessAgain) {
  // Units of 8 bytes: the second begins inside quotes and sees a record at byte 9, where the first one ends at 13.
  const std::string file = "header\n\"\n2\n\"\n5\n6\n7\n8\n9\n";
  Executor executor(2);
  Textual textual({file}, 8, &executor);
  std::mutex mutex;
  std::condition_variable changed;
  bool guessed = false;  // guarded by mutex
  textual.source.on_task([&](const Unit& unit) {
    std::unique_lock lock(mutex);
    if (unit.pass > 0) return;
    guessed = guessed || !unit.exact;
    changed.notify_all();
    if (unit.begin == 0) changed.wait_for(lock, std::chrono::seconds(20), [&] { return guessed; });
  });
  textual.read();
  EXPECT_EQ(textual.found, expected_records({file}));
  EXPECT_GE(textual.stream.scheduler().second_tries(), 1u);
}

TEST(ChunkStreamText, GoesOnFromEveryRecord) {
  const std::vector<std::string> files = {fake::random_text(5, 15), fake::random_text(6, 9)};
  const std::vector<std::unique_ptr<Executor>> all = executors();
  Textual whole(files, 1 << 20, nullptr, "7", "");
  whole.read();
  for (int64_t k = 0; k <= static_cast<int64_t>(whole.found.size()); ++k) {
    Textual first(files, 10 + static_cast<uint64_t>(k), all[static_cast<size_t>(k) % 5].get(), "7");
    first.read(k);
    State state;
    first.stream.save(state);
    Textual second(files, 50, all[static_cast<size_t>(k + 3) % 5].get(), "7");
    second.stream.restore(state);
    second.read();
    first.found.insert(first.found.end(), second.found.begin(), second.found.end());
    first.told.insert(first.told.end(), second.told.begin(), second.told.end());
    EXPECT_EQ(first.found, whole.found) << k;
    EXPECT_EQ(first.told, whole.told) << k;
    EXPECT_EQ(second.stream.bad_rows(), whole.stream.bad_rows());
    EXPECT_EQ(second.stream.bytes(), whole.stream.bytes());
  }
}

TEST(ChunkStreamText, PlacesErrorsAndBadRows) {
  const std::string file = "header\n1\n\n\"a\nb\"x\nbad\n\"\n\n\"\nworse\n9\n";
  for (const auto& executor : executors()) {
    for (uint64_t unit_bytes = 1; unit_bytes <= file.size(); ++unit_bytes) {
      Textual textual({file}, unit_bytes, executor.get(), "bad", "worse");
      textual.read();
      EXPECT_EQ(textual.found.size(), 3u);
      EXPECT_EQ(textual.told, (std::vector<std::string>{"file-0:6:1"}));
      EXPECT_EQ(textual.error, "file-0:10:1: a fatal record");
    }
  }
}

TEST(ChunkStreamText, AWrongGuessIsNoError) {
  // Seen from inside the quotes, the words that look fatal begin a line.
  std::string file = "header\n";
  for (int i = 0; i < 50; ++i) file += cat(i, ",\"\nx\n\",\n");
  Executor executor(3);
  for (uint64_t unit_bytes : {3u, 7u, 20u}) {
    Textual textual({file}, unit_bytes, &executor, "", "never");
    textual.read();
    EXPECT_EQ(textual.error, "");
    EXPECT_EQ(textual.found.size(), 100u);
  }
}

TEST(ChunkStreamText, AfterAWrongGuessOnlyAFailedReadIsAnError) {
  const std::string file = "header\n\"\n2\n\"\n5\n6\n7\n8\n9\n";
  Executor executor(2);
  for (const auto& [failure, error] : {std::pair(std::make_exception_ptr(IoError("broken")), "broken"),
                                       {std::make_exception_ptr(DeviceError("gone")), ""},
                                       {std::make_exception_ptr(std::bad_alloc()), ""}}) {
    // Before the stream, whose tasks use them until it is gone.
    std::mutex mutex;
    std::condition_variable changed;
    bool guessed = false;  // guarded by mutex
    Textual textual({file}, 8, &executor);
    textual.source.on_task([&](const Unit& unit) {
      std::unique_lock lock(mutex);
      guessed = guessed || !unit.exact;
      changed.notify_all();
      if (!unit.exact) std::rethrow_exception(failure);
      if (unit.begin == 0) changed.wait_for(lock, std::chrono::seconds(20), [&] { return guessed; });
    });
    textual.read();
    EXPECT_EQ(textual.error, error);
    if (textual.error.empty()) {
      EXPECT_EQ(textual.found, expected_records({file}));
    }
  }
}

TEST(ChunkStreamText, FetchesRecordsAgain) {
  const std::vector<std::string> files = {fake::random_text(1, 20), fake::random_text(2, 20)};
  Textual textual(files, 64, nullptr);
  RowBlock kept, again;
  kept.configure(fake::integer_rows(), 100);
  kept.resize(100);
  again.configure(fake::integer_rows(), 1);
  again.resize(1);
  int64_t rows = 0;
  while (const RowSpan span = textual.stream.pull(3)) {
    for (int64_t i = 0; i < span.count; ++i) kept.copy_row(*span.block, span.begin + i, rows++);
  }
  for (int64_t row = 0; row < rows; ++row) {
    textual.stream.fetch(kept.id(row), again, 0);
    EXPECT_EQ(value(again, 0), value(kept, row));
    EXPECT_EQ(again.id(0), kept.id(row));
  }
  RowId moved = kept.id(3);
  moved.offset += 1;
  try {
    textual.stream.fetch(moved, again, 0);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("the row is not what it was when the state was saved"), std::string::npos);
  }
}

TEST(ChunkStream, BoundsItsMemory) {
  Integral integral({.rows = 1000, .unit_rows = 10}, {.as_float = false}, nullptr, 40);
  const uint64_t row = 64 + sizeof(RowId);
  EXPECT_GE(integral.stream.memory_bound(3), (40 + 5 * 10) * row);
  EXPECT_LE(integral.stream.memory_bound(3), (2 * 40 + 20 * 10) * row);
  Executor executor(3);
  Integral running({.rows = 5000, .unit_rows = 10, .spin = 300}, {}, &executor, 40);
  running.read();
  EXPECT_LE(running.stream.scheduler().held().bytes, running.stream.memory_bound(3));
}

}  // namespace
}  // namespace millrace

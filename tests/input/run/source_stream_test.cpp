#include "millrace/input/run/source_stream.h"

#include <gtest/gtest.h>

#include "tests/input/graph/fake_ops.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using fake::Integers;
using fake::Step;

// A stream of nothing but its calls: next_rows() does what the test says.
class Told : public SourceStream {
 public:
  explicit Told(RowSource& source, std::vector<ChainLink> links = {})
      : SourceStream(source, 4, "told", port(), std::move(links)) {
    rows.configure(fake::integer_rows(), 1);
    rows.resize(1);
  }
  static Port port() { return {.type = PortType::rows, .format = {}, .rows = fake::integer_rows()}; }
  uint64_t memory_bound(int threads) const override { return scheduler_bound({ahead_.rows, tasks(threads)}); }

  // What each further call gives: a row of this pass; none: the end.
  std::vector<uint32_t> passes_to_give;
  std::exception_ptr failure;
  RowBlock rows;
  int calls = 0, restarts = 0;
  uint64_t position = 0;
  std::vector<uint32_t> passes_started;

 private:
  void start_tasks(Executor*, UnitDecoder*) override {}
  RowSpan next_rows(int64_t) override {
    ++calls;
    bytes_ += 10;
    if (failure) std::rethrow_exception(failure);
    if (passes_to_give.empty() || cancelled()) return {};
    enter_pass(passes_to_give.front());
    passes_to_give.erase(passes_to_give.begin());
    ++position;
    settle();
    return {&rows, 0, 1};
  }
  void restart() override { ++restarts; }
  void save_position(State& state) const override { state.set("position", {1, position}); }
  uint32_t restore_position(const State& state) override {
    position = position_of(state, {UINT32_MAX, UINT32_MAX})[1];
    return 1;
  }
  void start_pass(uint32_t pass) override { passes_started.push_back(pass); }
};

TEST(SourceStream, StaysAtItsEndAndAtAFailure) {
  Integers source({.rows = 5});
  Told stream(source);
  EXPECT_TRUE(stream.has_source(4));
  EXPECT_FALSE(stream.has_source(3));
  EXPECT_FALSE(stream.pull(1));
  EXPECT_FALSE(stream.pull(1));
  EXPECT_EQ(stream.calls, 1);
  stream.rewind(1);
  EXPECT_EQ(stream.restarts, 1);
  stream.failure = std::make_exception_ptr(IoError("broken"));
  EXPECT_THROW(stream.pull(1), IoError);
  stream.failure = nullptr;
  EXPECT_THROW(stream.pull(1), IoError);
  EXPECT_EQ(stream.calls, 2);
}

// A source with many files adds up their sizes.
TEST(SourceStream, AsksForTheSizeOfItsDataOnce) {
  class Sized : public Integers {
   public:
    using Integers::Integers;
    std::optional<uint64_t> pass_size() const override { return ++asked, 5; }
    uint32_t passes() const override { return 4; }
    mutable int asked = 0;
  };
  class Passing : public Told {
   public:
    using Told::Told;
    void pass_over(uint64_t count) { passed_ += count; }
  };
  Sized source({.rows = 5, .passes = 4});
  Passing stream(source);
  EXPECT_EQ(stream.share(), 0);
  stream.pass_over(5);
  EXPECT_EQ(stream.share(), 0.25);
  stream.pass_over(10);
  EXPECT_EQ(stream.share(), 0.75);
  EXPECT_EQ(source.asked, 1);
}

TEST(SourceStream, ACancelledStreamHasNotEnded) {
  Integers source({.rows = 5});
  Told stream(source);
  stream.cancel();
  EXPECT_FALSE(stream.pull(1));
  State state;
  stream.save(state);
  EXPECT_EQ(state.value("ended"), 0u);
  EXPECT_EQ(state.value("bytes"), 0u);
}

TEST(SourceStream, KnowsAnEndlessPassWithoutRows) {
  Integers endless({.rows = 5, .passes = 0});
  class Skipping : public Told {
   public:
    using Told::Told;
    void pass_over(uint32_t pass) { enter_pass(pass); }
  };
  Skipping stream(endless);
  stream.passes_to_give = {0};
  EXPECT_TRUE(stream.pull(1));
  stream.pass_over(1);
  stream.pass_over(1);
  EXPECT_THROW(stream.pass_over(2), DataError);
  stream.rewind(0);
  stream.pass_over(0);
  EXPECT_THROW(stream.pass_over(1), DataError);

  Integers finite({.rows = 5, .passes = 3});
  Skipping other(finite);
  for (uint32_t pass = 0; pass < 3; ++pass) other.pass_over(pass);
}

TEST(SourceStream, SavesWhereItStandsBehindItsLastRow) {
  Integers source({.rows = 5, .passes = 2});
  Told stream(source);
  State fresh;
  stream.save(fresh);
  EXPECT_FALSE(fresh.has("position"));
  stream.passes_to_give = {0, 1};
  EXPECT_TRUE(stream.pull(1));
  EXPECT_TRUE(stream.pull(1));
  State state;
  stream.save(state);
  stream.pull(1);
  State end;
  stream.save(end);
  EXPECT_EQ(state.value("bytes"), 20u);
  EXPECT_EQ(end.value("bytes"), 30u);
  EXPECT_EQ(end.value("ended"), 1u);

  Told restored(source);
  restored.restore(state);
  EXPECT_EQ(restored.position, 2u);
  EXPECT_EQ(restored.bytes(), 20u);
  State again;
  restored.save(again);
  EXPECT_EQ(again, state);
  Told ended(source);
  ended.restore(end);
  EXPECT_FALSE(ended.pull(1));
  EXPECT_EQ(ended.calls, 0);

  state.set("position", {1, 2, 3});
  try {
    Told(source).restore(state);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "the saved position of told has 3 numbers, not 2");
  }
}

// Data of so many passes.
class Lasting : public Integers {
 public:
  explicit Lasting(uint32_t passes) : Integers({.rows = 5, .passes = static_cast<int64_t>(passes)}), passes_(passes) {}
  uint32_t passes() const override { return std::max(passes_, 1u); }

 private:
  const uint32_t passes_;  // 0: they never end
};

TEST(SourceStream, GoesOnAfterItsEndIfTheDataAreLonger) {
  Lasting two(2), three(3), one(1), endless(0);
  Told stream(two);
  stream.passes_to_give = {0, 1};
  EXPECT_TRUE(stream.pull(1));
  State first;
  stream.save(first);
  EXPECT_TRUE(stream.pull(1));
  EXPECT_FALSE(stream.pull(1));
  State end;
  stream.save(end);

  for (Lasting* source : {&three, &endless}) {
    Told longer(*source);
    longer.restore(end);
    EXPECT_EQ(longer.passes_started, std::vector<uint32_t>{2});
    longer.passes_to_give = {2};
    EXPECT_TRUE(longer.pull(1));
    Told between(*source);
    between.restore(first);
    EXPECT_EQ(between.passes_started, std::vector<uint32_t>()) << "it stands where it stood";
    EXPECT_EQ(between.position, 1u);
  }
  Told same(two);
  same.restore(end);
  EXPECT_FALSE(same.pull(1));
  const std::string shorter = error_of<ConfigError>([&] { Told(one).restore(end); });
  EXPECT_EQ(shorter, "told: the saved state is in epoch 2, but there would be only 1 epoch; allow at least 2");
}

TEST(SourceStream, KeepsItsLengthInAFurtherRun) {
  Lasting two(2), three(3);
  Told stream(two);
  stream.rewind(1);
  State state;
  stream.save(state);
  Told(two).restore(state);
  EXPECT_NE(error_of<ConfigError>([&] { Told(three).restore(state); }).find("in a further run"), std::string::npos);
}

TEST(SourceStream, BoundsASchedulerByItsRowsAndTasks) {
  Integers source({.rows = 50, .unit_rows = 10});
  Told stream(source);
  const auto bound = [&](int64_t rows, int threads, int of) {
    stream.set_ahead(rows, threads);
    return stream.memory_bound(of);
  };
  const uint64_t row = 64 + sizeof(RowId);
  EXPECT_EQ(bound(100, 2, 8) - bound(0, 2, 8), 2 * 100 * row);
  EXPECT_EQ(bound(0, 3, 8) - bound(0, 2, 8), 2 * 2 * 10 * row);
  EXPECT_EQ(bound(0, 0, 8), bound(0, 9, 8)) << "0 is as many as there are";

  // A task that keeps bad rows among the others holds two more blocks.
  const Step step({});
  const auto bound_of = [&](bool patient) {
    Told with(source, {{.transform = &step, .name = "step", .output = Told::port(), .patient = patient}});
    with.set_ahead(0, 2);
    return with.memory_bound(8);
  };
  EXPECT_EQ(bound_of(true) - bound_of(false), (2 + 1) * 2 * 2 * 10 * row);
}

}  // namespace
}  // namespace millrace

#include "millrace/input/graph/pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "millrace/input/catalog.h"
#include "tests/input/graph/fake_graph.h"
#include "tests/support/host_mode.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using fake::list;
using fake::of;
using fake::op;
using fake::value;

InputGraph build(const Spec& spec) { return InputGraph::build(spec, fake::registry(), {.seed = 1, .files = nullptr}); }

// The batches, as texts of their values; an error is the last one.
std::vector<std::string> batches_of(Pipeline& pipeline, int64_t most = INT64_MAX) {
  std::vector<std::string> out;
  RowBlock slot = pipeline.make_slot();
  try {
    for (; most > 0; --most) {
      const int64_t rows = pipeline.next(slot);
      if (rows == 0) break;
      std::string text;
      for (int64_t row = 0; row < rows; ++row) {
        const bool is_float = slot.spec().fields[0].dtype == DType::f32;
        const double x = is_float ? *slot.row<float>(0, row) : static_cast<double>(value(slot, row));
        text += cat(text.empty() ? "" : " ", x);
      }
      out.push_back(text);
    }
  } catch (const Error& error) {
    out.emplace_back(error.what());
  }
  return out;
}

std::vector<std::unique_ptr<Executor>> executors() {
  std::vector<std::unique_ptr<Executor>> out(1);
  for (int threads : {1, 2, 3, 8}) out.push_back(std::make_unique<Executor>(threads));
  return out;
}

// Everything at once: two sources, transforms before and behind each kind of buffer.
Spec rich_graph(int64_t unit_rows = 7, int64_t capacity = 20, int64_t fail_at = -1) {
  return list(
      {op("integers",
          {{"name", of("a")}, {"rows", of(50)}, {"unit_rows", of(unit_rows)}, {"passes", of(2)}, {"spin", of(500)}}),
       op("step", {{"name", of("a_step")}, {"drop_every", of(3)}, {"spin", of(500)}, {"fail_at", of(fail_at)}}),
       op("integers", {{"name", of("b")}, {"rows", of(80)}, {"unit_rows", of(unit_rows)}, {"spin", of(300)}}),
       op("step", {{"name", of("b_step")}, {"bad_every", of(11)}, {"add", of(1000)}}),
       op("zip", {{"from", Spec::list().append(of("a_step")).append(of("b_step"))}}),
       op("step", {{"name", of("both")}, {"drop_every", of(10)}}), op("first", {{"rows", of(90)}}),
       op("group", {{"batch_size", of(8)}, {"capacity", of(capacity)}}),
       op("step", {{"name", of("last")}, {"bad_every", of(7)}, {"as_float", Spec::of(true)}})});
}

TEST(Pipeline, GivesBatchesInOrder) {
  Pipeline pipeline(build(list({op("integers", {{"rows", of(10)}}), op("group")})), {});
  EXPECT_EQ(pipeline.batch_size(), 4);
  EXPECT_EQ(pipeline.rows(), fake::integer_rows());
  EXPECT_EQ(batches_of(pipeline), (std::vector<std::string>{"0 1 2 3", "4 5 6 7", "8 9"}));
  EXPECT_TRUE(batches_of(pipeline).empty());
  const InputSummary summary = pipeline.summary();
  EXPECT_EQ(summary.rows, 10u);
  EXPECT_EQ(summary.batches, 3u);
  EXPECT_EQ(summary.passes, 1u);
  EXPECT_EQ(summary.bad_rows, 0u);
  EXPECT_TRUE(summary.dropped.empty());
  EXPECT_EQ(pipeline.place({.offset = 4, .line = 5}).text(), "integers:5");
}

// Gives each batch as two pieces.
class Halves final : public fake::Group {
 public:
  using Group::Group;
  Port bind(const BindArgs& args) override {
    Port port = Group::bind(args);
    port.batch_size *= 2;
    return port;
  }
  int64_t fill(RowBlock& batch) override {
    begins_ = !begins_;
    return Group::fill(batch);
  }
  bool begins() const override { return begins_; }

 private:
  bool begins_ = false;
};

TEST(Pipeline, SaysWhichPiecesBeginABatch) {
  OpRegistry ops = fake::registry();
  ops.add<Halves>("halves");
  const Spec spec = list({op("integers", {{"rows", of(12)}}), op("halves", {{"batch_size", of(2)}}),
                          op("step", {{"name", of("odd")}, {"drop_every", of(2)}}),
                          op("step", {{"name", of("few")}, {"drop_every", of(3)}})});
  Pipeline pipeline(InputGraph::build(spec, ops, {.seed = 1, .files = nullptr}), {.pieces = true});
  RowBlock slot = pipeline.make_slot();
  std::string got;
  while (pipeline.next(slot) > 0) {
    for (int64_t row = 0; row < slot.size(); ++row) got += cat(' ', value(slot, row));
    got += pipeline.begins_batch() ? "*" : "";
  }
  EXPECT_EQ(got, " 1* 5* 7 11*") << "2 and 3 are left out, and so are 8 and 9";
}

TEST(Pipeline, CountsWhatIsLeftOut) {
  Pipeline pipeline(build(list({op("integers", {{"rows", of(30)}, {"passes", of(2)}}),
                                op("step", {{"drop_every", of(5)}, {"bad_every", of(7)}}),
                                op("group", {{"batch_size", of(9)}, {"smaller", Spec::of(false)}}),
                                op("step", {{"drop_every", of(2)}})})),
                    {});
  batches_of(pipeline);
  const InputSummary summary = pipeline.summary();
  EXPECT_EQ(summary.bad_rows, 10u);  // 0 7 14 21 28, twice
  uint64_t out = summary.rows + summary.bad_rows;
  for (const Dropped& dropped : summary.dropped) out += dropped.rows;
  EXPECT_EQ(out, 60u);
  ASSERT_EQ(summary.dropped.size(), 2u);
  EXPECT_EQ(summary.dropped[0].cause, "filter");
  EXPECT_EQ(summary.dropped[1].cause, "last partial batch");
  EXPECT_EQ(summary.dropped[1].rows, 4u);  // 40 rows reach the group
}

TEST(Pipeline, GivesTheSameWhateverTheThreadsTheRoomAndTheChunks) {
  Pipeline plain(build(rich_graph()), {});
  const std::vector<std::string> expected = batches_of(plain);
  const InputSummary expected_summary = plain.summary();
  EXPECT_EQ(expected.size(), 12u);
  for (const auto& executor : executors()) {
    for (int64_t unit_rows : {1, 5, 100}) {
      for (int64_t capacity : {0, 9, 500}) {
        std::vector<std::string> bad;
        Pipeline pipeline(build(rich_graph(unit_rows, capacity)),
                          {.executor = executor.get(),
                           .on_bad_row = [&](const BadRow& row) { bad.push_back(row.text); },
                           .on_print = {},
                           .reader = Device::cpu()});
        EXPECT_EQ(batches_of(pipeline), expected);
        EXPECT_EQ(pipeline.summary().rows, expected_summary.rows);
        EXPECT_EQ(pipeline.summary().bad_rows, expected_summary.bad_rows);
        EXPECT_EQ(bad.size(), expected_summary.bad_rows);
      }
    }
  }
}

// Whether rows are left out behind the source, behind a buffer, or behind the batch.
TEST(Pipeline, EndlessDataWithoutARowIsAnError) {
  const Spec endless = op("integers", {{"rows", of(30)}, {"passes", of(0)}});
  const Spec nothing = op("step", {{"drop_every", of(1)}});
  for (const Spec& graph : {list({endless, nothing, Spec::of("group")}),
                            list({endless, op("first", {{"rows", of(1000000)}}), nothing, Spec::of("group")}),
                            list({endless, Spec::of("group"), nothing})}) {
    for (const auto& executor : executors()) {
      Pipeline pipeline(build(graph), {.executor = executor.get(), .on_bad_row = {}, .on_print = {}});
      const std::vector<std::string> got = batches_of(pipeline);
      ASSERT_EQ(got.size(), 1u);
      EXPECT_NE(got[0].find("the data has no row to give, and without epochs it would be read forever"),
                std::string::npos)
          << got[0];
    }
  }
}

TEST(Pipeline, RaisesTheErrorOfTheDataInItsPlaceAndAgain) {
  Pipeline plain(build(rich_graph(7, 20, 40)), {});
  const std::vector<std::string> expected = batches_of(plain);
  EXPECT_EQ(expected.back(), "integers:41: the value 40 is bad");
  EXPECT_GT(expected.size(), 4u);
  for (const auto& executor : executors()) {
    Pipeline pipeline(build(rich_graph(3, 200, 40)), {.executor = executor.get(), .on_bad_row = {}, .on_print = {}});
    EXPECT_EQ(batches_of(pipeline), expected);
    EXPECT_EQ(batches_of(pipeline), (std::vector<std::string>{expected.back()}));
  }
}

TEST(Pipeline, RaisesErrorsBehindTheBatchForTheWholeBatch) {
  Pipeline pipeline(build(list({op("integers"), op("group"), op("step", {{"fail_at", of(10)}})})), {});
  EXPECT_EQ(batches_of(pipeline), (std::vector<std::string>{"0 1 2 3", "4 5 6 7", "integers:11: the value 10 is bad"}));
  EXPECT_EQ(batches_of(pipeline), (std::vector<std::string>{"integers:11: the value 10 is bad"}));
}

TEST(Pipeline, WrapsForeignExceptions) {
  Executor executor(2);
  Pipeline pipeline(build(list({op("integers"), op("step", {{"throw_at", of(10)}}), op("group")})),
                    {.executor = &executor, .on_bad_row = {}, .on_print = {}});
  EXPECT_TRUE(batches_of(pipeline).back().ends_with(": step: cannot bear 10"));
  Pipeline telling(build(list({op("integers"), op("step", {{"bad_every", of(9)}}), op("group")})),
                   {.executor = &executor,
                    .on_bad_row = [](const BadRow&) { throw std::runtime_error("no disk"); },
                    .on_print = {}});
  EXPECT_TRUE(batches_of(telling).front().ends_with(": group: no disk"));
}

TEST(Pipeline, GoesOnFromEveryBatch) {
  const std::vector<std::unique_ptr<Executor>> all = executors();
  Pipeline plain(build(rich_graph()), {});
  const std::vector<std::string> expected = batches_of(plain);
  for (size_t k = 0; k <= expected.size(); ++k) {
    Pipeline first(build(rich_graph()), {.executor = all[k % 5].get(), .on_bad_row = {}, .on_print = {}});
    std::vector<std::string> got = batches_of(first, static_cast<int64_t>(k));
    const std::string bytes = first.save().encode();
    Pipeline second(build(rich_graph(7, 3)), {.executor = all[(k + 3) % 5].get(), .on_bad_row = {}, .on_print = {}});
    second.restore(State::decode(bytes));
    EXPECT_EQ(second.save().encode(), bytes);
    const std::vector<std::string> rest = batches_of(second);
    got.insert(got.end(), rest.begin(), rest.end());
    EXPECT_EQ(got, expected) << k;
    EXPECT_EQ(second.summary().rows, plain.summary().rows);
    EXPECT_EQ(second.summary().batches, plain.summary().batches);
    EXPECT_EQ(second.summary().bad_rows, plain.summary().bad_rows);
    EXPECT_EQ(second.summary().dropped.size(), plain.summary().dropped.size());
  }
}

// Drawn numbers, computed on the caller's own thread, and again by restore().
TEST(Pipeline, GivesTheSameNumbersInEveryFloatingPointModeOfTheHost) {
  const auto start = [] {
    const Spec spec =
        list({op("synthetic", {{"features", of(40)}, {"rows", of(60)}}),
              op("shuffle_batch", {{"batch_size", of(8)}, {"capacity", of(60)}, {"min_after_dequeue", of(30)}})});
    return std::make_unique<Pipeline>(InputGraph::build(spec, builtin_ops(), {.seed = 1, .files = nullptr}),
                                      PipelineOptions());
  };
  const std::vector<std::string> expected = batches_of(*start());
  EXPECT_EQ(expected.size(), 7u);
  for (const int rounding : test::HostMode::roundings()) {
    const test::HostMode host(rounding, true);
    const auto first = start();
    std::vector<std::string> got = batches_of(*first, 3);
    const auto second = start();
    second->restore(first->save());
    for (std::string& batch : batches_of(*second)) got.push_back(std::move(batch));
    EXPECT_EQ(got, expected) << rounding;
    EXPECT_EQ(std::fegetround(), rounding);
  }
}

TEST(Pipeline, RefusesTheStateOfAnotherGraph) {
  const auto graph = [](int64_t size, int64_t threads) {
    return list({op("integers"), op("group", {{"batch_size", of(size)}, {"threads", of(threads)}})});
  };
  Pipeline first(build(graph(4, 1)), {});
  batches_of(first, 2);
  const State state = first.save();
  Pipeline same(build(graph(4, 2)), {});
  same.restore(state);
  Pipeline other(build(graph(5, 1)), {});
  try {
    other.restore(state);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(),
                 "the input state was saved by another input: it had group.batch_size = \"4\", this one has "
                 "group.batch_size = \"5\"; restore it with the configuration that saved it");
  }
  Pipeline longer(build(list({op("integers"), op("group"), op("step")})), {});
  EXPECT_THROW(longer.restore(state), DataError);
  Pipeline seeded(InputGraph::build(graph(4, 1), fake::registry(), {.seed = 2, .files = nullptr}), {});
  EXPECT_THROW(seeded.restore(state), DataError);
}

TEST(Pipeline, SavesAndRestoresOnlyBetweenBatches) {
  Pipeline failed(build(list({op("integers"), op("step", {{"fail_at", of(5)}}), op("group")})), {});
  batches_of(failed);
  EXPECT_THROW(failed.save(), CallError);
  Pipeline pieces(build(list({op("integers"), op("group")})), {.pieces = true});
  EXPECT_EQ(error_of<InternalError>([&] { pieces.save(); }),
            "the state of an input cannot be saved if batches come in pieces");
  Pipeline running(build(list({op("integers"), op("group")})), {});
  const State state = running.save();
  batches_of(running, 1);
  EXPECT_THROW(running.restore(state), CallError);
}

TEST(Pipeline, RefusesASlotOfAnotherKind) {
  Pipeline pipeline(build(list({op("integers"), op("group")})), {});
  RowBlock small;
  small.configure(fake::integer_rows(), 3);
  try {
    pipeline.next(small);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(
        error.what(),
        "the batch given to the input has room for 3 rows of (x: int64 (1)), expected 4 of (x: int64 (1)); make "
        "it with make_slot()");
  }
  EXPECT_EQ(batches_of(pipeline).size(), 25u);
}

TEST(Pipeline, WritesIntoTheSlotItIsGiven) {
  for (const char* last : {"group", "step"}) {
    std::vector<Spec> ops = {op("integers"), op("group")};
    if (last == std::string("step")) ops.push_back(op("step", {{"as_float", Spec::of(true)}}));
    Pipeline pipeline(build(list(std::move(ops))), {});
    RowBlock slot = pipeline.make_slot();
    const std::byte* start = slot.at(0, 0);
    while (pipeline.next(slot) > 0) EXPECT_EQ(slot.at(0, 0), start);
  }
}

TEST(Pipeline, CancelStopsAWaitingCall) {
  Executor executor(2);
  for (int round = 0; round < 20; ++round) {
    Pipeline pipeline(
        build(
            list({op("integers", {{"rows", of(1000000)}, {"unit_rows", of(3)}, {"passes", of(0)}, {"spin", of(2000)}}),
                  op("group")})),
        {.executor = &executor, .on_bad_row = {}, .on_print = {}});
    std::atomic<int> batches{0};
    std::thread canceller([&] {
      while (batches < 3) std::this_thread::yield();
      pipeline.cancel();
      pipeline.cancel();
    });
    RowBlock slot = pipeline.make_slot();
    while (pipeline.next(slot) > 0) ++batches;
    canceller.join();
    EXPECT_TRUE(pipeline.cancelled());
    EXPECT_EQ(pipeline.next(slot), 0);
    EXPECT_EQ(pipeline.summary().batches, static_cast<uint64_t>(batches));
  }
}

TEST(Pipeline, StartsAndStopsAThousandTimes) {
  const std::unique_ptr<Executor> shared = std::make_unique<Executor>(3);
  for (int round = 0; round < 1000; ++round) {
    const std::unique_ptr<Executor> own = round % 10 == 0 ? std::make_unique<Executor>(1 + round / 10 % 4) : nullptr;
    Executor* executor = own ? own.get() : shared.get();
    Pipeline pipeline(build(list({op("integers", {{"passes", of(0)}, {"spin", of(300)}}), op("group")})),
                      {.executor = executor, .on_bad_row = {}, .on_print = {}});
    EXPECT_EQ(batches_of(pipeline, round % 5).size(), static_cast<size_t>(round % 5));
    if (round % 3 == 0) pipeline.cancel();
  }
}

TEST(Pipeline, SeveralShareAnExecutor) {
  Executor executor(2);
  Pipeline expected_pipeline(build(rich_graph()), {});
  const std::vector<std::string> expected = batches_of(expected_pipeline);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Pipeline pipeline(build(rich_graph()), {.executor = &executor, .on_bad_row = {}, .on_print = {}});
      wrong += batches_of(pipeline) != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Pipeline, MeasuresWhatItsOpsDo) {
  Executor executor(2);
  for (Executor* where : {static_cast<Executor*>(nullptr), &executor}) {
    Pipeline pipeline(build(rich_graph()), {.executor = where, .on_bad_row = {}, .on_print = {}});
    batches_of(pipeline);
    const InputStatistics statistics = pipeline.statistics();
    std::vector<std::string> names;
    for (const OpStatistics& one : statistics.ops) {
      names.push_back(one.name);
      if (one.name == "zip" || one.name == "first") continue;  // row buffers are only named
      EXPECT_GT(one.busy_seconds, 0) << one.name;
      EXPECT_GT(one.rows, 0u) << one.name;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"a", "a_step", "b", "b_step", "both", "zip", "first", "group", "last"}));
    EXPECT_GT(statistics.times.next_seconds, 0);
    EXPECT_LE(statistics.times.wait_seconds, statistics.times.next_seconds);
  }
}

}  // namespace
}  // namespace millrace

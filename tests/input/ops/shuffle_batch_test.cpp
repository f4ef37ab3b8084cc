#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "millrace/core/random.h"
#include "tests/input/fake_rows.h"
#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::BatchRun;
using testing_support::error_of;
using testing_support::FakeRows;
using testing_support::make_op;
using testing_support::throws_exactly;
using Batches = std::vector<std::vector<int64_t>>;

Spec options(int64_t batch_size, int64_t min_after_dequeue, bool smaller = true, int64_t capacity = 1000000) {
  return Spec::map()
      .set("batch_size", batch_size)
      .set("min_after_dequeue", min_after_dequeue)
      .set("capacity", capacity)
      .set("allow_smaller_final_batch", smaller);
}

std::vector<int64_t> order(const Spec& with, int64_t rows, uint64_t seed, std::string_view name = {}) {
  FakeRows input(rows);
  std::vector<int64_t> out;
  for (const auto& batch : BatchRun("shuffle_batch", with, input, seed, name).all()) {
    out.insert(out.end(), batch.begin(), batch.end());
  }
  return out;
}

// Drawn as the documentation says, without any of the op's machinery.
std::vector<int64_t> reference(int64_t window, int64_t rows, uint64_t seed, std::string_view name) {
  std::vector<int64_t> places(static_cast<size_t>(std::min(window, rows))), out;
  std::iota(places.begin(), places.end(), 0);
  auto next = static_cast<int64_t>(places.size());
  for (uint64_t draw = 0; !places.empty(); ++draw) {
    const size_t place = scale_to(philox64(seed, fnv1a64(name), draw), places.size());
    out.push_back(places[place]);
    places[place] = next < rows ? next++ : places.back();
    if (static_cast<int64_t>(out.size() + places.size()) > rows) places.pop_back();
  }
  return out;
}

TEST(ShuffleBatch, DrawsAsTheDocumentationDefines) {
  // Computed by another program: W = 5; the first draws of seed 23 are 1, 1, 4, 2, 0.
  EXPECT_THAT(order(options(2, 3), 10, 23), ElementsAre(1, 5, 4, 2, 0, 7, 8, 9, 3, 6));
  EXPECT_THAT(order(options(2, 3), 10, 0), ElementsAre(0, 1, 6, 4, 8, 5, 7, 3, 9, 2));
  EXPECT_EQ(philox64(23, fnv1a64("shuffle_batch"), 0), 0x61fd7ee8366b4c47u);
  EXPECT_EQ(philox64(23, fnv1a64("shuffle_batch"), 1), 0x58845b20249a8398u);
  EXPECT_EQ(philox64(23, fnv1a64("shuffle_batch"), 2), 0xe51b1477f31b27a3u);
}

TEST(ShuffleBatch, AgreesWithThePlainDefinitionForAllSizes) {
  for (const int64_t rows : {0, 1, 2, 3, 7, 8, 9, 50}) {
    for (const int64_t batch_size : {1, 2, 3, 8, 60}) {
      for (const int64_t behind : {0, 1, 5, 100}) {
        EXPECT_EQ(order(options(batch_size, behind), rows, 5, "s"), reference(batch_size + behind, rows, 5, "s"))
            << rows << ' ' << batch_size << ' ' << behind;
      }
    }
  }
}

TEST(ShuffleBatch, GroupsRowsAsTensorFlowDoes) {
  FakeRows rows(20 * 100 * 2);
  BatchRun run("shuffle_batch", options(23, 10, true, 79).set("threads", 2), rows);
  const Batches batches = run.all();
  ASSERT_EQ(batches.size(), 174u);
  for (size_t i = 0; i < 173; ++i) EXPECT_EQ(batches[i].size(), 23u);
  EXPECT_EQ(batches[173].size(), 21u);
  EXPECT_EQ(run.dropped(), 0u);
  EXPECT_THAT(run.next(), IsEmpty()) << "the end stays the end";
}

TEST(ShuffleBatch, DropsAndCountsTheLastPartialBatch) {
  FakeRows rows(20 * 100 * 2);
  BatchRun run("shuffle_batch", options(23, 10, false, 79), rows);
  EXPECT_EQ(run.all().size(), 173u);
  EXPECT_EQ(run.dropped(), 21u);
  EXPECT_THAT(run.next(), IsEmpty());
  EXPECT_EQ(run.dropped(), 21u);
  FakeRows even(46);
  BatchRun full("shuffle_batch", options(23, 10, false, 79), even);
  EXPECT_EQ(full.all().size(), 2u);
  EXPECT_EQ(full.dropped(), 0u);
}

TEST(ShuffleBatch, GivesEveryRowOnceAndNoneTooEarly) {
  constexpr int64_t kWindow = 4 + 13;
  const std::vector<int64_t> rows = order(options(4, 13), 1000, 9);
  std::vector<int> seen(1000);
  for (size_t i = 0; i < rows.size(); ++i) {
    ++seen[static_cast<size_t>(rows[i])];
    EXPECT_GE(static_cast<int64_t>(i), rows[i] - kWindow + 1);
  }
  EXPECT_THAT(seen, ::testing::Each(1));
}

TEST(ShuffleBatch, AWindowAsLargeAsTheDataIsAUniformPermutation) {
  constexpr int kRuns = 24000;
  std::map<std::vector<int64_t>, int> seen;
  for (int seed = 0; seed < kRuns; ++seed) ++seen[order(options(1, 3), 4, static_cast<uint64_t>(seed))];
  ASSERT_EQ(seen.size(), 24u);
  double chi_square = 0;
  for (const auto& [permutation, count] : seen) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 49.7) << "23 degrees of freedom, one run in a thousand";
}

TEST(ShuffleBatch, EveryPlaceIsDrawnEquallyOften) {
  // How long after it could have come first a row comes: geometric with the window's size.
  constexpr int64_t kWindow = 10;
  const std::vector<int64_t> rows = order(options(1, kWindow - 1), 200000, 3);
  std::vector<double> delays(40);
  for (size_t i = 0; i + 1000 < rows.size(); ++i) {
    const auto delay = static_cast<int64_t>(i) - std::max<int64_t>(rows[i] - kWindow + 1, 0);
    if (rows[i] >= kWindow && delay < 40) ++delays[static_cast<size_t>(delay)];
  }
  double chi_square = 0, expected = 199000.0 / kWindow;
  for (const double count : delays) {
    chi_square += (count - expected) * (count - expected) / expected;
    expected *= 1 - 1.0 / kWindow;
  }
  EXPECT_LT(chi_square, 73.4) << "40 degrees of freedom, one run in a thousand";
}

TEST(ShuffleBatch, AsksForNoRowBehindTheLastDrawOfABatch) {
  FakeRows rows(1000);
  BatchRun run("shuffle_batch", options(4, 6), rows);
  run.next();
  EXPECT_EQ(rows.at(), 10 + 3);
  run.next();
  EXPECT_EQ(rows.at(), 10 + 7);
}

TEST(ShuffleBatch, RaisesTheErrorOfARowWhenItWouldEnterTheWindow) {
  // W = 10. Row 13 would be needed before draw 4, the first of the second batch.
  const Spec with = options(4, 6);
  FakeRows good(100);
  const std::vector<int64_t> first = BatchRun("shuffle_batch", with, good).next();
  FakeRows rows(100, 13);
  BatchRun run("shuffle_batch", with, rows);
  EXPECT_EQ(run.next(), first) << "the batch that does not need it still comes";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(error_of([&] { run.next(); }), "row 13 is bad");
  for (const int64_t bad : {0, 5, 9, 10, 12}) {
    FakeRows early(100, bad);
    BatchRun failing("shuffle_batch", with, early);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(error_of([&] { failing.next(); }), cat("row ", bad, " is bad"));
  }
}

TEST(ShuffleBatch, GoesOnFromEverySavedState) {
  const Spec with = options(4, 6, false);
  FakeRows rows(41);
  BatchRun run("shuffle_batch", with, rows);
  const Batches all = run.all();
  for (size_t batches = 0; batches <= all.size() + 1; ++batches) {
    FakeRows before(41), after(41);
    BatchRun first("shuffle_batch", with, before);
    for (size_t i = 0; i < batches; ++i) first.next();
    BatchRun second("shuffle_batch", with, after);
    second.restore(first.save());
    EXPECT_EQ(second.save(), first.save()) << "a restored state is the same state";
    const Batches rest(all.begin() + static_cast<ptrdiff_t>(std::min(batches, all.size())), all.end());
    EXPECT_EQ(second.all(), rest);
    EXPECT_EQ(second.dropped(), 1u);
    EXPECT_LE(after.fetches, 10);
  }
}

TEST(ShuffleBatch, RefusesAStateOfALargerWindow) {
  FakeRows rows(100);
  BatchRun run("shuffle_batch", options(4, 6), rows);
  run.next();
  BatchRun smaller("shuffle_batch", options(4, 5), rows);
  EXPECT_EQ(error_of([&] { smaller.restore(run.save()); }), "the saved state has 10 rows in a window of 9");
  EXPECT_TRUE((throws_exactly<DataError>([&] { smaller.restore(run.save()); })));
}

// A window holds rows of many passes of small data: that passes go by without a row does not mean that there is none.
TEST(ShuffleBatch, AFilterBehindItMayLeaveOutWholePasses) {
  testing_support::MemoryFiles files;
  for (int x = 0; x < 10; ++x) files.files["a.csv"] += cat(x, '\n');
  const auto lines = [&](const std::string& value) {
    return testing_support::GraphCheck(
               files, cat("- filename_queue: {files: a.csv}\n- csv_reader\n- decode_csv: {fields: {x: {columns: 0}}}\n",
                          "- shuffle_batch: {batch_size: 2, capacity: 200, min_after_dequeue: 100}\n",
                          "- filter: {field: x, op: \"==\", value: ", value, "}\n"))
        .check(20);
  };
  const auto rows = lines("3");
  EXPECT_GE(rows.size(), 39u);
  EXPECT_THAT(rows, ::testing::Each(::testing::AnyOf("--", "a.csv:4 x=3")));
  EXPECT_THAT(lines("10"), ElementsAre(HasSubstr("error filter: the data has no row to give")));
}

TEST(ShuffleBatch, IsKeyedBySeedAndName) {
  EXPECT_NE(order(options(4, 60), 100, 1), order(options(4, 60), 100, 2));
  EXPECT_NE(order(options(4, 60), 100, 1, "a"), order(options(4, 60), 100, 1, "b"));
  EXPECT_EQ(order(options(4, 60, true, 64), 100, 1), order(options(4, 60, true, 5000).set("threads", 7), 100, 1));
}

TEST(ShuffleBatch, RaisesACapacityThatIsTooSmall) {
  const auto make = [](int64_t capacity) {
    return make_op<BatchBuffer>("shuffle_batch", options(23, 10, true, capacity).set("threads", 2));
  };
  EXPECT_THAT(
      make(20)->warnings(),
      ElementsAre("capacity 20 raised to 33: it must hold min_after_dequeue + batch_size rows; a rule of thumb is "
                  "min_after_dequeue + (threads + 1) * batch_size = 79"));
  EXPECT_THAT(make(33)->warnings(), IsEmpty());
  EXPECT_EQ(make(20)->ahead().rows, 0);
  EXPECT_EQ(make(79)->ahead().rows, 46);
  EXPECT_EQ(make(79)->ahead().threads, 2);
}

TEST(ShuffleBatch, HasRoomForABatchOfEachTask) {
  Spec usual = options(23, 10).set("threads", 2);
  usual.erase("capacity");
  const auto op = make_op<BatchBuffer>("shuffle_batch", usual);
  EXPECT_THAT(op->warnings(), IsEmpty());
  EXPECT_EQ(op->ahead().rows, 46);
  EXPECT_EQ(order(usual, 100, 1), order(options(23, 10), 100, 1));
}

TEST(ShuffleBatch, SaysWhatItMakesAndHolds) {
  FakeRows rows(1);
  BatchRun run("shuffle_batch", options(23, 10), rows);
  EXPECT_EQ(run.port().type, PortType::batches);
  EXPECT_EQ(run.port().batch_size, 23);
  EXPECT_EQ(run.port().rows, FakeRows::spec());
  EXPECT_EQ(run.op().memory_bound(), 33 * (128 + sizeof(RowId)));
}

TEST(ShuffleBatch, RefusesOptionsThatMakeNoSense) {
  const auto make_error = [](const Spec& with) {
    return error_of([&] { make_op<BatchBuffer>("shuffle_batch", with); });
  };
  EXPECT_THAT(
      make_error(options(23, 10, true, 10)),
      HasSubstr("capacity: expected more than min_after_dequeue = 10, got 10; a rule of thumb is min_after_dequeue + "
                "(threads + 1) * batch_size = 56"));
  EXPECT_THAT(make_error(options(0, 10)), HasSubstr("batch_size: expected at least 1"));
  EXPECT_THAT(make_error(options(1, -1)), HasSubstr("min_after_dequeue: expected at least 0"));
  EXPECT_THAT(make_error(options(1, 1).set("threads", 0)), HasSubstr("threads: expected at least 1"));
  EXPECT_THAT(make_error(Spec::map().set("batch_size", 1).set("capacity", 3)),
              HasSubstr("the key min_after_dequeue is required"));
}

// A compressed file would have to be read from its start for each row.
TEST(ShuffleBatch, RestoresItsWindowInTheOrderOfTheFiles) {
  FakeRows input(100);
  BatchRun run("shuffle_batch", options(4, 20), input, 23);
  run.next();
  run.next();
  State state;
  run.op().save(state);
  FakeRows again(100);
  BatchRun other("shuffle_batch", options(4, 20), again, 23);
  other.op().restore(state);
  ASSERT_EQ(again.fetched.size(), 23u) << "one place of the window waits for a row";
  const auto place = [](const RowId& id) { return std::tuple(id.source, id.file, id.offset); };
  EXPECT_TRUE(std::ranges::is_sorted(again.fetched, {}, place));
}

}  // namespace
}  // namespace millrace

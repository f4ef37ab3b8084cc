// InputSummary::share: which share of all data the batches are, known without reading on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/core/context.h"
#include "millrace/input/graph/pipeline.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::MemoryFiles;

constexpr double kUnknown = -1;

class ShareTest : public ::testing::Test {
 protected:
  ShareTest() {
    files_.files = {{"a", numbers(40)}, {"b", numbers(40)}, {"half", numbers(20)}};
    files_.streams["-"] = {numbers(40)};
  }
  // Rows of four bytes each.
  static std::string numbers(int rows) {
    std::string out;
    for (int i = 0; i < rows; ++i) out += cat(100 + i, '\n');
    return out;
  }
  static Spec op(const std::string& kind, Spec options) { return Spec::map().set(kind, std::move(options)); }
  static std::vector<Spec> reads(Spec queue, Spec reader = Spec::map(), const char* suffix = "") {
    const auto name = [&](Spec options, const char* kind) { return options.set("name", cat(kind, suffix)); };
    Spec x = Spec::map({{"x", {{"columns", 0}, {"type", "int32"}}}});
    return {op("filename_queue", name(queue.set("shuffle", false), "queue")),
            op("csv_reader", name(std::move(reader), "reader")),
            op("decode_csv", name(Spec::map().set("fields", std::move(x)), "rows"))};
  }
  static Spec files(const char* pattern, int64_t epochs = 1) {
    Spec out = Spec::map({{"files", pattern}});
    return epochs > 0 ? out.set("epochs", epochs) : out;
  }
  static Spec batch(int64_t rows = 10) {
    return op("batch", Spec::map({{"batch_size", rows}}).set("allow_smaller_final_batch", true));
  }
  static Spec list(std::vector<Spec> ops, std::vector<Spec> more) {
    for (Spec& one : more) ops.push_back(std::move(one));
    Spec out = Spec::list(std::move(ops), {});
    out.set_path("input");
    return out;
  }

  // The shares after each batch, and after the end.
  std::vector<double> shares(const Spec& ops, Executor* executor = nullptr, size_t most = 100) {
    Pipeline pipeline(InputGraph::build(ops, builtin_ops(), {.seed = 1, .files = &files_}), {.executor = executor});
    return shares(pipeline, most);
  }
  static std::vector<double> shares(Pipeline& pipeline, size_t most = 100) {
    RowBlock slot = pipeline.make_slot();
    std::vector<double> out;
    while (out.size() < most) {
      const bool ended = pipeline.next(slot) == 0;
      out.push_back(pipeline.summary().share.value_or(kUnknown));
      if (ended) break;
    }
    return out;
  }
  // 1/n, 2/n, .. 1, and once more 1 at the end.
  static auto steps(int n) {
    std::vector<::testing::Matcher<double>> out;
    for (int i = 1; i <= n; ++i) out.push_back(::testing::DoubleNear(static_cast<double>(i) / n, 1e-9));
    out.push_back(::testing::DoubleEq(1));
    return ::testing::ElementsAreArray(out);
  }

  MemoryFiles files_;
};

TEST_F(ShareTest, OfFilesIsKnownByTheirSizes) {
  EXPECT_THAT(shares(list(reads(files("a")), {batch()})), steps(4));
  EXPECT_THAT(shares(list(reads(files("[ab]", 3)), {batch(20)})), steps(12));
  EXPECT_THAT(shares(list(reads(files("[ab]")), {batch(1000)})), steps(1));
  Executor executor(4);
  const Spec small = Spec::map({{"chunk_bytes", 7}});
  EXPECT_THAT(shares(list(reads(files("[ab]", 3), small), {batch(20)}), &executor), steps(12));
  EXPECT_THAT(shares(list(reads(files("[ab]", 2), Spec::map({{"readers", 2}})), {batch()}), &executor), steps(16));
  Spec sharded = files("[ab]", 2);
  sharded.set("shard", Spec::map({{"index", 1}, {"count", 2}}));
  EXPECT_THAT(shares(list(reads(sharded), {batch()})), steps(8));
}

TEST_F(ShareTest, CountsWhatIsLeftOutAsPassed) {
  const Spec filter = op("filter", Spec::map({{"field", "x"}, {"op", "<"}, {"value", 120}}));
  const std::vector<double> found = shares(list(reads(files("a")), {filter, batch(5)}));
  ASSERT_EQ(found.size(), 5u);
  EXPECT_NEAR(found[0], 0.125, 1e-9);
  EXPECT_NEAR(found[3], 0.5, 1e-9);
  EXPECT_EQ(found[4], 1);
}

TEST_F(ShareTest, AWindowHoldsWhatWasPassed) {
  const auto window = [](int64_t rows) {
    return op("shuffle_batch", Spec::map({{"batch_size", 10}, {"min_after_dequeue", rows}}));
  };
  EXPECT_THAT(shares(list(reads(files("a", 3)), {window(15)})), steps(12));
  EXPECT_THAT(shares(list(reads(files("a")), {window(1000)})), steps(4)) << "all rows are in it before the first batch";
}

TEST_F(ShareTest, FollowsTheOpsThatDecideWhatComes) {
  const auto take = [](int64_t rows) { return op("take", Spec::map({{"rows", rows}})); };
  const auto repeat = [](int64_t epochs) { return op("repeat", Spec::map({{"epochs", epochs}})); };
  EXPECT_THAT(shares(list(reads(files("a")), {repeat(3), batch()})), steps(12));
  EXPECT_THAT(shares(list(reads(files("a")), {take(20), batch(5)})), steps(4));
  EXPECT_THAT(shares(list(reads(files("a")), {take(1000), batch()})), steps(4)) << "the data end before";
  EXPECT_THAT(shares(list(reads(files("a", 0)), {take(50), batch()})), steps(5)) << "of data without an end";
  EXPECT_THAT(shares(list(reads(files("a")), {take(20), repeat(2), batch()})), steps(4));
  EXPECT_THAT(shares(list(reads(files("a")), {op("cache", Spec::map()), repeat(2), batch()})), steps(8));
}

TEST_F(ShareTest, OfRowsWithoutFilesIsKnownByTheirNumber) {
  const auto synthetic = [](Spec options) { return op("synthetic", options.set("features", 2)); };
  EXPECT_THAT(shares(list({synthetic(Spec::map({{"rows", 40}}))}, {batch()})), steps(4));
  EXPECT_THAT(shares(list({synthetic(Spec::map())}, {batch()}), nullptr, 3), ::testing::Each(kUnknown));
}

TEST_F(ShareTest, OfSeveralInputsIsTheirs) {
  const auto joined = [&](const char* kind, Spec first, Spec second, Spec options = Spec::map()) {
    std::vector<Spec> ops = reads(std::move(first), Spec::map(), "_1");
    for (Spec& one : reads(std::move(second), Spec::map(), "_2")) ops.push_back(std::move(one));
    options.set("from", Spec::list().append(Spec::of("rows_1")).append(Spec::of("rows_2")));
    return list(std::move(ops), {op(kind, std::move(options)), batch()});
  };
  EXPECT_THAT(shares(joined("interleave", files("a"), files("b"))), steps(8));
  const std::vector<double> uneven = shares(joined("interleave", files("a"), files("half")));
  EXPECT_TRUE(std::is_sorted(uneven.begin(), uneven.end()));
  EXPECT_NEAR(uneven[1], 0.25, 1e-9) << "of the longer one";
  EXPECT_EQ(uneven.back(), 1);
  // The rows end with the first input that ends.
  const std::vector<double> mixed = shares(joined("mix", files("a"), files("b", 0)));
  EXPECT_TRUE(std::is_sorted(mixed.begin(), mixed.end()));
  EXPECT_GT(mixed.front(), 0);
  EXPECT_EQ(mixed.back(), 1);
  EXPECT_THAT(shares(joined("interleave", files("a"), files("b", 0)), nullptr, 3), ::testing::Each(kUnknown));
}

TEST_F(ShareTest, OfAPipeOrEndlessDataIsUnknown) {
  std::vector<double> piped = shares(list(reads(files("-")), {batch()}));
  EXPECT_EQ(piped.back(), 1) << "at the end it is known";
  piped.pop_back();
  EXPECT_THAT(piped, ::testing::Each(kUnknown));
  EXPECT_THAT(shares(list(reads(files("a", 0)), {batch()}), nullptr, 9), ::testing::Each(kUnknown));
  const Spec repeat = op("repeat", Spec::map());
  EXPECT_THAT(shares(list(reads(files("a")), {repeat, batch()}), nullptr, 9), ::testing::Each(kUnknown));
}

TEST_F(ShareTest, GoesOnWithASavedState) {
  const Spec ops = list(reads(files("[ab]", 2)), {op("repeat", Spec::map({{"epochs", 2}})), batch()});
  const auto make = [&] { return InputGraph::build(ops, builtin_ops(), {.seed = 1, .files = &files_}); };
  Pipeline first(make(), {}), second(make(), {});
  const std::vector<double> before = shares(first, 21);
  second.restore(first.save());
  const std::vector<double> after = shares(second), whole = shares(ops);
  ASSERT_EQ(before.size() + after.size(), whole.size());
  for (size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], whole[before.size() + i], 1e-9);
}

}  // namespace
}  // namespace millrace

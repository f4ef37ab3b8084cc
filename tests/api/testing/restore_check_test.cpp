#include "millrace/testing.h"

#include <gtest/gtest.h>

#include "tests/input/graph/fake_graph.h"

namespace millrace {
namespace {

// Lets every third row through, and forgets what it is told to.
class Third final : public RowBuffer {
 public:
  struct Options {
    bool forgets_place = false, forgets_count = false;
    void declare(OptionReader& o) {
      o.optional("forgets_place", forgets_place, "how many rows it saw");
      o.optional("forgets_count", forgets_count, "how many it left out");
    }
  };
  static constexpr std::string_view kDoc = "every third row";

  explicit Third(const Options& options) : options_(options) {}
  RowSpan pull(int64_t) override {
    while (const RowSpan row = input().pull(1)) {
      if (seen_++ % 3 == 0) return row;
      ++dropped_;
    }
    return {};
  }
  void save(State& state) const override {
    state.set("seen", seen_);
    state.set("dropped", dropped_);
  }
  void restore(const State& state) override {
    if (!options_.forgets_place) seen_ = state.value("seen");
    if (!options_.forgets_count) dropped_ = state.value("dropped");
  }
  void add_dropped(std::vector<Dropped>& out) const override {
    if (dropped_ > 0) out.push_back({"third", dropped_});
  }

 private:
  const Options options_;
  uint64_t seen_ = 0, dropped_ = 0;
};

RestoreCheck check(const Spec& third, int64_t most = 10) {
  OpRegistry ops = fake::registry();
  ops.add<Third>("third");
  return check_restore(Spec::list({Spec::map({{"integers", {{"rows", 40}, {"passes", 2}}}}), third,
                                   Spec::map({{"group", {{"batch_size", 5}}}})}),
                       ops, most);
}

TEST(RestoreCheck, FindsThatAnOpIsRight) {
  const RestoreCheck found = check(Spec::of("third"));
  EXPECT_EQ(found.difference, "");
  EXPECT_EQ(found.batches, 6);  // 27 rows
  EXPECT_EQ(check(Spec::of("third"), 4).batches, 4);
}

TEST(RestoreCheck, RefusesAnInputThatGivesNothing) {
  const Spec nothing = Spec::list({Spec::map({{"integers", {{"rows", 0}}}}), "group"});
  EXPECT_THROW(check_restore(nothing, fake::registry()), DataError);
}

TEST(RestoreCheck, FindsWhatAnOpForgets) {
  EXPECT_EQ(check(Spec::map({{"third", {{"forgets_place", true}}}})).difference,
            "saved after batch 1: batch 2 has other rows");
  EXPECT_EQ(check(Spec::map({{"third", {{"forgets_count", true}}}})).difference,
            "saved after batch 1: batch 2 counts 10 rows, 0 bad, 10 left out by third, "
            "expected 10 rows, 0 bad, 18 left out by third");
}

}  // namespace
}  // namespace millrace

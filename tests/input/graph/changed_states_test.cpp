// Whoever writes a checksum that holds may write any number: a changed state is refused, or it gives some rows.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/input/saved_states.h"

namespace millrace {
namespace {

using testing_support::number_at;
using testing_support::number_bytes;
using testing_support::numbers_in;
using testing_support::SavedGraphs;
using testing_support::SavedNumbers;

constexpr int kSavedAfter[] = {0, 1, 4};
constexpr int kBatches = 3;

class ChangedStates : public testing::TestWithParam<size_t> {
 protected:
  // Calls body(state, numbers) for each list of numbers in some states of the graph.
  template <class Body>
  void for_each_list(const Body& body) {
    for (const int batches : kSavedAfter) {
      const std::string state = graphs_.state(GetParam(), batches);
      for (const SavedNumbers& numbers : numbers_in(state)) body(state, numbers);
    }
  }
  std::string go_on(const std::string& state, const std::string& what) {
    const std::string end = graphs_.go_on(GetParam(), state, kBatches);
    EXPECT_TRUE(end == "went on" || end == "refused") << what << ": " << end;
    return end;
  }

  SavedGraphs graphs_;
};

TEST_P(ChangedStates, OfAnyNumber) {
  constexpr size_t kMostOfAList = 14;  // two ids of rows
  constexpr uint64_t kTooMuch = UINT64_MAX - 1;
  for_each_list([&](const std::string& state, const SavedNumbers& numbers) {
    for (size_t i = 0; i < std::min(numbers.count, kMostOfAList); ++i) {
      const uint64_t old = number_at(state, numbers.at(i));
      for (const uint64_t value :
           {uint64_t{0}, uint64_t{1}, old + 1, old - 1, uint64_t{1} << 31, uint64_t{1} << 32, State::kMostCount,
            State::kMostCount + 1, uint64_t{INT64_MAX}, uint64_t{1} << 63, kTooMuch, UINT64_MAX}) {
        std::string changed = state;
        changed.replace(numbers.at(i), 8, number_bytes(value));
        const std::string what = cat(numbers.key, '[', i, "] = ", value), end = go_on(changed, what);
        // Of the row that was drawn last, the offset is not read any more.
        const bool is_offset = numbers.key == "rows" && i % 7 == 4;
        if (value == kTooMuch && !is_offset) {
          EXPECT_EQ(end, "refused") << what;
        }
      }
    }
  });
}

TEST_P(ChangedStates, OfAnyLength) {
  for_each_list([&](const std::string& state, const SavedNumbers& numbers) {
    for (const size_t count : {size_t{0}, numbers.count - 1, numbers.count + 1, 2 * numbers.count, size_t{70}}) {
      if (count > 1000 || count == numbers.count) continue;
      std::string list = state.substr(numbers.at(0), 8 * std::min(count, numbers.count));
      for (size_t i = numbers.count; i < count; ++i) {
        list += number_bytes(numbers.count == 0 ? 0 : number_at(state, numbers.at(i % numbers.count)));
      }
      std::string changed = state;
      changed.replace(numbers.count_at, 8 * (numbers.count + 1), number_bytes(count) + list);
      go_on(changed, cat(numbers.key, " with ", count, " numbers"));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Graphs, ChangedStates, testing::Range<size_t>(0, SavedGraphs().size()));

}  // namespace
}  // namespace millrace

// Any numbers in a saved state, under a checksum that holds: it is refused with an error of the data, or the graph goes
// on. The first byte chooses a graph, the second one after how many batches its state was saved; each further group of
// bytes changes the state once.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/input/saved_states.h"

namespace millrace {
namespace {

using testing_support::number_at;
using testing_support::number_bytes;
using testing_support::numbers_in;
using testing_support::SavedGraphs;
using testing_support::SavedNumbers;

constexpr int kBatchesBefore = 6, kBatchesAfter = 4;
constexpr size_t kMostNumbers = 4096;

// The bytes of the fuzzer, read one after another; zeros at their end.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
  bool at_end() const { return data_ == end_; }
  uint64_t take(size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && data_ != end_; ++i) value |= uint64_t{*data_++} << (8 * i);
    return value;
  }

 private:
  const uint8_t *data_, *end_;
};

uint64_t choose_number(Choices& choices, uint64_t old) {
  const uint64_t chosen = choices.take(1);
  const uint64_t more = chosen / 16;
  switch (chosen % 16) {
    case 0: return more;
    case 1: return old + more;
    case 2: return old - more;
    case 3: return UINT64_MAX - more;
    case 4: return UINT32_MAX - more;
    case 5: return uint64_t{INT64_MAX} - more;
    case 6: return State::kMostCount + more;
    case 7: return uint64_t{1} << (4 * more);
    case 8: return old * more;
    case 9: return choices.take(1);
    case 10: return choices.take(2);
    case 11: return choices.take(4);
    default: return choices.take(8);
  }
}

// Sets a number, or takes one out of its list or puts another into it.
void change_number(Choices& choices, std::string& state) {
  const std::vector<SavedNumbers> all = numbers_in(state);
  const SavedNumbers& list = all[choices.take(1) % all.size()];
  const uint64_t how = choices.take(1);
  const size_t index = how / 4 % (list.count + 1);
  if (how % 4 == 2 && index < list.count) {
    state.erase(list.at(index), 8);
    state.replace(list.count_at, 8, number_bytes(list.count - 1));
  } else if (how % 4 == 3 || index == list.count) {
    if (list.count >= kMostNumbers) return;
    state.insert(list.at(index), number_bytes(choose_number(choices, 0)));
    state.replace(list.count_at, 8, number_bytes(list.count + 1));
  } else {
    state.replace(list.at(index), 8, number_bytes(choose_number(choices, number_at(state, list.at(index)))));
  }
}

void check(Choices choices) {
  static SavedGraphs graphs;
  static std::map<std::pair<size_t, int>, std::string> saved;
  const size_t graph = choices.take(1) % graphs.size();
  const int batches = static_cast<int>(choices.take(1) % kBatchesBefore);
  std::string& state = saved[{graph, batches}];
  if (state.empty()) state = graphs.state(graph, batches);
  std::string changed = state;
  bool whole = true;  // its numbers can be found
  while (!choices.at_end()) {
    if (whole && choices.take(1) % 8 != 0) {
      change_number(choices, changed);
    } else {
      const size_t at = choices.take(2) % changed.size();
      changed[at] = static_cast<char>(choices.take(1));
      whole = false;
    }
  }
  const std::string end = graphs.go_on(graph, changed, kBatchesAfter);
  if (end == "went on" || end == "refused") return;
  std::fprintf(stderr, "not an error of the data: %s\n", end.c_str());
  std::abort();
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millrace::check({data, size});
  return 0;
}

#include "millrace/input/run/row_ids.h"

#include <algorithm>
#include <iterator>

namespace millrace {

namespace {

constexpr size_t kNumbers = kSavedIdBytes / sizeof(uint64_t);

RowId id_at(const std::vector<uint64_t>& numbers, size_t i) {
  const auto narrow = [&](size_t at) { return static_cast<uint32_t>(numbers[at]); };
  return {narrow(i), narrow(i + 1), narrow(i + 2), narrow(i + 3), numbers[i + 4], numbers[i + 5], numbers[i + 6]};
}

}  // namespace

void save_ids(State& state, std::string_view key, std::span<const RowId> ids) {
  auto to = state.list(key, ids.size() * kNumbers).begin();
  for (const RowId& id : ids) {
    const uint64_t numbers[kNumbers] = {id.source, id.pass, id.file, id.length, id.offset, id.line, id.next_line};
    to = std::copy(std::begin(numbers), std::end(numbers), to);
  }
}

std::vector<RowId> load_ids(const State& state, std::string_view key) {
  const std::vector<uint64_t>& numbers = state.counts(
      key, {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX, State::kMostCount, State::kMostCount});
  std::vector<RowId> ids;
  ids.reserve(numbers.size() / kNumbers);
  for (size_t i = 0; i < numbers.size(); i += kNumbers) ids.push_back(id_at(numbers, i));
  return ids;
}

void for_each_saved_id(const State& state, const std::function<void(const RowId&)>& body) {
  for (const std::string_view key : {kHeldRows, kTakenRows}) {
    if (!state.has(key)) continue;
    const std::vector<uint64_t>& numbers = state.values(key);
    // Other ops have other numbers under these keys.
    for (size_t i = 0; numbers.size() % kNumbers == 0 && i < numbers.size(); i += kNumbers) body(id_at(numbers, i));
  }
}

}  // namespace millrace

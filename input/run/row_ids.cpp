#include "millrace/input/run/row_ids.h"

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr size_t kNumbers = 7;

uint32_t narrow(uint64_t value, std::string_view key) {
  if (value > UINT32_MAX) {
    throw DataError(cat("the saved row ids ", quote(key), " hold ", value, ", which needs more than 32 bits"));
  }
  return static_cast<uint32_t>(value);
}

}  // namespace

void save_ids(State& state, std::string_view key, std::span<const RowId> ids) {
  std::vector<uint64_t> numbers;
  numbers.reserve(ids.size() * kNumbers);
  for (const RowId& id : ids) {
    numbers.insert(numbers.end(), {id.source, id.pass, id.file, id.length, id.offset, id.line, id.next_line});
  }
  state.set(key, std::move(numbers));
}

std::vector<RowId> load_ids(const State& state, std::string_view key) {
  const std::vector<uint64_t>& numbers = state.values(key);
  if (numbers.size() % kNumbers != 0) {
    throw DataError(cat("the saved row ids ", quote(key), " have ", numbers.size(),
                        " numbers, which is not a multiple of ", kNumbers));
  }
  std::vector<RowId> ids;
  ids.reserve(numbers.size() / kNumbers);
  for (size_t i = 0; i < numbers.size(); i += kNumbers) {
    ids.push_back({narrow(numbers[i], key), narrow(numbers[i + 1], key), narrow(numbers[i + 2], key),
                   narrow(numbers[i + 3], key), numbers[i + 4], numbers[i + 5], numbers[i + 6]});
  }
  return ids;
}

}  // namespace millrace

#include "millrace/input/sources/row_order.h"

#include <algorithm>
#include <cmath>

#include "millrace/core/random.h"

namespace millrace {

namespace {

constexpr uint64_t kRounds = 16;
constexpr uint64_t kRoundStream = fnv1a64("row order");

}  // namespace

RowOrder::RowOrder(const Settings& settings) : settings_(settings) {
  const uint64_t rows = std::max<uint64_t>(settings.rows, 1);
  lefts_ = static_cast<uint64_t>(std::sqrt(static_cast<double>(rows)));
  while (lefts_ * lefts_ < rows) ++lefts_;
  rights_ = (rows - 1) / lefts_ + 1;
}

uint64_t RowOrder::places() const {
  if (settings_.shard_index >= settings_.rows) return 0;
  return (settings_.rows - settings_.shard_index - 1) / settings_.shard_count + 1;
}

uint64_t RowOrder::row(uint32_t pass, uint64_t place) const {
  return walk(pass, settings_.shard_index + place * settings_.shard_count, false);
}

std::optional<uint64_t> RowOrder::place(uint32_t pass, uint64_t row) const {
  if (row >= settings_.rows) return {};
  const uint64_t place = walk(pass, row, true);
  if (place % settings_.shard_count != settings_.shard_index) return {};
  return place / settings_.shard_count;
}

// A permutation of the numbers below lefts_ * rights_: in each round one half of the number moves by a draw that only
// the other half decides, so it can be moved back.
uint64_t RowOrder::step(uint64_t key, uint64_t number, bool back) const {
  uint64_t halves[] = {number / rights_, number % rights_};
  for (uint64_t i = 0; i < kRounds; ++i) {
    const uint64_t round = back ? kRounds - 1 - i : i, size = round % 2 == 0 ? lefts_ : rights_;
    uint64_t& half = halves[round % 2];
    const uint64_t draw = scale_to(philox64(key, kRoundStream, round << 32 | halves[1 - round % 2]), size);
    half = (half + (back ? size - draw : draw)) % size;
  }
  return halves[0] * rights_ + halves[1];
}

// There are a few more numbers than rows. A row that comes to one of these goes on until it comes to a row: that is a
// permutation of the rows.
uint64_t RowOrder::walk(uint32_t pass, uint64_t number, bool back) const {
  if (!settings_.shuffle) return number;
  const uint64_t key = philox64(settings_.seed, settings_.stream, pass);
  do {
    number = step(key, number, back);
  } while (number >= settings_.rows);
  return number;
}

}  // namespace millrace

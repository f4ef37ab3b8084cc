#include "millrace/layers/model/arena.h"

#include <algorithm>

#include "millrace/core/sizes.h"
#include "millrace/core/tensor.h"

namespace millrace {

size_t Arena::add(const ArenaValue& value) {
  values_.push_back({value});
  values_.back().bytes = multiply_bytes(ceil_div(value.bytes, kRowAlignment), kRowAlignment);
  return values_.size() - 1;
}

void Arena::place(bool share) {
  share_ = share;
  bytes_ = 0;
  std::vector<const Value*> below;
  for (const size_t index : bottom_up()) {
    Value& value = values_[index];
    value.offset = 0;
    for (const Value* other : below) {
      if (meet(value, *other)) value.offset = std::max(value.offset, other->offset + other->bytes);
    }
    bytes_ = std::max(bytes_, add_bytes(value.offset, value.bytes));
    below.push_back(&value);
  }
}

// The values in an order in which each comes after all values below it.
std::vector<size_t> Arena::bottom_up() const {
  const auto life = [&](size_t index) { return values_[index].last - values_[index].first; };
  std::vector<size_t> order;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].bytes > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return life(a) > life(b); });
  std::vector<size_t> heights(values_.size()), placed;
  for (const size_t index : order) {
    heights[index] = lowest_room(index, placed, heights);
    const auto lower = [&](size_t a, size_t b) { return heights[a] < heights[b]; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index, lower), index);
  }
  return placed;
}

size_t Arena::lowest_room(size_t index, const std::vector<size_t>& placed, const std::vector<size_t>& heights) const {
  size_t height = 0;
  for (const size_t other : placed) {
    if (!meet(values_[index], values_[other])) continue;
    if (add_bytes(height, values_[index].weight) <= heights[other]) break;
    height = std::max(height, add_bytes(heights[other], values_[other].weight));
  }
  return height;
}

}  // namespace millrace

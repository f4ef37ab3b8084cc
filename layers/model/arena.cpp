#include "millrace/layers/model/arena.h"

#include <algorithm>
#include <numeric>

#include "millrace/core/tensor.h"

namespace millrace {

size_t Arena::add(size_t bytes, int first, int last) {
  values_.push_back({multiply_bytes(ceil_div(bytes, kRowAlignment), kRowAlignment), first, last, 0});
  return values_.size() - 1;
}

void Arena::place(bool share) {
  std::vector<size_t> order(values_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values_[a].bytes > values_[b].bytes; });
  std::vector<size_t> placed;
  bytes_ = 0;
  for (const size_t index : order) {
    Value& value = values_[index];
    value.offset = share ? lowest_free(value, placed) : bytes_;
    bytes_ = std::max(bytes_, add_bytes(value.offset, value.bytes));
    placed.push_back(index);
  }
}

size_t Arena::lowest_free(const Value& value, const std::vector<size_t>& placed) const {
  std::vector<const Value*> neighbours;
  for (const size_t index : placed) {
    const Value& other = values_[index];
    if (other.first <= value.last && value.first <= other.last) neighbours.push_back(&other);
  }
  std::sort(neighbours.begin(), neighbours.end(), [](const Value* a, const Value* b) { return a->offset < b->offset; });
  size_t offset = 0;
  for (const Value* other : neighbours) {
    if (add_bytes(offset, value.bytes) <= other->offset) break;
    offset = std::max(offset, other->offset + other->bytes);
  }
  return offset;
}

}  // namespace millrace

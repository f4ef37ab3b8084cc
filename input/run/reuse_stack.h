// ReuseStack: items that wait to be used again. The last one in comes out first, so that few items keep large memory.
// But items that were never used come out before all others: so every item takes its memory in the first rounds, and
// not in a later round that depends on timing. Owns nothing; not synchronised.
#pragma once

#include <cstddef>
#include <vector>

namespace millrace {

template <class T>
class ReuseStack {
 public:
  bool empty() const { return items_.empty(); }
  // Adds an item that was never used. `all` is how many items there are in all, so that give() never allocates.
  void add(T* item, size_t all) {
    items_.reserve(all);
    items_.push_back(item);
    ++unused_;
  }
  // REQUIRES: !empty().
  T* take() {
    T* item = items_.back();
    items_.pop_back();
    if (unused_ > 0) --unused_;
    return item;
  }
  // All items that wait.
  const std::vector<T*>& items() const { return items_; }
  // Gives back an item that take() gave. Items that were never used stay on top.
  void give(T* item) { items_.insert(items_.end() - static_cast<std::ptrdiff_t>(unused_), item); }

 private:
  std::vector<T*> items_;  // the last `unused_` were never used
  size_t unused_ = 0;
};

}  // namespace millrace

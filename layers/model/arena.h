// Arena: places in one block of memory for values whose lifetimes are known; values that never live together may share.
//
// If two values live at the same time, only lifetimes and weights decide which of them lies above the other. So bytes()
// is the height of the highest pile, and does not grow if values shrink: the same values for fewer rows need no more.
//
// A value; used by one thread. It only computes offsets: the caller allocates bytes() and owns the memory.
#pragma once

#include <cstddef>
#include <vector>

namespace millrace {

struct ArenaValue {
  size_t bytes = 0;         // 0: it needs no place
  size_t weight = 0;        // its relative size, the same for every number of rows: its bytes for one row, for example
  int first = 0, last = 0;  // when it lives, both included
};

class Arena {
 public:
  // Returns the value's number. Throws ShapeError if its bytes cannot be counted.
  // REQUIRES: value.first <= value.last, before place().
  size_t add(const ArenaValue& value);
  // Decides where all values lie: first the ones that live longest, each as low as there is room for its weight during
  // its whole life; then all sink onto the values below them. With `share` false every value has memory of its own.
  // Throws ShapeError if the bytes of all together cannot be counted.
  void place(bool share = true);

  // REQUIRES: place() was called. Offsets are multiples of 64.
  size_t offset(size_t value) const { return values_[value].offset; }
  size_t bytes() const { return bytes_; }

 private:
  struct Value : ArenaValue {  // its bytes are rounded up to 64
    size_t offset = 0;
  };

  bool meet(const Value& a, const Value& b) const { return !share_ || (a.first <= b.last && b.first <= a.last); }
  std::vector<size_t> bottom_up() const;
  // `placed` is sorted by `heights`.
  size_t lowest_room(size_t index, const std::vector<size_t>& placed, const std::vector<size_t>& heights) const;

  std::vector<Value> values_;
  bool share_ = true;
  size_t bytes_ = 0;
};

}  // namespace millrace

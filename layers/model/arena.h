// Arena: places in one block of memory for values whose lifetimes are known; values that never live together may share.
//
// Which of two values that meet lies above the other goes by lifetimes and weights alone. So bytes() is the height of
// the highest pile, and never grows where values shrink: what needs the same values for fewer rows needs no more.
//
// A value; used by one thread. It only computes offsets: the memory belongs to who allocates bytes().
#pragma once

#include <cstddef>
#include <vector>

namespace millrace {

struct ArenaValue {
  size_t bytes = 0;         // 0: it takes no part
  size_t weight = 0;        // about its size beside the others', whatever the number of rows: as the bytes of one
  int first = 0, last = 0;  // when it lives, both included
};

class Arena {
 public:
  // Returns the value's number. Throws ShapeError when its bytes cannot be counted.
  // REQUIRES: value.first <= value.last, before place().
  size_t add(const ArenaValue& value);
  // Decides where everything lies: what lives longest first, each as low as there is room for its weight during its
  // whole life; then all sink to the values below them. With `share` false every value has memory of its own. Throws
  // ShapeError when the bytes of all cannot be counted.
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
  size_t lowest_room(size_t index, const std::vector<size_t>& placed, const std::vector<size_t>& heights) const;

  std::vector<Value> values_;
  bool share_ = true;
  size_t bytes_ = 0;
};

}  // namespace millrace

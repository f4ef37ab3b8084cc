// Arena: places in one block of memory for values whose lifetimes are known; values that never live together may share.
//
// A value; used by one thread. It only computes offsets: the memory belongs to who allocates bytes().
#pragma once

#include <cstddef>
#include <vector>

namespace millrace {

class Arena {
 public:
  // A value of `bytes` that lives from time `first` to time `last`, both included. Returns its number. Zero bytes are
  // fine. Throws ShapeError when they cannot be counted. REQUIRES: first <= last, before place().
  size_t add(size_t bytes, int first, int last);
  // Decides where everything lies: large values first, each at the lowest place that is free for its whole life, so the
  // result depends on the calls of add() alone. With `share` false every value has memory of its own. Throws ShapeError
  // when the bytes of all cannot be counted.
  void place(bool share = true);

  // REQUIRES: place() was called. Offsets are multiples of 64.
  size_t offset(size_t value) const { return values_[value].offset; }
  size_t bytes() const { return bytes_; }

 private:
  struct Value {
    size_t bytes = 0;  // rounded up to 64
    int first = 0, last = 0;
    size_t offset = 0;
  };

  size_t lowest_free(const Value& value, const std::vector<size_t>& placed) const;

  std::vector<Value> values_;
  size_t bytes_ = 0;
};

}  // namespace millrace

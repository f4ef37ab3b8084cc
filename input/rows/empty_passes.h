// EmptyPasses: notices data that would be read forever, because the rows never end and all of them are left out.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/input/rows/chunk.h"

namespace millrace {

// Facts that a stream may ask about the rows that come in.
struct RowFacts {
  std::function<Place(const RowId&)> place;  // where a row came from
  bool endless = false;                      // whether the rows never end
};

// Throws the DataError for such data; `op` is the op that gives no row.
[[noreturn]] void throw_endless(std::string_view op);

class EmptyPasses {
 public:
  // `op` gives rows or leaves them out. The rows that come in are read in runs of `passes` passes, over and over if
  // they are `endless`. `window` is 0 if the rows come in order from one input. Otherwise it is the number of rows that
  // one is drawn from, plus RowStream::spread(): one row in this many comes from the rarest input.
  EmptyPasses(std::string op, bool endless, uint32_t passes, int64_t window = 0)
      : op_(std::move(op)), endless_(endless), passes_(passes), late_rows_(kDraws * window) {}

  // A row came in, and was left out. Throws if the rows are endless, and a whole run of every source came in while
  // nothing was given out.
  void took(const RowId& id);
  // A row was given out, or the streams begin again.
  void gave() {
    first_.clear();
    late_ = 0;
  }

 private:
  // How many late rows may come one after another, for each row of the window. The probability that another row comes
  // after so many is e^-64.
  static constexpr int64_t kDraws = 64;

  const std::string op_;
  const bool endless_;
  const uint32_t passes_;
  const int64_t late_rows_;  // if more late rows than this come one after another, no others will come
  std::vector<std::pair<uint32_t, uint32_t>> first_;  // per source: the first pass that a row came from, since gave()
  // Late rows one after another: each came after a whole run of its source.
  int64_t late_ = 0;
};

}  // namespace millrace

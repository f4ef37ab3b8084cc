// EmptyPasses: notices data that would be read forever: rows that never end, all of which are left out on the way.
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

// What a stream may ask about the rows that come in.
struct RowFacts {
  std::function<Place(const RowId&)> place;  // where a row came from
  bool endless = false;                      // whether they never end
};

// Throws the DataError of such data; `op` is the op that gives no row.
[[noreturn]] void throw_endless(std::string_view op);

class EmptyPasses {
 public:
  // `op` gives rows or leaves them out; those that come in are read in runs of `passes`, over and over where they are
  // `endless`. `window`: 0 where they come in order from one input, else of how many rows one is drawn, or comes from
  // the rarest of several inputs (RowStream::spread()).
  EmptyPasses(std::string op, bool endless, uint32_t passes, int64_t window = 0)
      : op_(std::move(op)), endless_(endless), passes_(passes), late_rows_(kDraws * window) {}

  // A row came in, and was left out. Throws when a whole run of all endless ones came and nothing was given out.
  void took(const RowId& id);
  // A row was given out, or the streams begin again.
  void gave() {
    first_.clear();
    late_ = 0;
  }

 private:
  // For every place of a window: a row comes later than that once in e^64 times.
  static constexpr int64_t kDraws = 64;

  const std::string op_;
  const bool endless_;
  const uint32_t passes_;
  const int64_t late_rows_;                           // so many late rows on end, and no other comes any more
  std::vector<std::pair<uint32_t, uint32_t>> first_;  // since then, per source: the first pass of which rows came
  int64_t late_ = 0;                                  // rows on end that came behind a whole run of their source
};

}  // namespace millrace

// EmptyPasses: notices data that would be read forever: an endless source whose rows are all left out on the way.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/input/graph/chunk.h"

namespace millrace {

// What a stream may ask about the graph's sources.
struct SourceFacts {
  std::function<Place(const RowId&)> place;   // where a row came from
  std::function<bool(const RowId&)> endless;  // whether its source always has another pass
};

// Throws the DataError of such data; `op` is the op that gives no row.
[[noreturn]] void throw_endless(std::string_view op);

class EmptyPasses {
 public:
  // `op` gives rows or leaves them out.
  EmptyPasses(std::string op, std::function<bool(const RowId&)> endless)
      : op_(std::move(op)), endless_(std::move(endless)) {}

  // Rows up to this one came in. Throws when a whole pass of an endless source came and nothing was given out.
  void took(const RowId& id);
  // A row was given out, or the streams begin again.
  void gave() { first_.clear(); }

 private:
  const std::string op_;
  const std::function<bool(const RowId&)> endless_;
  std::vector<std::pair<uint32_t, uint32_t>> first_;  // since then, per source: the first pass of which rows came
};

}  // namespace millrace

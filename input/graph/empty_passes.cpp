#include "millrace/input/graph/empty_passes.h"

#include <algorithm>

#include "millrace/core/text.h"

namespace millrace {

void throw_endless(std::string_view op) {
  throw DataError(cat(op, ": the data has no row to give, and without epochs it would be read forever"), {},
                  "check what the files hold and what is left out, or set epochs");
}

void EmptyPasses::took(const RowId& id, int64_t rows) {
  if (!endless_) return;
  const auto found =
      std::find_if(first_.begin(), first_.end(), [&](const auto& first) { return first.first == id.source; });
  if (found == first_.end()) {
    first_.emplace_back(id.source, id.pass);
  } else if (id.pass > found->second + uint64_t{passes_}) {
    late_ += rows;
    if (late_ > late_rows_) throw_endless(op_);
  }
}

}  // namespace millrace

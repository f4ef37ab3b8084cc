#include "millrace/input/rows/empty_passes.h"

#include <algorithm>

#include "millrace/core/text.h"

namespace millrace {

void throw_endless(std::string_view op) {
  throw DataError(cat(op, ": the data has no row to give, and without epochs it would be read forever"), {},
                  "check what the files hold and what is left out, or set epochs");
}

// A short source may be read many times before the first run of a long one ends. As long as rows come that are new in
// their source, one of them may still be given out.
void EmptyPasses::took(const RowId& id) {
  if (!endless_) return;
  const auto found = std::ranges::find(first_, id.source, &std::pair<uint32_t, uint32_t>::first);
  const bool late = found != first_.end() && id.pass > found->second + uint64_t{passes_};
  late_ = late ? late_ + 1 : 0;
  if (late_ > late_rows_) throw_endless(op_);
  if (found == first_.end()) first_.emplace_back(id.source, id.pass);
}

}  // namespace millrace

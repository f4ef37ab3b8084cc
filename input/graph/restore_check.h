// check_restore: whether an input that is saved, and restored elsewhere, goes on as if nothing had happened. For tests
// of ops of one's own, in any framework.
//
//   const Spec every_input = parse_yaml("[synthetic: {features: 4}, every: {rows: 3}, batch: {batch_size: 4}]", "t");
//   EXPECT_EQ(check_restore(every_input, catalog.ops).difference, "");
//
// Any thread may call it; it has an executor of its own.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/core/export.h"
#include "millrace/core/spec.h"
#include "millrace/input/op.h"

namespace millrace {

struct RestoreCheck {
  int64_t batches = 0;          // that were compared, behind each of the others
  std::string difference = {};  // the first one: "saved behind batch 2: batch 4 has other rows"; empty: none
};

// The first `most` batches of the list are read on one thread, and the state is saved behind each of them. Then another
// graph of the list goes on from there, on two threads, and must give the rest of them: the same rows, values and
// places, and the same counts of rows that were given, bad or left out. Throws what the ops throw, and DataError where
// there is no batch.
MILLRACE_EXPORT RestoreCheck check_restore(const Spec& input, const OpRegistry& ops, int64_t most = 10);

}  // namespace millrace

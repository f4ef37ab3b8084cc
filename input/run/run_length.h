// The length of a run in a saved state, in passes or epochs. A state may go on with another length (Decides::length):
// everything up to the end is the same. But passes are counted over all runs, so only a first run may get another one.
// Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/input/op.h"

namespace millrace {

// 0: the run never ends.
void save_length(State& state, uint64_t length);

// The length that save_length() wrote; `now` if the state has none, as in earlier versions. Throws DataError.
uint64_t saved_length(const State& state, uint64_t now);

struct LengthChange {
  uint64_t saved = 0, now = 0;
  uint64_t run = 0;    // the number of the run that was saved
  uint64_t begun = 0;  // how many passes or epochs of it had begun
};
// Throws ConfigError, which names the op, if a state cannot go on after this change.
void check_length(std::string_view op, const LengthChange& change);

}  // namespace millrace

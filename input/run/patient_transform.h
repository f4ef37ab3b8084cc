// apply_patiently(): runs a transform on rows among which bad rows stay (kRowError).
// The transform sees only good rows. Those that it refuses become bad rows, and all bad rows keep their place among the
// others. An error that belongs to no row stays an error.
#pragma once

#include "millrace/input/rows/chunk.h"

namespace millrace {

struct ChainLink;

// REQUIRES: the chunk's rows have the field kRowError.
void apply_patiently(const ChainLink& link, Chunk& chunk);

}  // namespace millrace

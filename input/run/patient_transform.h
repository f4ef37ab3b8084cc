// apply_patiently(): runs a transform on rows among which bad rows stay (kRowError).
// The transform sees only good rows. Those that it refuses become bad rows, and all bad rows keep their place among the
// others. An error that belongs to no row stays an error.
#pragma once

#include <vector>

#include "millrace/input/rows/chunk.h"

namespace millrace {

struct ChainLink;

// Memory that is kept from chunk to chunk. Used by one task at a time.
struct PatientMemory {
  RowBlock in, out;
  std::vector<Note> notes;  // of `in`
};

// REQUIRES: the chunk's rows have the field kRowError, and no error note is among its notes.
void apply_patiently(const ChainLink& link, Chunk& chunk, PatientMemory& memory);

}  // namespace millrace

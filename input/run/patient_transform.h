// ChainLink: a transform as a chain runs it. apply_patiently(): runs it on rows among which bad rows stay (kRowError).
// The transform sees only good rows. Those that it refuses become bad rows, and all bad rows keep their place among the
// others. An error that belongs to no row stays an error.
#pragma once

#include <string>
#include <vector>

#include "millrace/input/rows/chunk.h"
#include "millrace/input/transform.h"

namespace millrace {

struct ChainLink {
  const Transform* transform = nullptr;
  std::string name;  // the op's
  Port output;
  Transform* reporter = nullptr;  // the same transform, to be told of bad rows; null for a producer
  Place place = {};               // the op's, in the configuration

  // What the transform says about itself, once ask() has asked. REQUIRES: it is bound.
  Ahead ahead = {};
  uint64_t work_bound = 0, note_bytes = 0;
  void ask();
  // Throws InternalError if the rows are not what the transform announced.
  void check(const RowBlock& rows) const;
};

// Memory that is kept from chunk to chunk. Used by one task at a time.
struct PatientMemory {
  RowBlock in, out;
  std::vector<Note> notes;  // of `in`
};

// REQUIRES: the chunk's rows have the field kRowError, and no error note is among its notes.
void apply_patiently(const ChainLink& link, Chunk& chunk, PatientMemory& memory);

}  // namespace millrace

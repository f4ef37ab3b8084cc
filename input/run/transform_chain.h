// TransformChain: neighbouring transforms that are run on a chunk, one after another, in a single task.
//
// Constant after set-up; any number of threads may run it at the same time, each with a TaskMemory of its own.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "millrace/core/trace.h"
#include "millrace/input/transform.h"

namespace millrace {

struct ChainLink {
  const Transform* transform = nullptr;
  std::string name;  // the op's
  Port output;
  Transform* reporter = nullptr;  // the same transform, to be told of bad rows; null for a producer
  Place place = {};               // the op's, in the configuration
  bool patient = false;           // bad rows are among the rows that it gets, which have the field kRowError

  // The transform's facts about itself, which ask() reads. REQUIRES: it is bound.
  Ahead ahead = {};
  uint64_t work_bound = 0, note_bytes = 0, least_record_bytes = 0;
  void ask();
  // Throws InternalError if the rows are not what the transform announced, or if an error note has no error.
  void check(const Chunk& chunk) const;
};

// Memory that a task keeps from chunk to chunk. Used by one task at a time.
struct TaskMemory {
  Workspace work;
  std::unique_ptr<ChunkText> text;
  RowBlock spare;
  // The work of one link: nanoseconds, rows made, bytes of text seen.
  struct Work {
    uint64_t nanoseconds = 0, rows = 0, bytes = 0;
    Work& operator+=(const Work& more) {
      nanoseconds += more.nanoseconds;
      rows += more.rows;
      bytes += more.bytes;
      return *this;
    }
  };
  std::vector<Work> done;
};

class TransformChain {
 public:
  // `input` is the port type that comes in; PortType::none for a chain that begins with a source's producer.
  TransformChain(PortType input, std::vector<ChainLink> links) : input_(input), links_(std::move(links)) {}

  // Runs the transforms on `chunk`, which holds what comes in. Errors in the data become notes, and the chunk has no
  // rows after its first error note. Any other exception is returned, as an Error.
  [[nodiscard]] std::exception_ptr apply(Chunk& chunk, TaskMemory& memory) const noexcept;

  const std::vector<ChainLink>& links() const { return links_; }
  // The exception that is being handled, as an Error of what comes first in the chain: a source.
  std::exception_ptr failure_of_first() const noexcept {
    return as_error(std::current_exception(), links_.front().name, links_.front().place);
  }

  // `trace` is told of every op on every chunk. Called before the first apply().
  void set_trace(Trace* trace) { trace_ = trace; }
  Trace* trace() const { return trace_; }

 private:
  void apply_link(size_t index, Chunk& chunk, TaskMemory& memory) const;

  PortType input_;
  std::vector<ChainLink> links_;
  Trace* trace_ = nullptr;
};

// How many blocks of rows a task holds at most, besides its chunk: the spare one, and two where bad rows stay.
uint64_t spare_blocks(const std::vector<ChainLink>& links);

// Returns `ahead`, the answer of an op. If a number is negative, throws what attributed() makes an InternalError with
// the op's name.
Ahead possible(const Ahead& ahead);

// Adds what the links allow to `ahead`, which is what the op after them allows; a row of a link counts as `rows` rows.
// Throws as possible() does.
Ahead with_links(Ahead ahead, const std::vector<ChainLink>& links, int64_t rows = 1);

}  // namespace millrace

// GraphUnits: the units of a graph, decoded on request. It is the other side of an UnitDecoder: whoever has the graph's
// list and its data makes the same chunk of a unit as the graph itself does.
//
// Thread-safe after the constructor.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/state.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/input/rows/chunk.h"
#include "millrace/input/run/transform_chain.h"

namespace millrace {

struct GraphNode;

// A unit as numbers: a file is told by its index; of compressed text, whole members or frames lie in the file's bytes
// from part_begin to part_end.
struct UnitNumbers {
  static constexpr uint64_t kNoFile = UINT32_MAX;

  uint64_t source = 0, file = kNoFile, begin = 0, end = 0, pass = 0, file_ordinal = 0, line = 0;
  uint64_t part_begin = 0, part_end = 0, part_text = 0;  // part_end is 0: there is no part
  bool exact = false;

  bool operator==(const UnitNumbers&) const = default;
};
// Absent for a unit that depends on more than its file, such as one within a long gzip member.
std::optional<UnitNumbers> numbers_of(const Unit& unit);

class GraphUnits {
 public:
  // Throws ConfigError if its chunks may be larger than kMostChunk.
  explicit GraphUnits(InputGraph graph);
  ~GraphUnits();

  static constexpr uint64_t kMostChunk = uint64_t{1} << 30;

  // view_of() the graph.
  State view() const;
  // Makes the chunk of the unit and calls `use` with it; its rows are not numbered by lines yet (Chunk). Returns an
  // exception as TransformChain::apply() does, in place of the call. Throws DataError for numbers that are no unit of
  // the graph.
  using Use = std::function<void(const Chunk& chunk, TaskMemory& memory)>;
  std::exception_ptr decode(const UnitNumbers& numbers, const Use& use) const;

 private:
  struct Task {
    Chunk chunk;
    TaskMemory memory;
  };
  std::unique_ptr<Task> take(uint64_t source) const;

  using Files = std::vector<std::shared_ptr<const FileEntry>>;

  const InputGraph graph_;
  std::vector<Files> files_;  // by source
  mutable Mutex mutex_;
  mutable std::map<uint64_t, std::vector<std::unique_ptr<Task>>> idle_ MILLRACE_GUARDED_BY(mutex_);  // by source
};

// The list of a graph without the files that its ops write: only the graph that asks for units writes them.
Spec without_written_files(const std::vector<GraphNode>& nodes, Spec list);

// What must be equal where units of the graph are decoded: the fields of its rows, and the files as they are. Sources
// whose rows come only once are left out.
State view_of(const GraphImpl& graph);
// What differs between two views, in words: "data/a.csv has 120 bytes here and 121 there". Empty if nothing does.
std::string difference(const State& here, const State& there, std::string_view here_text = "here",
                       std::string_view there_text = "there");

}  // namespace millrace

// InputGraph: a configuration's list of ops, named, connected and bound; nothing runs yet. A Pipeline (pipeline.h) runs
// it.
//
// One thread builds and uses an InputGraph; what only reads may be called from any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/spec.h"
#include "millrace/input/op.h"

namespace millrace {

struct GraphImpl;

// Settings of a graph besides its ops.
struct GraphArgs {
  uint64_t seed = 0;
  FileSystem* files = nullptr;  // nullptr: FileSystem::local()
  Side side = Side::trained;    // of ops that hold rows out
};

// What a graph has to do with files, by the paths that it uses.
struct InputFiles {
  std::vector<std::string> read;     // as matched
  std::vector<std::string> written;  // by an op, while it runs
};

// Move-only.
class MILLRACE_EXPORT InputGraph {
 public:
  // `list` is the configuration's `input` list. Waits for the first bytes of standard input or a pipe. Throws
  // ConfigError (unknown op, ports that do not fit, naming both sides), MissingError (no such file), DataError (a
  // header that does not parse).
  static InputGraph build(const Spec& list, const OpRegistry& registry, const GraphArgs& args);
  InputGraph(InputGraph&&) noexcept;
  InputGraph& operator=(InputGraph&&) noexcept;
  ~InputGraph();

  // What the last op gives: batches.
  const Port& output() const;
  // The list with every option of every op, names included.
  const Spec& resolved() const;
  // The key that says how many rows a batch has: "input[3].batch.batch_size", "batch_size", and where its op is
  // written.
  struct BatchRowsKey {
    std::string path, name;
    Place place;
  };
  // Absent where the op has no such key.
  std::optional<BatchRowsKey> batch_rows() const;
  // Fields of the output that an op makes of text, and that neither `readers` nor any op names; none where a transform
  // does not say what it reads.
  std::vector<std::string> unread_fields(const std::vector<std::string>& readers) const;
  InputFiles files() const;
  // Whether some of the data can be read only once: standard input, a pipe, rows of a callback.
  bool reads_once() const;
  // Where the rows come from in text; nullptr where not exactly one op decodes it.
  const TextColumns* text_columns() const;
  // The rows as they are before any transform that takes them all: where they are read or made, or behind the last op
  // that joins several inputs.
  const RowSpec& first_rows() const;
  // The name of an op that never ends, so that the batches never do; empty: they end.
  std::string endless_source() const;
  // Opens every file and checks every header. Throws as build() does.
  void check_files() const;
  // An upper bound of the bytes that a pipeline of this graph holds with `threads` threads (P5), its slots apart, and
  // apart the values whose size varies from row to row.
  uint64_t memory_bound(int threads) const;
  // Whether there are such values anywhere in the graph.
  bool varies() const;
  // Things that are allowed but unlikely to be meant: "capacity 79 raised to 33: ...".
  const std::vector<std::string>& warnings() const;

 private:
  friend class Pipeline;
  friend class RowTransforms;
  explicit InputGraph(std::unique_ptr<GraphImpl> impl);
  std::unique_ptr<GraphImpl> impl_;
};

}  // namespace millrace

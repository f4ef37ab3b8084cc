// What an InputGraph holds; shared by graph.cpp, which builds it, and pipeline.cpp, which runs it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/input/graph/pipeline.h"
#include "millrace/input/run/buffer_stream.h"
#include "millrace/input/run/source_stream.h"
#include "millrace/input/run/transform_stream.h"

namespace millrace {

// One op of the list. Exactly one of the five pointers below `op` is set; it is what `op` is.
struct GraphNode {
  std::string kind, name;
  Spec spec;                        // as written, for the place of errors
  std::vector<OptionInfo> options;  // what its kind says of them
  std::unique_ptr<Op> op;
  NameSource* names = nullptr;
  RowSource* source = nullptr;
  Transform* transform = nullptr;
  RowBuffer* row_buffer = nullptr;
  BatchBuffer* batch_buffer = nullptr;
  std::vector<std::string> from;  // as written; empty: the op before
  std::vector<size_t> inputs;     // earlier nodes
  Port output;
  std::string endless;  // the name of the op for which its rows never end; empty: they end
};

// The key that the op uses as `use`; null: it has none.
const OptionInfo* option_of(const GraphNode& node, OptionUse use);

struct GraphImpl {
  Place place(const RowId& id) const { return sources[id.source]->place(id); }

  uint64_t seed = 0;
  std::vector<GraphNode> nodes;     // an op stands behind its inputs
  std::vector<RowSource*> sources;  // by RowId::source
  Spec resolved;
  std::vector<std::string> warnings;

  // The streams refer to the ops; a stream reads those before it.
  std::vector<std::unique_ptr<SourceStream>> source_streams;
  std::vector<std::unique_ptr<BufferStream>> buffer_streams;
  std::vector<std::unique_ptr<TransformStream>> transform_streams;
  size_t batch_node = 0;             // the batch buffer; the transforms behind it are batch_links
  RowStream* batch_input = nullptr;  // what it reads
  std::vector<ChainLink> batch_links;

  BatchBuffer& batch_buffer() const { return *nodes[batch_node].batch_buffer; }
  const RowSpec& buffer_rows() const { return nodes[batch_node].output.rows; }
  const Port& output() const { return nodes.back().output; }
};

// Calls `body`; an Error without a place that it throws gets the place and the path of `node`.
template <class Body>
auto at_node(const GraphNode& node, const Body& body) {
  try {
    return body();
  } catch (Error& error) {
    if (!error.place().known()) {
      error.add_context(node.spec.path().empty() ? node.name : node.spec.path());
      error.set_place(node.spec.place());
    }
    throw;
  }
}

}  // namespace millrace

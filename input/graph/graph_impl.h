// The contents of an InputGraph; shared by graph.cpp, which builds it, and pipeline.cpp, which runs it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/input/graph/graph_list.h"
#include "millrace/input/run/source_stream.h"
#include "millrace/input/run/transform_stream.h"

namespace millrace {

struct GraphImpl {
  Place place(const RowId& id) const { return sources[id.source]->place(id); }

  uint64_t seed = 0;
  BufferHost host;                  // for the row buffers; the pipeline fills it
  std::vector<GraphNode> nodes;     // an op stands after its inputs
  std::vector<RowSource*> sources;  // by RowId::source
  Spec resolved;
  std::vector<std::string> warnings;

  // The streams refer to the ops. A stream only reads streams before it.
  std::vector<std::unique_ptr<SourceStream>> source_streams;
  std::vector<std::unique_ptr<TransformStream>> transform_streams;
  size_t batch_node = 0;             // the batch buffer; the transforms after it are batch_links
  RowStream* batch_input = nullptr;  // what the batch buffer reads
  std::vector<ChainLink> batch_links;

  BatchBuffer& batch_buffer() const { return *nodes[batch_node].batch_buffer; }
  const RowSpec& buffer_rows() const { return nodes[batch_node].output.rows; }
  const Port& output() const { return nodes.back().output; }
};

}  // namespace millrace

// The configuration's list of ops: reading it, naming the ops, and writing it back with every option. Also GraphImpl,
// the contents of an InputGraph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/options.h"
#include "millrace/core/spec.h"
#include "millrace/input/buffer.h"
#include "millrace/input/run/source_stream.h"
#include "millrace/input/run/transform_stream.h"
#include "millrace/input/run/unit_decoder.h"
#include "millrace/input/source.h"
#include "millrace/input/transform.h"

namespace millrace {

// One op of the list. Exactly one of the five pointers after `op` is set: it points to the same op, and its type tells
// the kind.
struct GraphNode {
  std::string kind, name;
  Spec spec;                        // as written, for the place of errors
  std::vector<OptionInfo> options;  // the options of its kind, as the kind describes them
  std::unique_ptr<Op> op;
  NameSource* names = nullptr;
  RowSource* source = nullptr;
  Transform* transform = nullptr;
  RowBuffer* row_buffer = nullptr;
  BatchBuffer* batch_buffer = nullptr;
  std::vector<PortType> ports;    // the result of Op::inputs()
  bool joins = false;             // the result of Op::joins()
  std::vector<std::string> from;  // names, as written; empty: the op before
  std::vector<size_t> inputs;     // indices of earlier nodes
  Port output;
  std::string endless;  // the name of the op that makes its rows never end; empty: they end
};

// The op's key whose use is `use`; null: it has none.
const OptionInfo* option_of(const GraphNode& node, OptionUse use);

// The keys that every op has besides its own options.
std::vector<OptionInfo> describe_graph_keys();

// The ops of `list`, made and named but not yet connected. `resolved` receives the list with all names and options.
// Throws ConfigError.
std::vector<GraphNode> read_graph_list(const Spec& list, const OpRegistry& registry, Spec& resolved);

// The field names in the value of a key whose use is OptionUse::fields.
std::vector<std::string> listed_fields(const Spec& fields);

// The paths and patterns in the value of a key whose use is OptionUse::files.
std::vector<std::string> listed_files(const Spec& files);

// A hint that names kinds which lead from one port to another: `before`, then the fewest such kinds, in order, then
// `after`. Empty if no kinds lead there. Each kind declares where it leads (Registry::Entry::leads).
std::string kinds_hint(const OpRegistry& registry, PortType from, PortType to, std::string_view before,
                       std::string_view after);

// The contents of an InputGraph. graph.cpp builds it, and pipeline.cpp runs it.
struct GraphImpl {
  Place place(const RowId& id) const {
    const RowSource& source = *sources[id.source];
    return attributed(source, [&] { return source.place(id); });
  }

  uint64_t seed = 0;
  Side side = Side::trained;
  bool bad_rows_stay = false;
  std::shared_ptr<Workers> workers;  // null: all units are decoded here
  uint64_t number = 0;               // no other graph of this process has it
  BufferHost host;                   // for the row buffers; the pipeline fills it
  std::vector<GraphNode> nodes;      // an op stands after its inputs
  std::vector<RowSource*> sources;   // by RowId::source
  Spec resolved;
  Spec found = Spec::map(Place());  // InputGraph::found()
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

// "batch_1.batch_size = 23" for every option that decides which rows come, in what order and how many, one line each.
std::string fingerprint(const GraphImpl& graph);

// The lines of a fingerprint that must be the same for a graph to go on from another one's state. Left out are options
// that decide only the length (Decides::length), and the files of sources, which the state itself knows.
std::string lines_to_keep(const GraphImpl& graph, std::string_view fingerprint);

// Returns what `body` returns, which calls functions of the node's op before the start. If an Error has no place, it
// gets the place and the path of `node`; any other exception becomes an InternalError with the op's name and that
// place.
template <class Body>
decltype(auto) at_node(const GraphNode& node, const Body& body) {
  return attributed(*node.op, [&]() -> decltype(auto) {
    try {
      return body();
    } catch (Error& error) {
      if (!error.place().known()) {
        error.add_context(node.spec.path().empty() ? node.name : node.spec.path());
        error.set_place(node.spec.place());
      }
      throw;
    }
  });
}

}  // namespace millrace

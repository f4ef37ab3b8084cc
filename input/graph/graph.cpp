// InputGraph, which pipeline.h declares.
#include "millrace/input/graph/pipeline.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <string_view>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/core/threads/float_mode.h"
#include "millrace/input/compressed/compressed_files.h"
#include "millrace/input/graph/connections.h"
#include "millrace/input/graph/graph_list.h"
#include "millrace/input/run/chunk_stream.h"
#include "millrace/input/run/reader_stream.h"
#include "millrace/input/run/row_ids.h"

namespace millrace {

namespace {

const Source* source_of(const GraphNode& node) {
  if (node.names != nullptr) return node.names;
  return node.source;
}

bool decodes_text(const GraphNode& node) {
  return node.transform != nullptr && node.ports == std::vector{PortType::text};
}

// Throws when an op announces two fields of one name, or one of a type that does not exist.
void check_fields(const std::string& op, const RowSpec& rows) {
  std::set<std::string_view> names;
  for (const FieldSpec& field : rows.fields) {
    (void)size_of(field.dtype);
    if (names.insert(field.name).second) continue;
    throw ConfigError(cat(op, " gives two fields that are called ", quote(field.name)), {},
                      "each needs a name of its own");
  }
}

// Throws if an op gives a field named kRowError that is not that field.
void check_error_field(const std::string& op, const RowSpec& rows, bool bad_rows_stay) {
  const int field = rows.find(kRowError);
  if (field < 0 || (bad_rows_stay && rows.fields[static_cast<size_t>(field)].text)) return;
  throw ConfigError(cat(op, " gives a field that is called ", quote(kRowError)), {},
                    "this name says what is wrong with a row: choose another");
}

// Throws if two ops read the same data, and these can be read only once.
void check_streams(const GraphImpl& graph, FileSystem& files) {
  std::vector<std::string> paths;
  for (const GraphNode& node : graph.nodes) {
    if (node.names == nullptr) continue;
    for (const auto& file : at_node(node, [&] { return node.names->files(); })) {
      if (!file->stream) continue;
      for (const std::string& other : paths) {
        if (!files.same(file->path, other)) continue;
        throw graph.nodes.front().spec.error(cat("two ops read ", other, ", which can be read only once"),
                                             "write it to a file first");
      }
      paths.push_back(file->path);
    }
  }
}

// Goes back from node `last` over transforms; `links`, which is empty, receives them in the order in which they run.
size_t collect_links(const GraphImpl& graph, size_t last, std::vector<ChainLink>& links) {
  for (; graph.nodes[last].transform != nullptr; last = graph.nodes[last].inputs.front()) {
    const GraphNode& node = graph.nodes[last];
    links.push_back({.transform = node.transform,
                     .name = node.name,
                     .output = node.output,
                     .reporter = node.transform,
                     .place = node.spec.place(),
                     .patient = graph.nodes[node.inputs.front()].output.rows.find(kRowError) >= 0});
    links.back().ask();
  }
  std::reverse(links.begin(), links.end());
  return last;
}

std::unique_ptr<SourceStream> make_source_stream(const GraphNode& node, uint32_t index, std::vector<ChainLink> links) {
  auto* files = dynamic_cast<FileSource*>(node.source);
  if (files != nullptr && files->readers() > 1) {
    return std::make_unique<ReaderStream>(*files, index, node.name, node.output, std::move(links));
  }
  return std::make_unique<ChunkStream>(*node.source, index, node.name, node.output, std::move(links));
}

// Finds out whether the op's rows never end. REQUIRES: the op and its inputs are bound.
void find_endless(GraphNode& node, const std::vector<GraphNode>& nodes) {
  std::vector<bool> inputs;
  for (const size_t input : node.inputs) {
    if (node.endless.empty()) node.endless = nodes[input].endless;
    inputs.push_back(!nodes[input].endless.empty());
  }
  if (node.source != nullptr && node.source->endless()) node.endless = node.name;
  if (node.row_buffer == nullptr) return;
  const bool goes_on = node.row_buffer->endless(inputs);
  if (!goes_on) node.endless.clear();
  if (goes_on && node.endless.empty()) node.endless = node.name;
}

// The stream of the rows that node `last` gives. REQUIRES: it is bound.
RowStream& make_stream(GraphImpl& graph, size_t last) {
  std::vector<ChainLink> links;
  const GraphNode& node = graph.nodes[collect_links(graph, last, links)];
  if (node.source != nullptr) {
    const auto index = std::find(graph.sources.begin(), graph.sources.end(), node.source) - graph.sources.begin();
    graph.source_streams.push_back(make_source_stream(node, static_cast<uint32_t>(index), std::move(links)));
    if (graph.workers && !node.source->comes_once()) {
      graph.source_streams.back()->set_units_out(graph.workers->most_units());
    }
    return *graph.source_streams.back();
  }
  graph.transform_streams.push_back(std::make_unique<TransformStream>(
      *node.row_buffer, node.op->origin(), node.output.rows, std::move(links),
      RowFacts{[&graph](const RowId& id) { return graph.place(id); }, !node.endless.empty()}));
  return *graph.transform_streams.back();
}

// Binds the op, whose inputs are bound.
void bind(GraphNode& node, GraphImpl& graph, const OpRegistry& registry, const GraphArgs& args) {
  const std::vector<Port> ports = ports_of(node, graph.nodes, registry);
  const GraphNode* before = node.inputs.empty() ? nullptr : &graph.nodes[node.inputs.front()];
  std::vector<RowStream*> streams;
  if (node.row_buffer != nullptr || node.batch_buffer != nullptr) {
    for (const size_t input : node.inputs) streams.push_back(&make_stream(graph, input));
  }
  node.output = at_node(node, [&] {
    Port output = node.op->bind({.inputs = ports,
                                 .name = node.name,
                                 .seed = args.seed,
                                 .side = args.side,
                                 .bad_rows_stay = args.bad_rows_stay,
                                 .files = args.files,
                                 .source_index = static_cast<uint32_t>(graph.sources.size()),
                                 .names = before != nullptr ? before->names : nullptr,
                                 .source = before != nullptr ? before->source : nullptr,
                                 .sources = graph.sources,
                                 .streams = streams,
                                 .host = &graph.host});
    check_fields(node.name, output.rows);
    check_error_field(node.name, output.rows, args.bad_rows_stay);
    if (output.text != nullptr && output.text->format == nullptr) {
      throw InternalError(cat("bind() of ", node.kind, " gives text without a format"));
    }
    if (const Source* source = source_of(node)) {
      for (const auto& file : source->files()) not_null(file.get(), "files()");
    }
    return output;
  });
  if (before != nullptr && before->output.type == PortType::batches && node.output.type == PortType::rows) {
    node.output.type = PortType::batches;
    node.output.batch_size = before->output.batch_size;
  }
  if (const Spec found = at_node(node, [&] { return node.op->found_options(); }); !found.is_null()) {
    Spec& options = *graph.resolved.item(static_cast<size_t>(&node - graph.nodes.data()))->find(node.kind);
    for (const auto& [key, value] : found.entries()) options.set(key, value);
    graph.found.set(node.name, found);
  }
  if (node.source != nullptr) graph.sources.push_back(node.source);
  if (node.row_buffer != nullptr && node.row_buffer->input_count() != streams.size()) {
    throw InternalError(cat("bind() of ", node.kind, " does not call RowBuffer::bind()"), node.spec.place());
  }
  if (node.batch_buffer != nullptr) graph.batch_input = streams.front();
  at_node(node, [&] {
    find_endless(node, graph.nodes);
    for (const std::string& warning : node.op->warnings()) graph.warnings.push_back(cat(node.name, ": ", warning));
  });
}

// Finds the op that makes the batches, and lets the streams before it run ahead as the ops allow.
void end_with_batches(GraphImpl& graph, const OpRegistry& registry) {
  const GraphNode& last = graph.nodes.back();
  if (last.output.type != PortType::batches) {
    throw last.spec.error(cat("the last op must give batches, but ", last.name, " gives ", to_string(last.output.type)),
                          kinds_hint(registry, last.output.type, PortType::batches, "end the list with ", ""));
  }
  graph.batch_node = collect_links(graph, graph.nodes.size() - 1, graph.batch_links);
  const GraphNode& buffer = graph.nodes[graph.batch_node];
  const Ahead ahead = at_node(
      buffer, [&] { return with_links(buffer.batch_buffer->ahead(), graph.batch_links, buffer.output.batch_size); });
  graph.batch_input->set_ahead(ahead.rows, ahead.threads);
}

}  // namespace

InputGraph InputGraph::build(const Spec& list, const OpRegistry& registry, const GraphArgs& given) {
  const FloatMode mode;
  GraphArgs args = given;
  if (args.files == nullptr && args.workers) args.files = args.workers->files();
  if (args.files == nullptr) args.files = &FileSystem::local();
  auto impl = std::make_unique<GraphImpl>();
  impl->seed = args.seed;
  impl->side = args.side;
  impl->bad_rows_stay = args.bad_rows_stay;
  impl->workers = args.workers;
  static std::atomic<uint64_t> graphs{0};
  impl->number = ++graphs;
  impl->nodes = read_graph_list(list, registry, impl->resolved);
  connect_ops(impl->nodes, registry);
  for (GraphNode& node : impl->nodes) bind(node, *impl, registry, args);
  check_streams(*impl, *args.files);
  end_with_batches(*impl, registry);
  return InputGraph(std::move(impl));
}

InputGraph::InputGraph(std::unique_ptr<GraphImpl> impl) : impl_(std::move(impl)) {}
InputGraph::InputGraph(InputGraph&&) noexcept = default;
InputGraph& InputGraph::operator=(InputGraph&&) noexcept = default;
InputGraph::~InputGraph() = default;

const Port& InputGraph::output() const { return impl_->output(); }
const Spec& InputGraph::resolved() const { return impl_->resolved; }
const Spec& InputGraph::found() const { return impl_->found; }
const std::vector<std::string>& InputGraph::warnings() const { return impl_->warnings; }

namespace {

// The value, given or default, of the op's key whose use is `use`; nullptr if there is none.
const Spec* value_of(const GraphImpl& graph, size_t node, OptionUse use) {
  const OptionInfo* info = option_of(graph.nodes[node], use);
  return info != nullptr ? graph.resolved.items()[node].entries().front().second.find(info->name) : nullptr;
}

}  // namespace

std::optional<InputGraph::BatchRowsKey> InputGraph::batch_rows() const {
  const GraphNode& node = impl_->nodes[impl_->batch_node];
  const Spec* value = value_of(*impl_, impl_->batch_node, OptionUse::batch_rows);
  if (value == nullptr) return {};
  return BatchRowsKey{value->path(), option_of(node, OptionUse::batch_rows)->name, node.spec.place()};
}

std::vector<std::string> InputGraph::unread_fields(const std::vector<std::string>& readers) const {
  std::set<std::string> made, named(readers.begin(), readers.end());
  for (size_t i = 0; i < impl_->nodes.size(); ++i) {
    const GraphNode& node = impl_->nodes[i];
    if (node.row_buffer != nullptr && attributed(*node.row_buffer, &RowBuffer::reads_fields)) return {};
    if (node.transform == nullptr) continue;
    if (const Spec* fields = value_of(*impl_, i, OptionUse::fields)) {
      const std::vector<std::string> names = listed_fields(*fields);
      (decodes_text(node) ? made : named).insert(names.begin(), names.end());
      continue;
    }
    const auto concerned = attributed(*node.transform, &Transform::concerned_fields);
    if (!concerned) return {};
    named.insert(concerned->begin(), concerned->end());
  }
  std::vector<std::string> out;
  for (const FieldSpec& field : output().rows.fields) {
    if (made.contains(field.name) && !named.contains(field.name)) out.push_back(field.name);
  }
  return out;
}

InputFiles InputGraph::files() const {
  InputFiles out;
  for (size_t i = 0; i < impl_->nodes.size(); ++i) {
    const GraphNode& node = impl_->nodes[i];
    const Spec* written = value_of(*impl_, i, OptionUse::written_file);
    if (written != nullptr && written->is_scalar()) out.written.push_back(written->as_string());
    const Source* const source = source_of(node);
    if (source == nullptr) continue;
    // The files of a source begin with those that an op before it names.
    const NameSource* named = node.inputs.empty() ? nullptr : impl_->nodes[node.inputs.front()].names;
    const auto files = attributed(*source, &Source::files);
    const size_t first = named != nullptr ? attributed(*named, &Source::files).size() : 0;
    for (size_t k = first; k < files.size(); ++k) {
      out.read.push_back(files[k]->path);
    }
  }
  return out;
}

std::string InputGraph::once_source() const {
  for (const GraphNode& node : impl_->nodes) {
    if (node.source != nullptr && attributed(*node.source, &RowSource::comes_once)) return node.name;
  }
  return {};
}

const TextColumns* InputGraph::text_columns() const {
  const TextColumns* found = nullptr;
  for (const GraphNode& node : impl_->nodes) {
    if (!decodes_text(node) || node.output.text == nullptr) continue;
    if (found != nullptr) return nullptr;
    found = node.output.text.get();
  }
  return found;
}

const RowSpec& InputGraph::first_rows() const {
  const std::vector<GraphNode>& nodes = impl_->nodes;
  const auto begins = [](const GraphNode& node) {
    return node.from.size() > 1 || node.source != nullptr || decodes_text(node);
  };
  // Searches from the end, because the ops after a join use its rows.
  const auto found = std::find_if(nodes.rbegin(), nodes.rend(), [&](const GraphNode& node) {
    return node.output.type != PortType::text && begins(node);
  });
  return found->output.rows;
}

std::string InputGraph::endless_source() const { return impl_->nodes.back().endless; }

void InputGraph::check_files() const {
  for (const GraphNode& node : impl_->nodes) {
    at_node(node, [&] { node.op->check_files(); });
  }
}

bool InputGraph::varies() const {
  return std::ranges::any_of(impl_->nodes, [](const GraphNode& node) { return node.output.rows.varies(); });
}

bool InputGraph::read_less_at_once() {
  bool changed = false;
  for (const GraphNode& node : impl_->nodes) {
    auto* const files = dynamic_cast<FileSource*>(node.op.get());
    if (files != nullptr && node.output.type == PortType::text && files->halve_units()) changed = true;
  }
  return changed;
}

void InputGraph::set_tasks(int tasks) {
  for (const auto& stream : impl_->source_streams) stream->set_tasks(tasks);
}

uint64_t InputGraph::memory_bound(int threads) const {
  const int64_t batch_size = output().batch_size;
  uint64_t bytes = 0;
  for (const GraphNode& node : impl_->nodes) bytes += attributed(*node.op, &Op::memory_bound);
  for (const auto& stream : impl_->source_streams) bytes += stream->memory_bound(threads);
  for (const auto& stream : impl_->transform_streams) bytes += stream->memory_bound();
  uint64_t row_bytes = impl_->batch_links.empty() ? 0 : impl_->buffer_rows().row_bytes() + sizeof(RowId);
  for (const ChainLink& link : impl_->batch_links) {
    row_bytes = std::max<uint64_t>(row_bytes, link.output.rows.row_bytes() + sizeof(RowId));
    bytes += link.work_bound;
  }
  return bytes + (1 + spare_blocks(impl_->batch_links)) * static_cast<uint64_t>(batch_size) * row_bytes;
}

// An op that keeps rows waiting has memory for the rows and their ids, so this memory limits how many rows wait.
uint64_t InputGraph::state_bound() const {
  uint64_t rows = 0, points = 0;
  for (const GraphNode& node : impl_->nodes) {
    if (node.batch_buffer == nullptr) continue;
    rows += attributed(*node.op, &Op::memory_bound) / (node.output.rows.row_bytes() + sizeof(RowId));
  }
  for (const GraphNode& node : impl_->nodes) {
    const auto* const files = dynamic_cast<const FileSource*>(node.op.get());
    if (files == nullptr || files->compressed() == nullptr) continue;
    points += files->compressed()->saved_bound(rows + static_cast<uint64_t>(files->readers()));
  }
  return rows * kSavedIdBytes + points;
}

}  // namespace millrace

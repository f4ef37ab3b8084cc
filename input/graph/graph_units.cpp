#include "millrace/input/graph/graph_units.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/compressed/compressed_files.h"
#include "millrace/input/compressed/text_units.h"
#include "millrace/input/graph/graph_list.h"

namespace millrace {

namespace {

std::string fields_of(const SourceStream& stream) { return stream.chain().links().back().output.rows.text(); }

const SourceStream* stream_of(const GraphImpl& graph, uint64_t source) {
  const auto found =
      std::ranges::find_if(graph.source_streams, [&](const auto& stream) { return stream->source_index() == source; });
  return found == graph.source_streams.end() ? nullptr : found->get();
}

DataError no_unit(std::string_view why) { return DataError(cat("the request names no unit of this graph: ", why)); }

// Whole members or frames, as CompressedText::range_at() gives them.
std::shared_ptr<const TextPart> part_of(const UnitNumbers& numbers, const FileEntry& file,
                                        CompressedFiles& compressed) {
  constexpr uint64_t kMostText = 2 * TextResources::kMostRange;
  if (numbers.part_begin >= numbers.part_end || numbers.part_end > file.size || numbers.part_text > numbers.end ||
      numbers.end - numbers.part_text > kMostText || numbers.part_end - numbers.part_begin > kMostText) {
    throw no_unit("the part of the file is none");
  }
  auto part = std::make_shared<TextPart>();
  part->begin = numbers.part_text;
  part->at_record = compressed.shared().end_with_lines();
  part->range = {.begin = {.text = numbers.part_text, .at = numbers.part_begin},
                 .end = {.text = numbers.end, .at = numbers.part_end}};
  return part;
}

std::vector<std::string_view> texts_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\0'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Whether number `index` of the lists under `key` is the same.
bool same(const State& here, const State& there, std::string_view key, size_t index) {
  if (!here.has(key) || !there.has(key)) return here.has(key) == there.has(key);
  const auto& a = here.values(key);
  const auto& b = there.values(key);
  return index < a.size() && index < b.size() && a[index] == b[index];
}

std::string file_difference(const State& here, const State& there, std::string_view at_a, std::string_view at_b) {
  const auto a = texts_of(here.text("files"));
  const auto b = texts_of(there.text("files"));
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i >= b.size()) return cat(a[i], " is ", at_a, " and not ", at_b);
    if (i >= a.size()) return cat(b[i], " is ", at_b, " and not ", at_a);
    if (a[i] != b[i]) return cat("file ", i + 1, " is ", a[i], ' ', at_a, " and ", b[i], ' ', at_b);
    if (!same(here, there, "sizes", i)) {
      return cat(a[i], " has ", here.values("sizes")[i], " bytes ", at_a, " and ", there.values("sizes")[i], ' ', at_b);
    }
    if (!same(here, there, "first_blocks", i)) return cat(a[i], " begins with other bytes ", at_b, " than ", at_a);
    if (!same(here, there, "last_blocks", i)) return cat(a[i], " ends with other bytes ", at_b, " than ", at_a);
  }
  return {};
}

}  // namespace

std::optional<UnitNumbers> numbers_of(const Unit& unit) {
  UnitNumbers out{.source = unit.source,
                  .file = unit.file ? unit.file->index : UnitNumbers::kNoFile,
                  .begin = unit.begin,
                  .end = unit.end,
                  .pass = unit.pass,
                  .file_ordinal = unit.file_ordinal,
                  .line = unit.line,
                  .exact = unit.exact};
  if (unit.file && unit.file->stream) return {};
  if (unit.part) {
    const auto& part = static_cast<const TextPart&>(*unit.part);
    if (part.in_order || !part.range.whole()) return {};
    out.part_begin = part.range.begin.at;
    out.part_end = part.range.end.at;
    out.part_text = part.range.begin.text;
  }
  return out;
}

GraphUnits::GraphUnits(InputGraph graph) : graph_(std::move(graph)) {
  for (const RowSource* source : graph_.impl_->sources) {
    files_.push_back(attributed(*source, &Source::files));
    const ChunkBound most = attributed(*source, &RowSource::chunk_bound);
    if (most.text_bytes <= kMostChunk && most.rows <= kMostChunk) continue;
    throw ConfigError(
        cat("a chunk may have ", most.text_bytes, " bytes, and ", kMostChunk, " is the limit for workers"));
  }
}
GraphUnits::~GraphUnits() = default;

std::exception_ptr GraphUnits::decode(const UnitNumbers& numbers, const Use& use) const {
  const GraphImpl& graph = *graph_.impl_;
  const SourceStream* const stream = stream_of(graph, numbers.source);
  if (stream == nullptr || stream->comes_once()) throw no_unit("the source is unknown");
  const RowSource& source = *graph.sources[numbers.source];
  const Files& files = files_[numbers.source];
  Unit unit{.begin = numbers.begin,
            .end = numbers.end,
            .source = static_cast<uint32_t>(numbers.source),
            .pass = static_cast<uint32_t>(numbers.pass),
            .file_ordinal = static_cast<uint32_t>(numbers.file_ordinal),
            .exact = numbers.exact,
            .line = numbers.line};
  if (numbers.pass > UINT32_MAX || numbers.file_ordinal > UINT32_MAX) throw no_unit("the pass is too large");
  if (numbers.begin > numbers.end) throw no_unit("the end lies before the beginning");
  if (numbers.file == UnitNumbers::kNoFile) {
    const uint64_t most = std::max<uint64_t>(attributed(source, &RowSource::chunk_bound).rows, 1);
    if (unit.end - unit.begin > most) throw no_unit("it has too many rows");
  } else {
    const auto* const format = dynamic_cast<const FileSource*>(&source);
    if (format == nullptr || numbers.file >= files.size()) throw no_unit("the file is unknown");
    unit.file = files[numbers.file];
    const uint64_t end = format->end_of(*unit.file);
    if (end < unit.end) throw no_unit("the file is shorter");
    if (numbers.part_end > 0) {
      if (format->compressed() == nullptr) throw no_unit("the file is not compressed");
      unit.part = part_of(numbers, *unit.file, *format->compressed());
    } else {
      Unit most = unit;
      most.end = end;
      format->cut(most);
      if (unit.end > most.end) throw no_unit("it is too long");
    }
  }
  std::unique_ptr<Task> task = take(numbers.source);
  task->chunk.reset(unit);
  std::exception_ptr failure = stream->chain().apply(task->chunk, task->memory);
  if (!failure) use(task->chunk, task->memory);
  const MutexLock lock(mutex_);
  idle_[numbers.source].push_back(std::move(task));
  return failure;
}

std::unique_ptr<GraphUnits::Task> GraphUnits::take(uint64_t source) const {
  const MutexLock lock(mutex_);
  auto& idle = idle_[source];
  if (idle.empty()) return std::make_unique<Task>();
  std::unique_ptr<Task> out = std::move(idle.back());
  idle.pop_back();
  return out;
}

State GraphUnits::view() const { return view_of(*graph_.impl_); }

Spec without_written_files(const std::vector<GraphNode>& nodes, Spec list) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const OptionInfo* const written = option_of(nodes[i], OptionUse::written_file);
    Spec* const options = written == nullptr ? nullptr : list.item(i)->find(nodes[i].kind);
    if (options != nullptr) options->erase(written->name);
  }
  return list;
}

State view_of(const GraphImpl& graph) {
  State out;
  std::vector<uint64_t> sources;
  for (const auto& stream : graph.source_streams) {
    if (stream->comes_once()) continue;
    sources.push_back(stream->source_index());
    State& part = out.scope(cat("source ", stream->source_index()));
    part.set_text("name", stream->name());
    part.set_text("fields", fields_of(*stream));
    const RowSource& source = *graph.sources[stream->source_index()];
    attributed(source, [&] { source.save(part.scope("data")); });
  }
  out.set("sources", sources);
  return out;
}

std::string difference(const State& here, const State& there, std::string_view at_a, std::string_view at_b) {
  if (here == there) return {};
  const std::vector<uint64_t>& sources = here.values("sources");
  if (sources != there.values("sources")) return "the graph has other sources";
  for (const uint64_t source : sources) {
    const State& a = here.scope(cat("source ", source));
    const State& b = there.scope(cat("source ", source));
    if (a == b) continue;
    const std::string& name = a.text("name");
    if (a.text("fields") != b.text("fields")) {
      return cat(name, " gives rows of (", a.text("fields"), ") ", at_a, " and of (", b.text("fields"), ") ", at_b);
    }
    const State& data = a.scope("data");
    const std::string file = data.has("files") ? file_difference(data, b.scope("data"), at_a, at_b) : std::string();
    return file.empty() ? cat("the data of ", name, " differ") : file;
  }
  return "the graph differs";
}

}  // namespace millrace

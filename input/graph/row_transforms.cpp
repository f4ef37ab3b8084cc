#include "millrace/input/graph/row_transforms.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/input/graph/graph_list.h"
#include "millrace/input/source.h"

namespace millrace {

std::vector<ChainLink> RowTransforms::links_of(const InputGraph& graph) {
  std::vector<ChainLink> links;
  for (const GraphNode& node : graph.impl_->nodes) {
    if (node.transform == nullptr) continue;
    links.push_back({.transform = node.transform, .name = node.name, .output = node.output});
  }
  return links;
}

RowTransforms::RowTransforms(InputGraph graph)
    : graph_(std::move(graph)),
      input_(graph_.impl_->nodes.front().output.rows),
      chain_(graph_.impl_->nodes.front().output.type, links_of(graph_)) {}

// A transform may hold new rows in addition to those that it reads.
size_t RowTransforms::row_bytes() const {
  size_t widest = input_.row_bytes();
  for (const ChainLink& link : chain_.links()) widest = std::max(widest, link.output.rows.row_bytes());
  const size_t blocks = chain_.links().empty() ? 1 : 2;
  return multiply_bytes(add_bytes(widest, sizeof(RowId)), blocks);
}

namespace {

// Text in memory, which is there as a whole.
class WholeText final : public ChunkText {
 public:
  void set(std::string_view text, uint64_t offset) {
    data_ = text.data();
    size_ = text.size();
    offset_ = offset;
    limit_ = offset + text.size();
    at_end_ = true;
  }
  void extend() override { throw InternalError("there is no more text"); }
};

// Which rows went in: how many, the number of the first one, and the offset of each, by which its id tells it.
struct RowsIn {
  int64_t count = 0;
  uint64_t first = 0;
  FunctionRef<uint64_t(int64_t row)> offset;

  // How many of the rows have an offset below `end`.
  int64_t below(uint64_t end) const {
    int64_t low = 0;
    for (int64_t high = count; low < high;) {
      const int64_t middle = low + (high - low) / 2;
      offset(middle) < end ? low = middle + 1 : high = middle;
    }
    return low;
  }
};

// Throws for the first row of `chunk` that was refused or left out; `rows` are the rows that came out.
void check_rows(const Chunk& chunk, const RowsIn& in, const RowBlock& rows) {
  int64_t there = 0;
  while (there < std::min(in.count, rows.size()) && rows.id(there).offset == in.offset(there)) ++there;
  const uint64_t missing = in.first + static_cast<uint64_t>(there);
  for (const Note& note : chunk.notes) {
    if (note.kind == Note::Kind::dropped && there < in.count) {
      throw DataError(cat("row ", missing, " was left out by ", note.text), {},
                      "every row that is given has an output, so leave such rows out before");
    }
    if (note.kind != Note::Kind::error) continue;
    try {
      raise_copy(note.error);
    } catch (Error& error) {
      const int64_t row = note.id ? in.below(note.id->offset) : there;
      error.add_context(cat("row ", in.first + static_cast<uint64_t>(row)));
      throw;
    }
  }
  if (there < in.count) throw InternalError(cat("row ", missing, " is gone, and no transform said so"));
}

}  // namespace

void RowTransforms::apply(RowBlock& rows, uint64_t first, Memory& memory) const {
  if (chain_.links().empty()) return;
  const int64_t count = rows.size();
  const Unit unit = {.begin = first, .end = first + static_cast<uint64_t>(count), .exact = true, .line = first + 1};
  for (int64_t row = 0; row < count; ++row) rows.id(row) = IndexSource::id_of(unit, first + static_cast<uint64_t>(row));
  Chunk& chunk = memory.chunk;
  chunk.reset(unit);
  chunk.rows.swap(rows);
  const std::exception_ptr failure = chain_.apply(chunk, memory.task);
  chunk.rows.swap(rows);
  if (failure) raise_copy(failure);
  const auto offset = [&](int64_t row) { return first + static_cast<uint64_t>(row); };
  check_rows(chunk, {.count = count, .first = first, .offset = offset}, rows);
}

void RowTransforms::decode(const RowTexts& texts, uint64_t first, RowBlock& rows, Memory& memory) const {
  // Decoders name a file. No text begins at 0, where a decoder may look for the marks of a file.
  static const auto kFile = std::make_shared<const FileEntry>(FileEntry{.path = "text"});
  constexpr uint64_t kBegin = 1;
  const uint64_t begin = texts.begins.front();
  if (!memory.task.text) memory.task.text = std::make_unique<WholeText>();
  static_cast<WholeText&>(*memory.task.text).set(texts.text, kBegin);
  Chunk& chunk = memory.chunk;
  chunk.reset({.file = kFile, .begin = kBegin, .end = kBegin + texts.text.size(), .exact = true});
  chunk.first_record = chunk.end_record = kBegin;
  chunk.lines = 0;
  chunk.rows.swap(rows);
  const std::exception_ptr failure = chain_.apply(chunk, memory.task);
  chunk.rows.swap(rows);
  if (failure) raise_copy(failure);
  const auto offset = [&](int64_t row) { return kBegin + texts.begins[static_cast<size_t>(row)] - begin; };
  check_rows(chunk, {.count = std::ssize(texts.begins), .first = first, .offset = offset}, rows);
}

}  // namespace millrace

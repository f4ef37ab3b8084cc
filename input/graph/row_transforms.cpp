#include "millrace/input/graph/row_transforms.h"

#include <algorithm>
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
      chain_(PortType::rows, links_of(graph_)) {}

// A transform may hold new rows in addition to those that it reads.
size_t RowTransforms::row_bytes() const {
  size_t widest = input_.row_bytes();
  for (const ChainLink& link : chain_.links()) widest = std::max(widest, link.output.rows.row_bytes());
  const size_t blocks = chain_.links().empty() ? 1 : 2;
  return multiply_bytes(add_bytes(widest, sizeof(RowId)), blocks);
}

namespace {

// Throws for the first row of `chunk` that was refused or left out; `rows` are the rows that came out.
void check_rows(const Chunk& chunk, const RowBlock& rows) {
  const uint64_t first = chunk.unit.begin, end = chunk.unit.end;
  int64_t there = 0;
  while (there < rows.size() && rows.id(there).offset == first + static_cast<uint64_t>(there)) ++there;
  const uint64_t missing = first + static_cast<uint64_t>(there);
  for (const Note& note : chunk.notes) {
    if (note.kind == Note::Kind::dropped && missing < end) {
      throw DataError(cat("row ", missing, " was left out by ", note.text), {},
                      "every row that is given has an output, so leave such rows out before");
    }
    if (note.kind != Note::Kind::error) continue;
    try {
      raise_copy(note.error);
    } catch (Error& error) {
      error.add_context(cat("row ", note.id ? note.id->offset : missing));
      throw;
    }
  }
  if (missing < end) throw InternalError(cat("row ", missing, " is gone, and no transform said so"));
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
  check_rows(chunk, rows);
}

}  // namespace millrace

#include "millrace/input/graph/row_transforms.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/input/graph/graph_impl.h"
#include "millrace/input/run/transform_chain.h"
#include "millrace/input/source.h"

namespace millrace {

struct RowTransforms::Memory::Impl {
  TaskMemory task;
  Chunk chunk;
};

RowTransforms::Memory::Memory() : impl_(std::make_unique<Impl>()) {}
RowTransforms::Memory::~Memory() = default;

struct RowTransforms::Impl {
  Impl(InputGraph built, RowSpec rows, std::vector<ChainLink> links)
      : graph(std::move(built)), input(std::move(rows)), chain(PortType::rows, std::move(links)) {}

  const InputGraph graph;  // owns the transforms
  const RowSpec input;
  const TransformChain chain;
};

RowTransforms::RowTransforms(InputGraph graph) {
  std::vector<ChainLink> links;
  for (const GraphNode& node : graph.impl_->nodes) {
    if (node.transform == nullptr) continue;
    links.push_back({.transform = node.transform, .name = node.name, .output = node.output});
  }
  RowSpec input = graph.impl_->nodes.front().output.rows;
  impl_ = std::make_shared<const Impl>(std::move(graph), std::move(input), std::move(links));
}

const RowSpec& RowTransforms::input() const { return impl_->input; }
const RowSpec& RowTransforms::output() const { return impl_->graph.output().rows; }

// A transform may make new rows beside those that it reads.
size_t RowTransforms::row_bytes() const {
  size_t widest = impl_->input.row_bytes();
  for (const ChainLink& link : impl_->chain.links()) widest = std::max(widest, link.output.rows.row_bytes());
  const size_t blocks = impl_->chain.links().empty() ? 1 : 2;
  return multiply_bytes(add_bytes(widest, sizeof(RowId)), blocks);
}

namespace {

// Throws for the first row that was refused or left out.
void check_rows(const Chunk& chunk) {
  const uint64_t first = chunk.unit.begin, end = chunk.unit.end;
  int64_t there = 0;
  while (there < chunk.rows.size() && chunk.rows.id(there).offset == first + static_cast<uint64_t>(there)) ++there;
  const uint64_t missing = first + static_cast<uint64_t>(there);
  for (const Note& note : chunk.notes) {
    if (note.kind == Note::Kind::dropped && missing < end) {
      throw DataError(cat("row ", missing, " was left out by ", note.text), {},
                      "every row that is given has an output, so leave it out before");
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
  if (impl_->chain.links().empty()) return;
  const int64_t count = rows.size();
  Unit unit;
  unit.begin = first;
  unit.end = first + static_cast<uint64_t>(count);
  unit.exact = true;
  unit.line = first + 1;
  for (int64_t row = 0; row < count; ++row) rows.id(row) = IndexSource::id_of(unit, first + static_cast<uint64_t>(row));
  Chunk& chunk = memory.impl_->chunk;
  chunk.reset(unit);
  chunk.rows.swap(rows);
  const std::exception_ptr failure = impl_->chain.apply(chunk, memory.impl_->task);
  const auto give_back = [&] { chunk.rows.swap(rows); };
  if (failure) {
    give_back();
    raise_copy(failure);
  }
  try {
    check_rows(chunk);
  } catch (...) {
    give_back();
    throw;
  }
  give_back();
}

}  // namespace millrace

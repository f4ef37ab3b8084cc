// RowTransforms: does to rows, or to texts of rows, that a program holds what an input graph does to each row between
// its source and its batches.
//
//   const RowTransforms transforms(InputGraph::build(list, registry, {}));
//   RowTransforms::Memory memory;
//   transforms.apply(rows, 0, memory);   // rows of transforms.input() are rows of transforms.output() now
//
// Constant once made: any number of threads may call apply(), each with a Memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "millrace/input/graph/pipeline.h"
#include "millrace/input/run/transform_chain.h"

namespace millrace {

// Rows as text, one after another.
struct RowTexts {
  std::string_view text;
  std::span<const uint64_t> begins;  // where each row begins; the text begins with the first one
};

class RowTransforms {
 public:
  // Memory that one thread keeps from call to call.
  struct Memory {
    TaskMemory task;
    Chunk chunk;
  };

  // REQUIRES: the graph has one source of rows or of text, transforms, and one buffer, which gives batches.
  explicit RowTransforms(InputGraph graph);

  const RowSpec& input() const { return input_; }
  const RowSpec& output() const { return graph_.output().rows; }
  const std::vector<ChainLink>& links() const { return chain_.links(); }
  // Upper bound of the bytes that one row takes on its way from input() to output(), without what all rows share.
  size_t row_bytes() const;

  // Changes the rows. It numbers them from `first` on, in their ids and in messages. As many rows come out as went in:
  // if a transform refuses a row or leaves it out, apply() throws a DataError that names the first such row. After an
  // error the contents of `rows` are undefined. REQUIRES: rows.spec() == input().
  void apply(RowBlock& rows, uint64_t first, Memory& memory) const;
  // Makes the rows of the texts, which it numbers from `first` on, too. Throws as apply(). REQUIRES: the graph's source
  // gives text; there is a text.
  void decode(const RowTexts& texts, uint64_t first, RowBlock& rows, Memory& memory) const;

 private:
  static std::vector<ChainLink> links_of(const InputGraph& graph);

  const InputGraph graph_;  // owns the transforms
  const RowSpec input_;
  const TransformChain chain_;
};

}  // namespace millrace

// RowTransforms: does to rows that a program holds what an input graph does to each row between its source and its
// batches.
//
//   const RowTransforms transforms(InputGraph::build(list, registry, {}));
//   RowTransforms::Memory memory;
//   transforms.apply(rows, 0, memory);   // rows of transforms.input() are rows of transforms.output() now
//
// Constant once made: any number of threads may call apply(), each with a Memory of its own.
#pragma once

#include "millrace/input/graph/pipeline.h"
#include "millrace/input/run/transform_chain.h"

namespace millrace {

class RowTransforms {
 public:
  // Memory that one thread keeps from call to call.
  struct Memory {
    TaskMemory task;
    Chunk chunk;
  };

  // REQUIRES: the graph has one source of rows, transforms, and one buffer, which gives batches.
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

 private:
  static std::vector<ChainLink> links_of(const InputGraph& graph);

  const InputGraph graph_;  // owns the transforms
  const RowSpec input_;
  const TransformChain chain_;
};

}  // namespace millrace

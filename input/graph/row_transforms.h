// RowTransforms: what an input graph does to each row between its source and its batches, done to rows that a program
// holds.
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
  // What one thread keeps from call to call.
  struct Memory {
    TaskMemory task;
    Chunk chunk;
  };

  // REQUIRES: a graph of one source of rows, transforms, and one buffer, which gives batches.
  explicit RowTransforms(InputGraph graph);

  const RowSpec& input() const { return input_; }
  const RowSpec& output() const { return graph_.output().rows; }
  // What a row takes on its way from the one to the other, at most, beside what all rows share.
  size_t row_bytes() const;

  // Changes the rows, which it numbers from `first` on, in their ids and in messages. Throws DataError, that names the
  // first row which a transform refuses or leaves out: as many come out as went in. After an error `rows` are whatever
  // they are. REQUIRES: rows.spec() == input().
  void apply(RowBlock& rows, uint64_t first, Memory& memory) const;

 private:
  static std::vector<ChainLink> links_of(const InputGraph& graph);

  const InputGraph graph_;  // owns the transforms
  const RowSpec input_;
  const TransformChain chain_;
};

}  // namespace millrace

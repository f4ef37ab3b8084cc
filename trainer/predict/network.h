// Network: a trained model in memory, which predicts rows that a program holds, for any number of threads at once.
//
//   const Network network = Network::load("model.safetensors");
//   const std::vector<float> output = network.predict(row);       // a row of features, or several one after another
//
// Rows are given as they come out of the file reader, before the transforms of the configuration's input list
// (normalize, one_hot, ..): these are done here, as they were in the training. Labels are not needed.
//
// All members but the constructor may be called from any thread, at the same time. Every call that runs at once with
// others has its own memory and threads; both are kept for later calls.
//
// The same rows in one call give the same bits. The same row beside another number of rows may differ in the last bits:
// the rows of a call go through the model together, up to 256 at a time and filled up to a power of two, and the
// products of matrices of another size may add the same terms up in another order. Where that matters, give one row a
// call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/function_ref.h"
#include "millrace/core/tensor.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"

namespace millrace {

class ModelFile;

struct NetworkOptions {
  std::vector<std::string> overrides = {};  // of the saved configuration, as "path=value": "device=cpu"
  int threads = 1;                          // that one call works with, its own included; 0: all
  uint64_t max_bytes = uint64_t{1} << 30;   // that one call may take for its rows
};

class MILLRACE_EXPORT Network {
 public:
  // A model that a training saved. Throws MissingError, DataError (no model file, or one whose values do not fit its
  // configuration), ConfigError with a place in the file's configuration.
  static Network load(const std::string& path, const NetworkOptions& options = {},
                      const Catalog& catalog = Catalog::builtin());
  Network(const ModelFile& file, const NetworkOptions& options, const Catalog& catalog);
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;
  ~Network();

  const Config& config() const;
  // What a row is made of.
  const RowSpec& fields() const;
  // What comes out for a row: float32, as the loss reads it (logits, where a loss takes logits).
  const TensorSpec& output() const;

  // `count` rows of fields(), to be filled in.
  RowBlock make_rows(int64_t count) const;
  // Writes the outputs of the rows one after another. Throws ShapeError when the rows are not of fields(), or `outputs`
  // is not as large as all outputs; DataError that names the first row which a transform or the model refuses.
  void predict(const RowBlock& rows, std::span<float> outputs) const;
  // The same of rows that `fill` writes: those from `begin` on to the first `count` of a block of fields().
  using Fill = FunctionRef<void(RowBlock& block, int64_t begin, int64_t count)>;
  void predict(int64_t rows, Fill fill, std::span<float> outputs) const;
  // The same of rows of a single float32 field, given as its values. Throws ShapeError, too, when there are others or
  // `values` are not whole rows.
  void predict(std::span<const float> values, std::span<float> outputs) const;
  std::vector<float> predict(std::span<const float> values) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace

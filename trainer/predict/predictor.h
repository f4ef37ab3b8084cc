// Predictor: a saved model on data: batches with the model's outputs and where each row came from, and if wanted, loss
// and metrics over all rows.
//
//   Predictor predictor({.model = "m.safetensors", .data = {"new/*.csv"}});
//   while (const RowBlock* batch = predictor.next()) {
//     for (int64_t row = 0; row < batch->size(); ++row) use(predictor.place(batch->id(row)), predictor.output(row));
//   }
//
// The data are read by the configuration that the file holds, in pass mode (pass_input.h), in order. To predict, the
// label is not needed. A model file comes from anywhere: before memory is taken for what it asks, its values and the
// limits below are checked; it never makes a Predictor write a file.
//
// One thread uses a Predictor; stop() may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/step/named_metric.h"

namespace millrace {

struct MILLRACE_EXPORT PredictorArgs {
  std::string model;  // a file that a training saved
  // Paths or patterns, read instead of the training's files, which are read where there are none and held_out is set.
  std::vector<std::string> data;
  std::vector<std::string> overrides = {};  // of the saved configuration, as "path=value" (overrides.h)
  bool judge = false;                       // read the label, too, for loss() and metrics()
  bool held_out = false;                    // of the data only the rows that the training held out
  Place data_place = {"data"};              // of errors about `data`
  uint64_t max_bytes = uint64_t{1} << 30;   // that batches and chunks of text may take
};

class MILLRACE_EXPORT Predictor {
 public:
  // Throws MissingError (model or data), DataError (no model file, or one whose values do not fit its configuration),
  // ConfigError with a place in the file's configuration.
  explicit Predictor(const PredictorArgs& args, const Catalog& catalog = Catalog::builtin());
  ~Predictor();
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;

  const Config& config() const;
  const Model& model() const;
  const InputGraph& input() const;
  // What the label's values were before the input's ops changed them; not `complete` where that is not known.
  const FieldHistory& label() const;
  // Things that are allowed but unlikely to be meant.
  const std::vector<std::string>& warnings() const;

  // The next batch, with the model run on it; nullptr at the end of the data and after stop(). Valid until the next
  // call. Throws the error that the batch runs into.
  const RowBlock* next();
  // The model's output for a row of that batch, flat. Valid until the next call of next().
  std::span<const float> output(int64_t row);
  // Where a row came from.
  Place place(const RowId& id) const;

  // Over all batches so far. With `judge`: loss() is NaN where no row counted.
  uint64_t rows() const;
  double loss() const;
  MetricValues metrics() const;

  bool stopped() const;
  // Makes next() return nullptr soon, also a call that waits now. Idempotent.
  void stop() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace

// Predictions with a saved model. Network: a trained model in memory, which predicts rows that the program holds, on
// any number of threads at once. Predictor, below: predicts data that it reads.
//
//   const Network network = Network::load("model.safetensors");
//   const std::vector<float> output = network.predict(row);       // a row of features, or several one after another
//
// A Network is given rows as they come out of the file reader, before the transforms of the configuration's input list
// (vocabulary, normalize, ..): the Network applies these, as the training did. Dates and times are seconds since 1970,
// UTC. Labels are not needed. A row may lack values, as text may: an empty text and, in a field of numbers with a
// `default`, NaN become the default of the field.
//
// All its const members may be called from any thread, at the same time. Calls that run at the same time have memory
// and threads of their own; both are kept for later calls.
//
// On the CPU the outputs for a row are the same bits in any call, however many rows are in it. On a GPU the last bits
// may differ: up to 256 rows go through the model together, in parts of a power of two, and products of matrices of
// another size may add up the same terms in another order. If that matters there, give one row in each call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/core/tensor.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/input/transform.h"
#include "millrace/layers/loss.h"
#include "millrace/trainer/config/catalog.h"

namespace millrace {

class Answers;
class Model;
class ModelFile;
class TextNetwork;
struct Config;

// The answer for a row: its outputs in the terms of the training's label. `trainer predict` prints the same.
struct Answer {
  // The number of the row's class: after softmax_cross_entropy the largest output; after sigmoid_cross_entropy one
  // class for each output, 1 if it is above 0, else 0. It is -1 if a NaN leaves it open. Empty if the label is no
  // class.
  std::vector<int64_t> classes = {};
  std::vector<std::string> texts = {};  // of these classes; empty ones if the label is numbers
  // A value for each output: the probability of the class, after sigmoid_cross_entropy of class 1; amounts as the label
  // was before the input list changed it, if that is known; else the outputs.
  std::vector<double> values = {};
};

struct NetworkOptions {
  std::vector<std::string> overrides = {};  // of the saved configuration, each "path=value", such as "device=cpu"
  int threads = 1;                          // that one call works with, its own included; at most 4096; 0: all
  uint64_t max_bytes = uint64_t{1} << 30;   // that one call may take for its rows
  // The parameters of the best validation in a checkpoint (validation.keep_best), instead of the last ones.
  bool best = false;
};

class MILLRACE_EXPORT Network {
 public:
  // Loads a model that a training saved. Throws MissingError; DataError if the file is not a model file, its values do
  // not fit its configuration, or it has no best ones; ConfigError with a place in the file's configuration.
  static Network load(const std::string& path, const NetworkOptions& options = {},
                      const Catalog& catalog = Catalog::builtin());
  // For the library itself: the type is not installed.
  Network(ModelFile file, const NetworkOptions& options, const Catalog& catalog);
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;
  ~Network();

  // The configuration of the training, with every default and override.
  const Spec& resolved() const;
  // For the library itself: the type is not installed.
  const Config& config() const;
  // The fields of a row.
  const RowSpec& fields() const;
  // The names of the columns that the values of each field were read from in the training; none if they have no names.
  const std::vector<std::vector<std::string>>& columns() const;
  // The outputs for a row: float32, as the loss reads it (logits, if the loss takes logits).
  const TensorSpec& output() const;
  // The texts of the classes, by their numbers. Empty if the label is numbers.
  const std::vector<std::string>& classes() const;
  // For the library itself: the type is not installed.
  const Answers& answers() const;

  // `count` rows of fields(), to be filled in. A text that is not set is empty.
  RowBlock make_rows(int64_t count) const;
  // Writes the outputs of the rows one after another. Throws ShapeError if the rows do not have fields(), a row has
  // texts, but not as many as their field has columns, or `outputs` does not have the size of all outputs together;
  // DataError that names the first row which a transform or the model refuses.
  void predict(const RowBlock& rows, std::span<float> outputs) const;
  // The same for rows that `fill` writes: the `count` rows from row `begin` on, into the first `count` rows of `block`,
  // whose fields are fields(). Texts and ragged fields are empty before.
  using Fill = FunctionRef<void(RowBlock& block, int64_t begin, int64_t count)>;
  void predict(int64_t rows, Fill fill, std::span<float> outputs) const;
  // The same for rows that are a single field of float32 or uint8, given as its values. Throws ShapeError, too, if a
  // row has other fields or `values` ends inside a row; DataError for a value that a uint8 field cannot hold.
  void predict(std::span<const float> values, std::span<float> outputs) const;
  std::vector<float> predict(std::span<const float> values) const;

  // The answer for the outputs of one row. Throws ShapeError if they are not as many as a row has.
  Answer answer(std::span<const float> outputs) const;

 private:
  friend class TextNetwork;
  // Its rows go into the model as they are.
  Network(const ModelFile& file, const NetworkOptions& options, const Catalog& catalog, Config config,
          const RowSpec& model_rows);
  // As predict(), but an error of the model is a RowError (step_inputs.h), whose text does not name the row.
  void predict_numbered(const RowBlock& rows, std::span<float> outputs) const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct MILLRACE_EXPORT PredictorArgs {
  std::string model;  // a file that a training saved, or a checkpoint
  // Paths or patterns to read instead of the training's files. If there are none, held_out must be set, and the
  // training's files are read.
  std::vector<std::string> data;
  std::vector<std::string> overrides = {};  // of the saved configuration, each "path=value"
  bool judge = false;                       // read the label, too, for loss() and metrics()
  bool held_out = false;                    // give only the rows that the training held out
  Place data_place = {"data"};              // of errors about `data`
  // Columns of the text that come with each row as they stand (Predictor::kept), by their names in the header or, in
  // files without a header, by their numbers from 0.
  std::vector<std::string> keep = {};
  Place keep_place = {"keep"};  // of errors about `keep`
  // Rows that cannot be read, or that a transform or the model refuses, come among the others (Predictor::error) and
  // end nothing. Not with `judge`.
  bool bad_rows_stay = false;
  uint64_t max_bytes = uint64_t{1} << 30;  // that batches and chunks of text may take
  // The parameters of the best validation in a checkpoint (validation.keep_best), instead of the last ones.
  bool best = false;
};

// Runs a saved model on data: gives batches, the model's outputs for them, the place where each row came from and, if
// wanted, loss and metrics over all rows.
//
//   Predictor predictor({.model = "m.safetensors", .data = {"new/*.csv"}});
//   while (const RowBlock* batch = predictor.next()) {
//     for (int64_t row = 0; row < batch->size(); ++row) use(predictor.place(batch->id(row)), predictor.output(row));
//   }
//
// The data are read in order, in pass mode (pass_input.h), as the configuration in the file says. An override that
// changes nothing there is a ConfigError. Without `judge`, a batch ends early if its next row would have to wait for
// data that come over time (a pipe), or has an error; the outputs do not depend on that. The label is needed only with
// `judge`. A model file may come from anywhere: its values, and the bytes that it asks for, are checked
// before memory is taken for them; it never makes a Predictor write a file.
//
// One thread uses a Predictor; stop() may be called from any thread.
class MILLRACE_EXPORT Predictor {
 public:
  // Throws MissingError (model or data), DataError (the file is not a model file, its values do not fit its
  // configuration, or it has no best ones), ConfigError with a place in the file's configuration.
  explicit Predictor(const PredictorArgs& args, const Catalog& catalog = Catalog::builtin());
  ~Predictor();
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;

  // The configuration that the file holds, with every default and override.
  const Spec& resolved() const;
  // For the library itself: these types are not installed.
  const Config& config() const;
  const Model& model() const;
  const InputGraph& input() const;
  // How the label's values looked before the input's ops changed them; not `complete` if that is not known.
  const FieldHistory& label() const;
  // Things that are allowed but unlikely to be meant.
  const std::vector<std::string>& warnings() const;

  // The names of PredictorArgs::keep: those of the header, else the columns' numbers.
  const std::vector<std::string>& kept_names() const;

  // The next batch, with the model run on it; nullptr at the end of the data and after stop(). Valid until the next
  // call. Throws the error that the batch runs into.
  const RowBlock* next();
  // These are about a row of that batch, and valid until the next call of next(). Why the row is bad; empty if it is
  // good.
  std::string_view error(int64_t row) const;
  // The text of column `index` of PredictorArgs::keep; empty if it cannot be read.
  std::string_view kept(int64_t row, size_t index) const;
  // The model's output, flat. REQUIRES: the row is good.
  std::span<const float> output(int64_t row);
  // Where a row came from.
  Place place(const RowId& id) const;

  // Over all batches so far. Without `judge`, and if no row counted, loss() is NaN; metrics() need `judge`.
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

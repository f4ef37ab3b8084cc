#include <unistd.h>

#include <chrono>
#include <concepts>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/report/json_events.h"
#include "millrace/cli/report/result_text.h"
#include "millrace/cli/rows/class_counts.h"
#include "millrace/cli/rows/field_values.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/predict/network.h"

namespace millrace::cli {

namespace {

constexpr CommandText kEvaluateText = {
    "evaluate", "Judges a saved model by data that it was not trained on: loss and metrics over all rows.",
    R"(  trainer evaluate --model FILE --data GLOB [DATA...] [OPTIONS]
  trainer evaluate --model FILE --held-out [OPTIONS])",
    R"(The data are read as in the training, by the configuration that the model file holds, but once and
in order: no shuffling, every row. A bad row is an error, and so are data without rows. --set
changes that configuration: device, threads, the batch size by the op of the training
(input.shuffle_batch.batch_size), the columns of the fields. With --held-out it reads only the rows
that the op hold_out kept from the training, from the files of the training unless --data names
others; bad rows are left out as in the training. If the label was normalised, loss and metrics are
for the normalised label, as in the training; mae and rmse are given in the label's own unit, too,
and mse in its square. If the loss weights the rows, loss and metrics are weighted, which the
result says; take the weight away to count all rows alike: --set loss.mse.weight=null, with the
loss of the training. A checkpoint is a model, too: the one of its last step, and with --best the
one of its best validation.

EXAMPLES:
  trainer evaluate --model model.safetensors --data "test/*.csv"
  trainer evaluate --model model.safetensors --data a.csv --data b.csv --json
  trainer evaluate --model model.safetensors --data test.csv --set device=cpu
  trainer evaluate --model iris.safetensors --held-out
)",
    "trainer predict, trainer layers"};

struct EvaluateArguments : ModelArguments {
  bool json = false;
  bool quiet = false;

  void declare(Command& c) {
    ModelArguments::declare(c);
    c.flag("--held-out", held_out, "only rows that hold_out kept from the training, by default from its own files");
    c.heading("OUTPUT");
    c.flag("--json", json, "print the result as one line of JSON");
    c.flag("-q,--quiet", quiet, "no warnings");
  }
};

// Whether a row of the batch counts. `weight` is the field of row weights; empty: all count.
bool some_row_counts(const RowBlock& batch, const std::string& weight) {
  const int field = batch.spec().find(weight);
  if (field < 0) return batch.size() > 0;
  bool found = false;
  const auto look = [&](const auto& values) {
    if constexpr (!std::same_as<decltype(values), const Texts&>)
      found = found || static_cast<double>(values.front()) != 0;
  };
  for (int64_t row = 0; row < batch.size() && !found; ++row) with_values(batch, static_cast<size_t>(field), row, look);
  return found;
}

int run_evaluate(const EvaluateArguments& arguments, Session& session) {
  const auto warn = [&](const std::string& text) {
    if (!arguments.quiet) write_to_stderr(cat("warning: ", escape_controls(text), '\n'));
  };
  Predictor predictor({.model = arguments.model,
                       .data = arguments.data,
                       .overrides = arguments.overrides,
                       .judge = true,
                       .held_out = arguments.held_out,
                       .data_place = {"--data"},
                       .best = arguments.best},
                      read_catalog(arguments));
  for (const std::string& warning : predictor.warnings()) warn(warning);
  const LossConfig& loss = predictor.config().loss;
  // If rows have weights, the accuracy has them, too, and cannot be compared with a share of the rows.
  const Predictions predictions =
      loss.weight.empty() ? attributed(*loss.loss, &Loss::predictions) : Predictions::unknown;
  ClassCounts classes(prediction_kind(predictions, predictor.model().output().shape.elements()), loss.label);
  const auto began = std::chrono::steady_clock::now();
  bool counts = false;
  {
    const auto guard = session.signals.while_running([&] { predictor.stop(); });
    while (const RowBlock* batch = predictor.next()) {
      classes.add(*batch);
      counts = counts || some_row_counts(*batch, loss.weight);
    }
  }
  if (predictor.stopped()) return exit_code_of_signal(session.signals.received());
  if (predictor.rows() == 0) {
    throw DataError(arguments.held_out ? "no row of the data was held out" : "the data have no rows", {},
                    "check what the files hold and what is left out");
  }
  if (!counts) warn(cat("no row counts: ", loss.weight, " is 0 in all of them"));
  const EvaluationResult result{
      .rows = predictor.rows(),
      .files = predictor.input().files().read.size(),
      .loss = predictor.loss(),
      .metrics = predictor.metrics(),
      .weight = loss.weight,
      .unweighted = cat("loss.", loss.kind, ".weight=null"),
      .in_label_unit = in_label_unit(predictor.metrics(), predictor.config().metrics, predictor.label()),
      .commonest_class = classes.commonest(),
      .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()};
  session.out.write(arguments.json ? evaluation_event(result) : folded_for(STDOUT_FILENO, evaluation_text(result)));
  return kExitDone;
}

}  // namespace

Command evaluate_command() { return make_command(kEvaluateText, run_evaluate); }

}  // namespace millrace::cli

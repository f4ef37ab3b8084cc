#include <chrono>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/report/evaluation_text.h"
#include "millrace/cli/rows/class_counts.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/predict/network.h"

namespace millrace::cli {

int run_evaluate(const Arguments& arguments, Session& session) {
  const auto warn = [&](const std::string& text) {
    if (!arguments.quiet) write_to_stderr(cat("warning: ", escape_controls(text), '\n'));
  };
  Predictor predictor({.model = arguments.model,
                       .data = arguments.data,
                       .overrides = arguments.overrides,
                       .judge = true,
                       .held_out = arguments.held_out,
                       .data_place = {"--data"}},
                      read_catalog(arguments));
  for (const std::string& warning : predictor.warnings()) warn(warning);
  const LossConfig& loss = predictor.config().loss;
  // Rows that count more than others are no share that an accuracy could be compared with.
  const int64_t outputs = predictor.model().output().shape.elements();
  ClassCounts classes(prediction_kind(loss.loss->predictions(), outputs, !loss.weight.empty()), loss.label);
  const auto began = std::chrono::steady_clock::now();
  {
    const auto guard = session.signals.while_running([&] { predictor.stop(); });
    while (const RowBlock* batch = predictor.next()) classes.add(*batch);
  }
  if (predictor.stopped()) return exit_code_of_signal(session.signals.received());
  if (predictor.rows() == 0) warn(arguments.held_out ? "no row of the data was held out" : "the data have no rows");
  const EvaluationResult result{
      .rows = predictor.rows(),
      .files = predictor.input().files().read.size(),
      .loss = predictor.loss(),
      .metrics = predictor.metrics(),
      .in_label_unit = in_label_unit(predictor.metrics(), predictor.config().metrics, predictor.label()),
      .commonest_class = classes.commonest(),
      .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()};
  session.out.write(arguments.json ? evaluation_event(result) : evaluation_text(result));
  session.out.flush();
  return kExitDone;
}

}  // namespace millrace::cli

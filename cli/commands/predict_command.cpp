#include <optional>
#include <string>

#include "millrace/cli/arguments/check_out.h"
#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/rows/prediction_text.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/predict/network.h"

namespace millrace::cli {

namespace {

void write_predictions(Predictor& predictor, const Arguments& arguments, Output& out) {
  const int64_t outputs = predictor.model().output().shape.elements();
  const Predictions predictions = predictor.config().loss.loss->predictions();
  const PredictionKind kind = prediction_kind(predictions, outputs, arguments.raw);
  // Of a number what was done to the label can be undone.
  const bool explains = !arguments.raw && (kind != PredictionKind::values || predictions == Predictions::numbers);
  if (explains && kind == PredictionKind::values && !predictor.label().complete) {
    write_to_stderr(
        "warning: the input changes the label in a way that cannot be undone: predictions are the model's\n");
  }
  const PredictionText format({.format = arguments.prediction_format,
                               .kind = kind,
                               .outputs = outputs,
                               .label = explains ? predictor.label() : FieldHistory{}});
  std::string text = format.head();
  while (const RowBlock* batch = predictor.next()) {
    for (int64_t row = 0; row < batch->size(); ++row) {
      out.write(text);
      text.clear();
      format.append(text, predictor.place(batch->id(row)).text(), predictor.output(row));
    }
  }
  out.write(text);
}

}  // namespace

int run_predict(const Arguments& arguments, Session& session) {
  Predictor predictor(
      {.model = arguments.model, .data = arguments.data, .overrides = arguments.overrides, .data_place = {"--data"}},
      read_catalog(arguments));
  for (const std::string& warning : predictor.warnings()) {
    write_to_stderr(cat("warning: ", escape_controls(warning), '\n'));
  }
  check_out(arguments, predictor.input().files(), arguments.model);
  // Outlives the file: without it a signal would end the program and leave the file half-written.
  const auto guard = session.signals.while_running([&] { predictor.stop(); });
  std::optional<Output> file;
  if (!arguments.out.empty()) file.emplace(Output::file(arguments.out));
  write_predictions(predictor, arguments, file ? *file : session.out);
  const bool stopped = predictor.stopped();
  if (file && !stopped) file->close();
  session.out.flush();
  return stopped ? exit_code_of_signal(session.signals.received()) : static_cast<int>(kExitDone);
}

}  // namespace millrace::cli

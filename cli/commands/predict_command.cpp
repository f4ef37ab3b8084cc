#include <optional>
#include <string>

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

constexpr CommandText kPredictText = {
    "predict", "Runs a saved model on data and writes a line for each row, in order.",
    "  trainer predict --model FILE --data GLOB [DATA...] [OPTIONS]",
    R"(The data are read as by `trainer evaluate`, but need no label: its column may be missing, in files
without a header only if it stands after all others. The file of --out appears whole or not at all.
Formats (a row is its file and line):
  csv    row,class,probability             of a model trained with sigmoid_cross_entropy
         row,class_0,..,probability_0,..   the same with several outputs
         row,class,probability_0,...       with softmax_cross_entropy; of equals the first class
         row,prediction or prediction_0,.. with another loss, and with --raw
  jsonl  {"v":1,"row":"a.csv:3","class":1,"probability":0.93}, or likewise with lists
If the label went through a vocabulary, its text comes after the class: row,class,name,probability.
If it was normalised or mapped, predictions are given as the label was before. --raw does neither.

EXAMPLES:
  trainer predict --model model.safetensors --data "new/*.csv" --out predictions.csv
  trainer predict --model model.safetensors --data new.csv --format jsonl --raw
)",
    "trainer evaluate"};

struct PredictArguments : ModelArguments {
  std::string out, format = "csv";
  bool raw = false;

  void declare(Command& c) {
    ModelArguments::declare(c);
    c.heading("OUTPUT");
    c.text("--out", out, "FILE", "write to FILE, which appears whole or not at all, instead of standard output");
    c.choice("--format", format, "csv|jsonl", "how a row is written, see below");
    c.flag("--raw", raw, "the model's outputs as they are, no classes and probabilities");
  }
  void check(const Command& c) {
    ModelArguments::check(c);
    if (out == "-") out.clear();  // as other programs have it
  }
};

void write_predictions(Predictor& predictor, const PredictArguments& arguments, Output& out) {
  const Predictions predictions = attributed(*predictor.config().loss.loss, &Loss::predictions);
  const Answers answers({.predictions = arguments.raw ? Predictions::unknown : predictions,
                         .outputs = predictor.model().output().shape.elements(),
                         .label = predictor.label()});
  if (answers.cannot_undo()) {
    write_to_stderr(
        "warning: the input changes the label in a way that cannot be undone: predictions stay as the model gives "
        "them\n");
  }
  const PredictionText format({.format = arguments.format, .answers = answers});
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

int run_predict(const PredictArguments& arguments, Session& session) {
  Predictor predictor(
      {.model = arguments.model, .data = arguments.data, .overrides = arguments.overrides, .data_place = {"--data"}},
      read_catalog(arguments));
  for (const std::string& warning : predictor.warnings()) {
    write_to_stderr(cat("warning: ", escape_controls(warning), '\n'));
  }
  check_out("--out", arguments.out, predictor.input().files(), arguments.model);
  // The guard must outlive the file: without a guard, a signal would end the program and leave a half-written file.
  const auto guard = session.signals.while_running([&] { predictor.stop(); });
  std::optional<Output> file;
  if (!arguments.out.empty()) file.emplace(Output::file(arguments.out));
  write_predictions(predictor, arguments, file ? *file : session.out);
  const bool stopped = predictor.stopped();
  if (file && !stopped) file->close();
  session.out.flush();
  return stopped ? exit_code_of_signal(session.signals.received()) : static_cast<int>(kExitDone);
}

}  // namespace

Command predict_command() { return make_command(kPredictText, run_predict); }

}  // namespace millrace::cli

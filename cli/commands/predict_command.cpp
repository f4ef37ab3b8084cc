#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/rows/prediction_text.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/input/csv/record_scanner.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/predict/network.h"

namespace millrace::cli {

namespace {

constexpr CommandText kPredictText = {
    "predict", "Runs a saved model on data and writes a line for each row, in order.",
    "  trainer predict --model FILE --data GLOB [DATA...] [OPTIONS]",
    R"(The data are read as by `trainer evaluate`, but need no label: its column may be missing, in files
without a header only if it stands after all others. Rows that come through a pipe are answered as
they come; --data - is standard input. The file of --out appears whole or not at all. A checkpoint
is a model, too: the one of its last step, and with --best the one of its best validation.
Formats (a row is its file and line):
  csv    row,class,probability             of a model trained with sigmoid_cross_entropy
         row,class_0,..,probability_0,..   the same with several outputs
         row,class,probability_0,...       with softmax_cross_entropy; of equals the first class
         row,prediction or prediction_0,.. with another loss, and with --raw
  jsonl  {"v":1,"row":"a.csv:3","class":1,"probability":0.93}, or likewise with lists
There is no class if the model's output is not a number, as after inf in a row.
The columns of --keep come after the row, in JSON as keys; a name that is taken gets a _ at its end.
If the label went through a vocabulary, its text comes after the class: row,class,name,probability.
If it was normalised or mapped, predictions are given as the label was before. --raw does neither.

A row is bad if it cannot be read, or if an op or the model refuses a value of it. --bad-rows blank
gives it a line without a prediction, in JSON with an error; skip leaves it out; both say at the end
how many there were. A record whose end is in doubt, as after a quote that is never closed, is an
error nevertheless.

EXAMPLES:
  trainer predict --model model.safetensors --data "new/*.csv" --out predictions.csv
  trainer predict --model model.safetensors --data new.csv --format jsonl --raw
  trainer predict --model iris.safetensors --data iris.csv --keep length,species --bad-rows blank
  cat new.csv | trainer predict --model model.safetensors --data - --threshold 0.3
)",
    "trainer evaluate"};

// The names in a line of CSV.
std::vector<std::string> read_names(const std::string& text) {
  ScannedRecord record;
  const bool whole = RecordScanner({}, true).scan(text, true, record) && record.length == text.size();
  if (!whole || record.fault != SyntaxFault::none) {
    throw UsageError(cat("--keep: expected names with commas between them, got ", quote(text)));
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < record.size(); ++i) names.emplace_back(record.field(i));
  return names;
}

struct PredictArguments : ModelArguments {
  std::string out, format = "csv", bad_rows = "fail";
  std::vector<std::string> keep;
  std::optional<double> threshold;
  bool raw = false;

  void declare(Command& c) {
    ModelArguments::declare(c);
    c.heading("OUTPUT");
    c.text("--out", out, "FILE", "write to FILE, which appears whole or not at all, instead of standard output");
    c.choice("--format", format, "csv|jsonl", "how a row is written, see below");
    const auto add_names = [this](const std::string& text) {
      for (std::string& name : read_names(text)) keep.push_back(std::move(name));
    };
    c.add("--keep", "NAMES",
          "repeat these columns of the data in each line: names of the header, numbers from 0 or ranges (0-9)",
          add_names)
        .repeats = true;
    c.choice("--bad-rows", bad_rows, "blank|skip|fail", "what becomes of a bad row, see below");
    c.add("--threshold", "P", "class 1 if its probability is above P, instead of 0.5, for models that say yes or no",
          [this](const std::string& text) { threshold = number_in<double>({.most = 1}, "--threshold", text); });
    c.flag("--raw", raw, "the model's outputs as they are, no classes and probabilities");
  }
  void check(const Command& c) {
    ModelArguments::check(c);
    if (raw && threshold) throw UsageError("--raw gives no classes, so there is nothing for --threshold to decide");
    if (out == "-") out.clear();  // "-" is standard output, as in other programs
  }
};

PredictionText make_text(const Predictor& predictor, const PredictArguments& arguments) {
  const Predictions predictions = attributed(*predictor.config().loss.loss, &Loss::predictions);
  Answers answers({.predictions = arguments.raw ? Predictions::unknown : predictions,
                   .outputs = predictor.model().output().shape.elements(),
                   .threshold = arguments.threshold.value_or(0.5),
                   .label = predictor.label()});
  if (answers.cannot_undo()) {
    write_to_stderr(
        "warning: the input changes the label in a way that cannot be undone: predictions stay as the model gives "
        "them\n");
  }
  if (arguments.threshold) check_threshold(answers);
  return PredictionText({.format = arguments.format, .answers = std::move(answers), .kept = predictor.kept_names()});
}

// Counts bad rows, and remembers the first.
struct BadRows {
  uint64_t rows = 0, bad = 0;
  std::string first;

  void add(const std::string& place, std::string_view error) {
    ++rows;
    if (!error.empty() && ++bad == 1) first = cat(place, ": ", error);
  }
  void tell() const {
    if (bad == 0) return;
    write_to_stderr(escape_controls(cat(bad, " of ", count_of(static_cast<int64_t>(rows), "row"),
                                        bad == 1 ? " is bad: " : " are bad, the first: ", first)) +
                    '\n');
  }
};

void write_predictions(Predictor& predictor, const PredictArguments& arguments, const PredictionText& format,
                       Output& out) {
  // If the data come through a pipe, the program that writes it may wait for our output.
  const bool flushes = predictor.input().reads_once();
  std::vector<std::string_view> kept(predictor.kept_names().size());
  std::string text = format.head();
  BadRows bad;
  const auto next = [&] {
    try {
      return predictor.next();
    } catch (Error& error) {
      bad.tell();
      const bool of_a_row = error.kind() == ErrorKind::data && error.place().known();
      if (of_a_row && arguments.bad_rows == "fail") error.set_hint("--bad-rows blank or skip goes on after a bad row");
      throw;
    }
  };
  while (const RowBlock* batch = next()) {
    for (int64_t row = 0; row < batch->size(); ++row) {
      const std::string place = predictor.place(batch->id(row)).text();
      const std::string_view error = predictor.error(row);
      bad.add(place, error);
      if (!error.empty() && arguments.bad_rows == "skip") continue;
      for (size_t i = 0; i < kept.size(); ++i) kept[i] = predictor.kept(row, i);
      format.append(text, {.place = place,
                           .kept = kept,
                           .output = error.empty() ? predictor.output(row) : std::span<const float>(),
                           .error = error});
      out.write(text);
      text.clear();
    }
    if (flushes) out.flush();
  }
  out.write(text);
  bad.tell();
}

int run_predict(const PredictArguments& arguments, Session& session) {
  Predictor predictor({.model = arguments.model,
                       .data = arguments.data,
                       .overrides = arguments.overrides,
                       .data_place = {"--data"},
                       .keep = arguments.keep,
                       .keep_place = {"--keep"},
                       .bad_rows_stay = arguments.bad_rows != "fail",
                       .best = arguments.best},
                      read_catalog(arguments));
  for (const std::string& warning : predictor.warnings()) {
    write_to_stderr(cat("warning: ", escape_controls(warning), '\n'));
  }
  const PredictionText format = make_text(predictor, arguments);
  check_out("--out", arguments.out, predictor.input().files(), arguments.model);
  // The guard must outlive the file: without a guard, a signal would end the program and leave a half-written file.
  const auto guard = session.signals.while_running([&] { predictor.stop(); });
  std::optional<Output> file;
  if (!arguments.out.empty()) file.emplace(Output::file(arguments.out));
  write_predictions(predictor, arguments, format, file ? *file : session.out);
  const bool stopped = predictor.stopped();
  if (file && !stopped) file->close();
  session.out.flush();
  return stopped ? exit_code_of_signal(session.signals.received()) : static_cast<int>(kExitDone);
}

}  // namespace

Command predict_command() { return make_command(kPredictText, run_predict); }

}  // namespace millrace::cli

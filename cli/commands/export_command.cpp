#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/export/onnx_check.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/output.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/text_layout.h"
#include "millrace/core/errors.h"
#include "millrace/core/onnx/onnx_file.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/export/onnx_model.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/version.h"

namespace millrace::cli {

namespace {

constexpr CommandText kExportText = {
    "export", "Writes a saved model as an ONNX file, which other programs run.",
    "  trainer export --model FILE --onnx FILE [--check GLOB] [OPTIONS]",
    R"(The ONNX file goes from the columns of the data to what `trainer predict` says: defaults in place of
missing values, normalize, vocabulary, one_hot, dates, all layers, probabilities, and the texts of
classes. An input is a column, by its name: (rows, 1) of float32, float64 or texts. NaN and the
empty text are missing. Fields without names of columns are inputs as a whole. What ONNX cannot
express is an error that names the op or the layer. docs/export.md has the rules.

--check runs the model here, and the ONNX file in the onnxruntime of python3, on the rows of these
files. A value that differs by more than 1e-5 of its size (the largest of 1, the value, and what the
training divided its label by) is an error. So is a class that differs, unless its probability is as
near to the other's.

EXAMPLES:
  trainer export --model model.safetensors --onnx model.onnx
  trainer export --model iris.safetensors --onnx iris.onnx --check iris.csv
)",
    "trainer predict, docs/export.md"};

struct ExportArguments : PluginArguments {
  std::string model, onnx, check_data;
  bool best = false;

  void declare(Command& c) {
    c.text("--model", model, "FILE", "a saved model or a checkpoint");
    c.flag("--best", best, "of a checkpoint: the model of its best validation");
    PluginArguments::declare(c);
    c.heading("OUTPUT");
    c.text("--onnx", onnx, "FILE", "write the model to FILE, which appears whole or not at all");
    c.text("--check", check_data, "GLOB", "compare the answers of both on these rows");
  }
  void check(const Command&) {
    if (model.empty()) throw UsageError("--model is needed", {}, "--model FILE");
    if (onnx.empty()) throw UsageError("--onnx is needed", {}, "--onnx FILE");
    refuse_dash("--onnx", onnx);
  }
};

std::string ports_text(const std::vector<OnnxGraph::Port>& ports) {
  std::vector<std::string> names;
  for (const OnnxGraph::Port& port : ports) names.push_back(port.name);
  return join_first(std::move(names), 10);
}

void write_model(const ExportArguments& arguments, const OnnxModel& model) {
  OnnxFileArgs file{.producer = "Millrace", .version = std::string(version())};
  file.facts["config_sha256"] = model.config_hash;
  if (!model.answers.classes().empty()) {
    file.facts["classes"] = JsonText().value(model.answers.classes()).text();
  }
  Output out = Output::file(arguments.onnx);
  out.write(onnx_bytes(model.graph, file));
  out.close();
}

int run_export(const ExportArguments& arguments, Session& session) {
  const Catalog catalog = read_catalog(arguments);
  check_out("--onnx", arguments.onnx, {}, arguments.model);
  const OnnxModel model = onnx_model({.model = arguments.model, .best = arguments.best}, catalog);
  std::optional<Predictor> predictor;
  if (!arguments.check_data.empty()) {
    predictor.emplace(PredictorArgs{.model = arguments.model,
                                    .data = {arguments.check_data},
                                    .overrides = {"device=cpu"},
                                    .data_place = {"--check"},
                                    .keep = columns_to_keep(model),
                                    .keep_place = {"--check"},
                                    .bad_rows_stay = true,
                                    .best = arguments.best},
                      catalog);
    check_out("--onnx", arguments.onnx, predictor->input().files(), arguments.model);
  }
  write_model(arguments, model);
  session.out.write(escape_controls(cat(arguments.onnx, ": from ", ports_text(model.graph.inputs()), " to ",
                                        ports_text(model.graph.outputs()), ", ONNX opset ", model.graph.opset())) +
                    '\n');
  if (!predictor) return kExitDone;
  session.out.flush();
  OnnxRuntime runtime(arguments.onnx);
  const auto guard = session.signals.while_running([&] {
    predictor->stop();
    runtime.stop();
  });
  OnnxCheck check;
  try {
    check = check_onnx(*predictor, model, runtime);
  } catch (const Error&) {
    if (!predictor->stopped()) throw;
  }
  if (predictor->stopped()) return exit_code_of_signal(session.signals.received());
  session.out.write(check_text(check) + '\n');
  session.out.flush();
  if (check.rows == 0) throw DataError("no row was compared", {arguments.check_data});
  if (check.nan == check.rows) throw DataError("every answer is NaN, which proves nothing", {arguments.check_data});
  if (check.differ == 0) return kExitDone;
  throw DataError(cat("the ONNX file answers ", count_of(static_cast<int64_t>(check.differ), "row"),
                      " differently, the first: ", check.first),
                  {arguments.onnx}, "docs/export.md tells which texts only Millrace reads");
}

}  // namespace

Command export_command() { return make_command(kExportText, run_export); }

}  // namespace millrace::cli

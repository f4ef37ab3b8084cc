#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/report/json_events.h"
#include "millrace/cli/report/result_text.h"
#include "millrace/cli/rows/batch_json.h"
#include "millrace/cli/rows/csv_text.h"
#include "millrace/core/context.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/input/graph/graph_list.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/input/build_input.h"

namespace millrace::cli {

namespace {

constexpr CommandText kInputText = {"input", "Runs the input graph alone and prints or writes its batches.",
                                    R"(  trainer input --config FILE [OPTIONS]
  trainer input --config FILE --explain STEP)",
                                    R"(The configuration needs no model. Formats:
  jsonl  one line a batch:
         {"v":1,"batch":0,"size":2,"fields":{"label":[[1],[0]]},"rows":["a.csv:1","a.csv:7"]}
  csv    one line a row, each value in the column where decode_csv of this configuration looks for
         it, with a header line if csv_reader expects one: the same configuration, reading this
         file in order, gives equal batches; a value that no text can express is an error. Columns
         that no field uses are empty; fields that map or one_hot add come after the others. The
         graph changes again what it reads back, so leave out map in place, normalize, augment,
         skip, repeat, epochs and shuffle_batch then. Without csv_reader and decode_csv: a header
         (NAME, or NAME_0, NAME_1, ... for a field of several columns) and the fields in order.
  none   only the counts
The file of --out appears whole when the run is done, and not at all when it fails or is
interrupted; a pipe or a device is written as the batches come; - is standard output. --json adds a
last line with exact counts: rows, batches, dropped (left out by name), bad (left out for faults).

EXAMPLES:
  trainer input --config mlp.yaml --batches 1
  trainer input --config mlp.yaml --format csv --out rows.csv
  trainer input --config mlp.yaml --format none --json
  trainer input --config mlp.yaml --explain 2
)",
                                    "trainer ops, trainer check, docs/input_graph.md"};

struct InputArguments : ConfigArguments {
  std::optional<int64_t> batches, explain;
  std::string format = "jsonl", out;
  bool json = false;

  void declare(Command& c) {
    ConfigArguments::declare(c);
    c.heading("OUTPUT");
    c.number("--batches", batches, {.least = 0}, "stop after N batches");
    c.choice("--format", format, "jsonl|csv|none", "how batches are written, see below");
    c.text("--out", out, "FILE", "write the batches to FILE instead of standard output");
    c.flag("--json", json, "end with exact counts as a line of JSON on standard output");
    c.number("--explain", explain, {.least = 1}, "print file and line of every row of step N (from 1), nothing else");
  }
  void check(const Command& c) {
    if (out == "-") out.clear();  // "-" is standard output, as in other programs
    if (explain && (batches || c.option("--format")->given || !out.empty())) {
      throw UsageError("--explain prints no batches", {}, "leave out --batches, --format and --out");
    }
    if (format == "none" && !out.empty()) {
      throw UsageError("--format none writes no batches, so there is nothing for --out", {}, "leave out one of them");
    }
    ConfigArguments::check(c);
  }
};

void write_no_files(Spec& input, const OpRegistry& ops) {
  Spec resolved;
  const std::vector<GraphNode> nodes = read_graph_list(input, ops, resolved);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const OptionInfo* file = option_of(nodes[i], OptionUse::written_file);
    Spec* const options = input.item(i)->find(nodes[i].kind);
    if (file != nullptr && options != nullptr) options->erase(file->name);
  }
}

// The configuration. With --explain, its ops write no files.
Config configuration_of(const InputArguments& arguments, const Catalog& catalog) {
  const auto heeded = [&](const Spec& written) {
    Spec out = only_keys(written, {"seed", "threads", "input", "workers"});
    if (Spec* input = out.find("input"); input != nullptr && arguments.explain) write_no_files(*input, catalog.ops);
    return out;
  };
  Config config = read_config(read_configuration(arguments, catalog, heeded), catalog, ConfigUse::input);
  if (arguments.explain) write_no_files(config.input, catalog.ops);
  return config;
}

// A running graph and its newest batch.
struct InputRun {
  Pipeline& pipeline;
  RowBlock batch;

  bool next() { return pipeline.next(batch) > 0; }
  Place place(int64_t row) const { return pipeline.place(batch.id(row)); }
  std::vector<std::string> places() const {
    std::vector<std::string> out;
    for (int64_t row = 0; row < batch.size(); ++row) out.push_back(place(row).text());
    return out;
  }
};

void say(std::string_view text) { write_to_stderr(escape_controls(text) + '\n'); }

// Writes warnings, bad rows and the lines of `print` to standard error.
void tell_what_happens(const InputGraph& graph, PipelineOptions& options) {
  for (const std::string& warning : graph.warnings()) say("warning: " + warning);
  options.on_bad_row = [](const BadRow& bad) { say(cat("left out ", bad.place.text(), ": ", bad.reason)); };
  options.on_print = [](std::string_view text) { say(text); };
}

InputResult run_batches(InputRun& run, const InputArguments& arguments, Output& out) {
  std::optional<CsvText> csv;
  JsonText json;
  std::string text;
  if (arguments.format == "csv") {
    csv.emplace(csv_layout(run.pipeline.graph().text_columns(), run.pipeline.rows()));
    csv->append_head(text);
    out.write(text);
  }
  // If the data come through a pipe, the program that writes it may wait for our output.
  const bool flushes = run.pipeline.graph().reads_once();
  const auto began = std::chrono::steady_clock::now();
  InputResult result{.reason = "batches", .input = {}};
  for (int64_t index = 0; !arguments.batches || index < *arguments.batches; ++index) {
    if (!run.next()) {
      result.reason = run.pipeline.cancelled() ? "stopped" : "end of data";
      break;
    }
    if (arguments.format == "jsonl") {
      write_batch(json, index, run.batch, run.places());
      out.write(json.text());
      out.write("\n");
    } else if (csv) {
      text.clear();
      csv->append(text, run.batch, [&run](int64_t row) { return run.place(row); });
      out.write(text);
    }
    if (flushes) out.flush();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  result.input = run.pipeline.summary();
  return result;
}

// If the run fails or is stopped, there is no file; a pipe gets what was made until then.
InputResult write_file(InputRun& run, const InputArguments& arguments) {
  Output file = Output::file(arguments.out);
  try {
    InputResult result = run_batches(run, arguments, file);
    result.reason == "stopped" ? file.flush() : file.close();
    return result;
  } catch (...) {
    file.flush_quietly();
    throw;
  }
}

void explain(InputRun& run, const InputArguments& arguments, Output& out) {
  for (int64_t step = 1; step <= *arguments.explain; ++step) {
    if (run.next()) continue;
    if (run.pipeline.cancelled()) return;
    throw UsageError(
        cat("there is no step ", *arguments.explain, ": the data ends after ", count_of(step - 1, "step")));
  }
  if (arguments.json) {
    out.write(JsonText::event("explain").key("step").value(*arguments.explain).key("rows").value(run.places()).line());
    return;
  }
  for (const std::string& place : run.places()) out.write(escape_controls(place) + '\n');
}

int run_input(const InputArguments& arguments, Session& session) {
  const Catalog catalog = read_catalog(arguments);
  const Config config = configuration_of(arguments, catalog);
  Executor executor(config.threads);
  InputGraph graph = build_input(config, catalog);
  check_out("--out", arguments.out, graph.files(), arguments.config);
  PipelineOptions options;
  options.executor = &executor;
  if (!arguments.explain) tell_what_happens(graph, options);
  Pipeline pipeline(std::move(graph), std::move(options));
  InputRun run{pipeline, pipeline.make_slot()};
  const auto guard = session.signals.while_running([&pipeline] { pipeline.cancel(); });
  if (arguments.explain) {
    explain(run, arguments, session.out);
    session.out.flush();
    return exit_code_of_signal(session.signals.received());
  }
  InputResult result;
  if (arguments.out.empty()) {
    result = run_batches(run, arguments, session.out);
    session.out.flush();
  } else {
    result = write_file(run, arguments);
  }
  // Next to batches on standard output, the counts are only for people.
  const bool only_counts = arguments.format == "none" || !arguments.out.empty();
  if (arguments.json) {
    session.out.write(done_event(result));
  } else if (only_counts) {
    session.out.write(folded_for(STDOUT_FILENO, result_text(result)));
  } else {
    write_to_stderr(folded_for(STDERR_FILENO, result_text(result)));
  }
  session.out.flush();
  return exit_code_of_signal(session.signals.received());
}

}  // namespace

Command input_command() { return make_command(kInputText, run_input); }

}  // namespace millrace::cli

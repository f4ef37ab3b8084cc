#include <chrono>
#include <memory>
#include <optional>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/report/json_events.h"
#include "millrace/cli/report/result_text.h"
#include "millrace/cli/rows/batch_json.h"
#include "millrace/cli/rows/csv_text.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/executor.h"
#include "millrace/core/utf8.h"
#include "millrace/input/graph/graph_list.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/input/build_input.h"

namespace millrace {

namespace cli {
enum class BatchFormat : uint8_t { jsonl, csv, none };
}  // namespace cli

template <>
struct EnumNames<cli::BatchFormat> {
  static constexpr std::pair<std::string_view, cli::BatchFormat> kNames[] = {
      {"jsonl", cli::BatchFormat::jsonl}, {"csv", cli::BatchFormat::csv}, {"none", cli::BatchFormat::none}};
};

namespace cli {

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
  BatchFormat format = BatchFormat::jsonl;
  std::string out;
  bool json = false;

  void declare(Command& c) {
    ConfigArguments::declare(c);
    c.heading("OUTPUT");
    c.number("--batches", batches, {.least = 0}, "stop after N batches");
    c.choice("--format", format, "how batches are written, see below");
    c.text("--out", out, "FILE", "write the batches to FILE instead of standard output");
    c.flag("--json", json, "end with exact counts as a line of JSON on standard output");
    c.number("--explain", explain, {.least = 1}, "print file and line of every row of step N (from 1), nothing else");
  }
  void check(const Command& c) {
    if (out == "-") out.clear();  // as other programs have it
    if (explain && (batches || c.given("--format") || !out.empty())) {
      throw UsageError("--explain prints no batches", {}, "leave out --batches, --format and --out");
    }
    ConfigArguments::check(c);
  }
};

constexpr std::string_view kKeysRead[] = {"seed", "threads", "input"};

void write_no_files(Spec& input, const OpRegistry& ops) {
  Spec resolved;
  const std::vector<GraphNode> nodes = read_graph_list(input, ops, resolved);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const OptionInfo* file = option_of(nodes[i], OptionUse::written_file);
    Spec* const options = input.item(i)->find(nodes[i].kind);
    if (file != nullptr && options != nullptr) options->erase(file->name);
  }
}

// The configuration; what only explains writes no file of its own.
Config configuration_of(const InputArguments& arguments, const Catalog& catalog) {
  Config config = read_config(read_configuration(arguments), catalog, ConfigUse::input);
  if (arguments.explain) write_no_files(config.input, catalog.ops);
  return config;
}

// The graph of a configuration, running.
class InputRun {
 public:
  explicit InputRun(const InputArguments& arguments) : InputRun(arguments, read_catalog(arguments)) {}
  InputRun(const InputArguments& arguments, const Catalog& catalog)
      : config_(configuration_of(arguments, catalog)),
        tells_(!arguments.explain),
        executor_(config_.threads),
        graph_(build_input(config_, catalog)),
        warnings_(warnings_of_unread(arguments.overrides, kKeysRead)) {
    warnings_.insert(warnings_.end(), graph_.warnings().begin(), graph_.warnings().end());
  }

  const InputGraph& graph() const { return pipeline_ ? pipeline_->graph() : graph_; }

  void start() {
    PipelineOptions options;
    options.executor = &executor_;
    if (tells_) {
      for (const std::string& warning : warnings_) say("warning: " + warning);
      options.on_bad_row = [](const BadRow& bad) { say(cat("left out ", bad.place.text(), ": ", bad.reason)); };
      options.on_print = [](std::string_view text) { say(text); };
    }
    pipeline_ = std::make_unique<Pipeline>(std::move(graph_), std::move(options));
    make_batch();
  }

  Pipeline& pipeline() { return *pipeline_; }
  const RowBlock& batch() const { return batch_; }
  bool next() { return pipeline_->next(batch_) > 0; }

  Place place(int64_t row) const { return pipeline_->place(batch_.id(row)); }
  // Where each row of the batch came from.
  const std::vector<std::string>& places() {
    places_.clear();
    for (int64_t row = 0; row < batch_.size(); ++row) places_.push_back(place(row).text());
    return places_;
  }

 private:
  void make_batch() {
    try {
      batch_ = pipeline_->make_slot();
    } catch (const DeviceError& error) {
      const auto key = pipeline_->graph().batch_rows();
      if (!key) throw;
      throw DeviceError(cat(key->path, ": a batch of ", pipeline_->batch_size(), " rows: ", error.message()),
                        key->place, cat("lower ", key->name));
    }
  }

  static void say(std::string_view text) { write_to_stderr(escape_controls(text) + '\n'); }

  const Config config_;
  const bool tells_;  // what happens on the way, on standard error
  Executor executor_;
  InputGraph graph_;  // moved into the pipeline by start()
  std::vector<std::string> warnings_;
  std::unique_ptr<Pipeline> pipeline_;
  RowBlock batch_;
  std::vector<std::string> places_;
};

// Writes batches in the format that was asked for.
class BatchWriter {
 public:
  BatchWriter(BatchFormat format, InputRun& run, Output& out) : format_(format), run_(run), out_(out) {
    if (format_ != BatchFormat::csv) return;
    csv_.emplace(csv_layout(run_.graph().text_columns(), run_.pipeline().rows()));
    csv_->append_head(text_);
    out_.write(text_);
  }

  void write(int64_t index) {
    if (format_ == BatchFormat::jsonl) {
      write_batch(json_, index, run_.batch(), run_.places());
      out_.write(json_.text());
      out_.write("\n");
    } else if (format_ == BatchFormat::csv) {
      text_.clear();
      csv_->append(text_, run_.batch(), [this](int64_t row) { return run_.place(row); });
      out_.write(text_);
    }
  }

 private:
  BatchFormat format_;
  InputRun& run_;
  Output& out_;
  std::optional<CsvText> csv_;
  JsonText json_;
  std::string text_;
};

InputResult run_batches(InputRun& run, const InputArguments& arguments, Output& out) {
  BatchWriter writer(arguments.format, run, out);
  // Who writes a pipe into this one may wait for what comes out.
  const bool flushes = run.graph().reads_once();
  const auto began = std::chrono::steady_clock::now();
  InputResult result{.reason = "batches", .input = {}};
  for (int64_t index = 0; !arguments.batches || index < *arguments.batches; ++index) {
    if (!run.next()) {
      result.reason = run.pipeline().cancelled() ? "stopped" : "end of data";
      break;
    }
    writer.write(index);
    if (flushes) out.flush();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  result.input = run.pipeline().summary();
  return result;
}

// A run that fails or is stopped leaves no file; a pipe has got what came before.
InputResult write_file(InputRun& run, const InputArguments& arguments) {
  Output file = Output::file(arguments.out);
  try {
    InputResult result = run_batches(run, arguments, file);
    result.reason == "stopped" ? file.flush() : file.close();
    return result;
  } catch (const Error&) {
    file.flush_quietly();
    throw;
  }
}

void explain(InputRun& run, const InputArguments& arguments, Output& out) {
  for (int64_t step = 1; step <= *arguments.explain; ++step) {
    if (run.next()) continue;
    if (run.pipeline().cancelled()) return;
    throw UsageError(
        cat("there is no step ", *arguments.explain, ": the data ends after ", count_of(step - 1, "step")));
  }
  JsonText json;
  json.open('{').key("v").value(1).key("event").value("explain").key("step").value(*arguments.explain);
  json.key("rows").open('[');
  for (const std::string& place : run.places()) {
    arguments.json ? static_cast<void>(json.value(place)) : out.write(escape_controls(place) + '\n');
  }
  json.close(']').close('}');
  if (arguments.json) out.write(json.text() + '\n');
}

int finish(Session& session) {
  session.out.flush();
  return exit_code_of_signal(session.signals.received());
}

int run_input(const InputArguments& arguments, Session& session) {
  InputRun run(arguments);
  check_out("--out", arguments.out, run.graph().files(), arguments.config);
  run.start();
  const auto guard = session.signals.while_running([&run] { run.pipeline().cancel(); });
  if (arguments.explain) {
    explain(run, arguments, session.out);
    return finish(session);
  }
  InputResult result;
  if (arguments.out.empty()) {
    result = run_batches(run, arguments, session.out);
    session.out.flush();
  } else {
    result = write_file(run, arguments);
  }
  // Numbers that were asked for are results; beside batches they are only words for people.
  const bool only_counts = arguments.format == BatchFormat::none || !arguments.out.empty();
  if (arguments.json) {
    session.out.write(done_event(result));
  } else if (only_counts) {
    session.out.write(result_text(result));
  } else {
    write_to_stderr(result_text(result));
  }
  return finish(session);
}

}  // namespace

Command input_command() { return make_command(kInputText, run_input); }

}  // namespace cli
}  // namespace millrace

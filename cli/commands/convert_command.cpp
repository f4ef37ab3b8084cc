#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/convert/row_files.h"
#include "millrace/cli/convert/row_writer.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/report/json_events.h"
#include "millrace/cli/report/result_text.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/clock.h"
#include "millrace/core/context.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/input/files/glob.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/trainer/input/pass_input.h"

namespace millrace::cli {

namespace {

constexpr CommandText kConvertText = {
    "convert", "Writes the rows of the input graph to files that Millrace reads again.",
    "  trainer convert --config FILE --to csv|npz|tfrecord --out FILE [OPTIONS]",
    R"(The configuration needs no model. Its data are read once and in order: no shuffling, no repeat,
every row, also those that hold_out keeps from a training; bad rows fare as on_bad_row says. The
files hold what the ops make of the rows, and reading them gives the same bits. At the end it prints
the lines of a configuration that read them. Leave out there what the rows have passed already, as
normalize and map. docs/formats.md says how each type of field is written. Formats:
  csv       a header, then a line for each row
  npz       an array of NumPy for each field; no texts, no fields whose length differs by row
  tfrecord  a tf.Example for each row, with a feature for each field
A file appears whole or not at all: not if there is an error, a full disk or a signal. With --rows,
FILE gets a number before its ending (a.csv: a-00000.csv, a-00001.csv, ..), and no file of such a
name may be there: it would be read with the new ones.

EXAMPLES:
  trainer convert --config mlp.yaml --to npz --out mlp.npz
  trainer convert --config mlp.yaml --to csv --out parts.csv --rows 100000
  trainer convert --config mlp.yaml --data "new/*.csv" --to npz --out new.npz --json
)",
    "trainer input, docs/formats.md"};

struct ConvertArguments : ConfigArguments {
  std::string to;
  RowFilesPath out;
  std::vector<std::string> data;
  bool held_out = false, json = false, quiet = false;

  void declare(Command& c) {
    ConfigArguments::declare(c);
    c.texts("--data", data, "GLOB", "the files to read, instead of the configuration's; may be repeated");
    c.flag("--held-out", held_out, "only rows that hold_out keeps from a training");
    c.heading("OUTPUT");
    c.choice("--to", to, row_formats(), "the format of the files, see below");
    c.text("--out", out.path, "FILE", "the file to write");
    c.number("--rows", out.rows, {.least = 1}, "write several files of N rows each");
    c.flag("--json", json, "print the result as one line of JSON");
    c.flag("-q,--quiet", quiet, "no progress, no warnings, no bad rows on standard error");
  }
  void check(const Command& c) {
    ConfigArguments::check(c);
    const std::string usage = cat(c.line(), " --config FILE --to csv --out FILE");
    if (to.empty()) throw UsageError("no format is given", {}, usage);
    if (out.path.empty()) throw UsageError("no file to write is given", {}, usage);
    refuse_dash("--out", out.path);
    // Programs would take the file for what its name says.
    for (const std::string_view format : {"csv", "npz", "npy", "tfrecord", "gz", "zst"}) {
      if (format == to || !out.path.ends_with(cat('.', format))) continue;
      throw UsageError(cat("--out ", quote(out.path, 4096), " ends in .", format, ", but --to is ", to), {},
                       cat("give it the ending .", to));
    }
  }
};

// Says on standard error what happens, and how far the conversion is.
class ConvertProgress {
 public:
  // No line in a log: it could not be written over.
  explicit ConvertProgress(bool quiet) : quiet_(quiet), status_(quiet || !is_terminal(STDERR_FILENO)) {}

  void say(std::string_view text) {
    if (!quiet_) status_.write_above(escape_controls(text));
  }
  void show(const Pipeline& pipeline) {
    constexpr double kBetween = 0.1;  // seconds
    if (seconds() - shown_ < kBetween) return;
    shown_ = seconds();
    const std::optional<double> share = pipeline.share();
    status_.show("converting", cat(share ? cat(format_share(*share), "  ") : "", pipeline.summary().rows, " rows"));
  }
  void show_end() { status_.show("converting", "writing the last of it"); }
  double seconds() const { return static_cast<double>(nanoseconds_since(began_)) / 1e9; }

 private:
  const bool quiet_;
  StatusLine status_;
  const Clock::time_point began_ = Clock::now();
  double shown_ = 0;
};

PassInput conversion_pass(const ConvertArguments& arguments, const Spec& input, const Catalog& catalog) {
  return pass_input({.input = input,
                     .registry = catalog.ops,
                     .files = named_files(arguments.data, {"--data"}),
                     .held_out = arguments.held_out,
                     .own_bad_rows = true});
}

Config conversion_config(const ConvertArguments& arguments, const Catalog& catalog) {
  const auto heeded = [&](const Spec& written) {
    Spec out = only_keys(written, {"seed", "threads"});
    if (const Spec* input = written.find("input")) out.set("input", conversion_pass(arguments, *input, catalog).list);
    return out;
  };
  return read_config(read_configuration(arguments, catalog, heeded), catalog, ConfigUse::input);
}

// Throws UsageError if files would be lost, or would be read together with the new ones.
void check_targets(const ConvertArguments& arguments, const InputGraph& graph) {
  if (!arguments.out.rows) return check_out("--out", arguments.out.path, graph.files(), arguments.config);
  const std::vector<std::string> there = glob_paths(arguments.out.pattern());
  if (there.empty()) return;
  throw UsageError(cat("--out ", quote(arguments.out.path, 4096), ": there is ", quote(there.front(), 4096),
                       " already, which would be read together with the new files"),
                   {}, "remove such files, or give it another name");
}

// The list of ops that reads the files, in their order. Throws ConfigError if no YAML can have it.
Spec readers_of(const RowFilesPath& out, const RowWriter& writer) {
  Spec names = Spec::map().set("files", out.pattern());
  if (out.rows) names.set("shuffle", false);
  names.set("epochs", 1);
  Spec list = Spec::list().append(Spec::map().set("filename_queue", std::move(names)));
  const Spec readers = writer.readers();
  for (const Spec& op : readers.items()) list.append(op);
  (void)to_yaml(list);
  return list;
}

struct ConvertResult {
  bool whole = false;  // or stopped
  const RowFiles& files;
  InputSummary input;
  Spec readers;  // the list of ops that reads the files again
  double seconds = 0;

  std::string_view reason() const { return whole ? "end of data" : "stopped"; }
};

std::string convert_text(const ConvertResult& result) {
  std::string out = cat(result.reason(), ": ", count_of(static_cast<int64_t>(result.files.rows()), "row"), ", ",
                        count_of(std::ssize(result.files.files()), "file"), " in ", format_seconds(result.seconds));
  if (result.seconds > 0) {
    out += cat(" (", format_rate(static_cast<double>(result.files.rows()) / result.seconds), " rows/s)");
  }
  out = folded_for(STDOUT_FILENO, cat(out, '\n', left_out_text(result.input), '\n'));
  if (result.whole) {
    out += cat("a configuration reads them by:\n\n", to_yaml(Spec::map().set("input", result.readers)));
  }
  return out;
}

std::string convert_event(const ConvertResult& result) {
  JsonText json = JsonText::event("convert");
  json.key("reason").value(result.reason()).key("rows").value(result.files.rows());
  json.key("files").value(result.files.files()).key("dropped").value(dropped_rows(result.input));
  json.key("bad").value(result.input.bad_rows).key("input").value(result.readers);
  return json.key("seconds").value(result.seconds).line();
}

int run_convert(const ConvertArguments& arguments, Session& session) {
  const Catalog catalog = read_catalog(arguments);
  const Config config = conversion_config(arguments, catalog);
  Executor executor(config.threads);
  InputGraph graph =
      conversion_pass(arguments, config.input, catalog).build(catalog.ops, config.seed, arguments.config);
  const auto writer = make_row_writer(arguments.to, {.rows = graph.output().rows, .from = graph.text_columns()});
  check_targets(arguments, graph);
  Spec readers = readers_of(arguments.out, *writer);

  ConvertProgress progress(arguments.quiet);
  for (const std::string& warning : graph.warnings()) progress.say("warning: " + warning);
  Pipeline pipeline(
      std::move(graph),
      {.executor = &executor,
       .on_bad_row = [&](const BadRow& bad) { progress.say(cat("left out ", bad.place.text(), ": ", bad.reason)); },
       .on_print = [&](std::string_view text) { progress.say(text); }});
  // It outlives the files: without it, a signal ends the program at once.
  const auto guard = session.signals.while_running([&] { pipeline.cancel(); });
  RowFiles files(*writer, arguments.out);
  RowBlock batch = pipeline.make_slot();
  const auto place = [&](int64_t row) { return pipeline.place(batch.id(row)); };
  while (pipeline.next(batch) > 0) {
    files.write({&batch, 0, batch.size()}, place);
    progress.show(pipeline);
  }
  progress.show_end();
  const bool whole = !pipeline.cancelled();
  if (whole) files.finish();
  const ConvertResult result{whole, files, pipeline.summary(), std::move(readers), progress.seconds()};
  session.out.write(arguments.json ? convert_event(result) : convert_text(result));
  return whole ? static_cast<int>(kExitDone) : exit_code_of_signal(session.signals.received());
}

}  // namespace

Command convert_command() { return make_command(kConvertText, run_convert); }

}  // namespace millrace::cli

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/compare/compare_text.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/atomic_file.h"
#include "millrace/trainer/files/files_in_use.h"

namespace millrace::cli {

namespace {

constexpr CommandText kCompareText = {
    "compare", "Trains with one delivery after another and says what each takes, and why.",
    R"(  trainer compare --config FILE [OPTIONS]
  trainer compare FILE [OPTIONS])",
    R"(A delivery is how a batch reaches the step: fed by the thread that trains, through a queue, or
natively. The same training runs with each of them in turn, round after round; the key compare says
which, how often, and how many first steps are not timed. Without it: feed, queue, staging, native
and constant, five times. The table has medians; *of its bound* is the time divided by the time that
the threads could do it in at best, which follows from what a step and a batch take alone. Weights
must be equal; only constant, which repeats one batch, has others. Nothing is validated or saved.

EXAMPLES:
  trainer compare --config mlp.yaml
  trainer compare --config mlp.yaml --set train.steps=40 --html compare.html
  trainer compare --config mlp.yaml --set compare.rounds=2 --json compare.json
)",
    "trainer speed, trainer config compare, docs/queue_vs_feed.md"};

struct CompareArguments : ConfigArguments {
  std::string json_file, html_file;
  bool quiet = false;

  void declare(Command& c) {
    ConfigArguments::declare(c);
    c.heading("OUTPUT");
    c.text("--json", json_file, "FILE", "write what was found to FILE, as JSON; - is standard output");
    c.text("--html", html_file, "FILE", "write it to FILE, as a page with charts");
    c.flag("-q,--quiet", quiet, "do not say which round it is");
  }
  void check(const Command& c) {
    ConfigArguments::check(c);
    refuse_dash("--html", html_file);
  }
};

void write_file(const std::string& path, const std::string& text) {
  Output out = Output::file(path);
  out.write(text);
  out.close();
}

// Called before anything is printed, because the reader of the output may be slow, and a signal may come meanwhile.
void write_comparison(const CompareArguments& arguments, const Comparison& found) {
  const bool json = !arguments.json_file.empty() && arguments.json_file != "-";
  if (json) write_file(arguments.json_file, compare_json(found));
  if (!arguments.html_file.empty()) write_file(arguments.html_file, compare_page(found));
}

void print_comparison(const CompareArguments& arguments, const Comparison& found, Output& out) {
  const bool json = arguments.json_file == "-";
  if (json) write_to_stderr(compare_text(found));
  out.write(json ? compare_json(found) : compare_text(found));
  out.flush();
}

// Called before the comparison; throws if its result could not be written.
void check_files(const CompareArguments& arguments, const InputFiles& files) {
  for (const std::string& path : {arguments.json_file, arguments.html_file}) {
    if (path.empty() || path == "-") continue;
    check_out("writing", path, files, arguments.config);
    check_writable(path);
  }
  const bool both = !arguments.json_file.empty() && !arguments.html_file.empty();
  if (both && same_file(arguments.json_file, arguments.html_file)) {
    throw UsageError("--json and --html name the same file");
  }
}

int run_compare(const CompareArguments& arguments, Session& session) {
  const Catalog catalog = read_catalog(arguments);
  const auto heeded = [](Spec config) {
    for (const char* key : {"save", "checkpoint", "log", "validation", "delivery"}) config.erase(key);
    return config;
  };
  Comparer comparer(read_configuration(arguments, catalog, heeded), catalog);
  check_files(arguments, comparer.files());
  std::stop_source stop;
  // The guard lives until everything is written, so that a late signal does not lose the files.
  const auto guard = session.signals.while_running([&stop] { stop.request_stop(); });
  std::optional<Comparison> found;
  {
    StatusLine status(arguments.quiet);
    found = comparer.run(
        {.stop = stop.get_token(), .on_training = [&status](int64_t round, int64_t rounds, std::string_view name) {
           status.show(round == 0 ? std::string("warming up") : cat("round ", round, " of ", rounds), name);
         }});
  }
  if (!found) return exit_code_of_signal(session.signals.received());
  try {
    write_comparison(arguments, *found);
  } catch (...) {
    try {
      print_comparison(arguments, *found, session.out);
    } catch (...) {
      // Only the failure that came first is reported.
    }
    throw;
  }
  print_comparison(arguments, *found, session.out);
  if (!found->equal_weights()) {
    throw InternalError("deliveries of the same batches ended with other weights", {}, "please report this");
  }
  return kExitDone;
}

}  // namespace

Command compare_command() { return make_command(kCompareText, run_compare); }

}  // namespace millrace::cli

#include <unistd.h>

#include <optional>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/verify/verification.h"
#include "millrace/cli/verify/verify_text.h"

namespace millrace::cli {

namespace {

constexpr CommandText kVerifyResumeText = {
    "verify-resume", "Kills and resumes a training, and shows that its weights stay the same.",
    R"(  trainer verify-resume --config FILE [OPTIONS]
  trainer verify-resume FILE [OPTIONS])",
    R"(Trains once without interruption, and again in processes that are killed: at random moments, and
before each call by which a checkpoint is written. Each time the training is resumed with other
threads, another delivery and other sizes of chunks and buffers, which change no result. It shows
that steps, validations, logs and the saved model are the same to the last bit. If they are not, the
exit code is 70, and the files of both trainings stay, for a report of the fault.

It says first how long it will take. The training needs an end, such as train.steps; checkpoints are
written about thirty times, whatever the configuration says. All files are written in a temporary
folder, in TMPDIR if that is set: model, checkpoints, logs, the file of bad rows.

EXAMPLES:
  trainer verify-resume --config mlp.yaml --set train.steps=40 --kills 3
  trainer verify-resume mlp.yaml --set train.steps=40 --kills 2 --seed 7 --keep trainings --json
)",
    "trainer train, docs/checkpoints.md"};

struct VerifyResumeArguments : ConfigArguments {
  int64_t kills = 20;
  int64_t seed = 1;
  std::string keep;
  bool json = false;
  bool quiet = false;

  void declare(Command& c) {
    ConfigArguments::declare(c);
    c.heading({});
    c.number("--kills", kills, {.least = 1, .most = 1000000}, "how often the training is killed");
    c.number("--seed", seed, {.least = 0}, "for the moments of the kills and what each resume changes");
    c.heading("OUTPUT");
    c.text("--keep", keep, "DIR", "keep the files of all trainings in DIR, a new or empty folder");
    c.flag("--json", json, "print the result as one line of JSON");
    c.flag("-q,--quiet", quiet, "do not say what is done");
  }
  void check(const Command& c) {
    ConfigArguments::check(c);
    refuse_dash("--keep", keep);
  }

  // The words of a command line for a training of the same configuration.
  std::vector<std::string> words() const {
    std::vector<std::string> out = {"--config", config};
    for (const std::string& plugin : plugins) out.insert(out.end(), {"--plugin", plugin});
    for (const std::string& setting : overrides) out.insert(out.end(), {"--set", setting});
    return out;
  }
};

int run_verify_resume(const VerifyResumeArguments& arguments, Session& session) {
  const Catalog catalog = read_catalog(arguments);
  // The verification sets these keys itself, so a user's setting would change nothing.
  const auto heeded = [](Spec config) {
    for (const char* key : {"checkpoint", "compare", "log", "save"}) config.erase(key);
    return config;
  };
  const Spec config = read_configuration(arguments, catalog, heeded);
  std::optional<VerifyReport> report;
  {
    StatusLine status(arguments.quiet);
    // The handler does nothing: the verification itself asks whether a signal came.
    const auto guard = session.signals.while_running([] {});
    report = verify_resume(
        config, catalog,
        {.words = arguments.words(),
         .kills = arguments.kills,
         .seed = static_cast<uint64_t>(arguments.seed),
         .keep = arguments.keep,
         .tell = [&status](std::string_view what, std::string_view detail) { status.show(what, detail); }});
  }
  if (!report) return exit_code_of_signal(session.signals.received());
  session.out.write(arguments.json ? verify_event(*report) : folded_for(STDOUT_FILENO, verify_text(*report)));
  return report->equal() ? kExitDone : kExitInternal;
}

}  // namespace

Command verify_resume_command() { return make_command(kVerifyResumeText, run_verify_resume); }

}  // namespace millrace::cli

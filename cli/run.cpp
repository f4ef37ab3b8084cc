#include "millrace/cli/run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "millrace/cli/arguments/arguments.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/help/help.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/report/failure.h"

namespace millrace::cli {

namespace {

// Takes the numbers of standard streams that the caller closed, so that no file of ours is written to as one of them.
// /dev/null is opened the wrong way round: what is written to a closed stream is an error, not lost in silence.
void occupy_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

int run_command(const Arguments& arguments, Session& session) {
  switch (arguments.command) {
    case Command::nothing: write_to_stderr(short_help()); return kExitUsage;
    case Command::help: session.out.write(arguments.text); return kExitDone;
    case Command::version: return run_version(session);
    case Command::train: return run_train(arguments, session);
    case Command::init: return run_init(arguments, session);
    case Command::check: return run_check(arguments, session);
    case Command::input: return run_input(arguments, session);
    case Command::speed: return run_speed(arguments, session);
    case Command::compare: return run_compare(arguments, session);
    case Command::evaluate: return run_evaluate(arguments, session);
    case Command::predict: return run_predict(arguments, session);
    case Command::generate_sum: return run_generate_sum(arguments, session);
    case Command::generate_images: return run_generate_images(arguments, session);
    case Command::ops: return run_ops(arguments, session);
    case Command::layers: return run_layers(arguments, session);
    case Command::config: return run_config(arguments, session);
    case Command::schema: return run_schema(arguments, session);
    case Command::completion: return run_completion(arguments, session);
    case Command::doctor: return run_doctor(arguments, session);
    case Command::man: return run_man(session);
  }
  return kExitUsage;
}

int report(const std::exception& error, bool json, Output& out) {
  const Failure failure = describe_failure(error);
  out.flush_quietly();  // what came before the failure
  write_to_stderr(failure_text(failure, wants_color(STDERR_FILENO)));
  if (!json) return failure.exit_code;
  try {
    out.write(failure_event(failure));
    out.flush();
  } catch (const IoError&) {
    // The failure that came first is the one to tell.
  }
  return failure.exit_code;
}

}  // namespace

int run(const std::vector<std::string>& words) {
  occupy_standard_streams();
  // Looked for in the raw words, because a command line that does not parse is reported as JSON too.
  const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
  Output out = Output::standard();
  try {
    SignalWatcher signals;
    Session session{out, signals};
    const int code = run_command(parse_arguments(words), session);
    out.flush();
    return code;
  } catch (const OutputClosed&) {
    return kExitDone;
  } catch (const std::exception& error) {
    return report(error, json, out);
  }
}

}  // namespace millrace::cli

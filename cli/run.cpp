#include "millrace/cli/run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <optional>
#include <span>

#include "millrace/cli/arguments/parse.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/help/help.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/report/failure.h"

namespace millrace::cli {

namespace {

// Opens the standard streams that the caller closed, so that no file that is opened later gets their numbers.
// /dev/null is opened the wrong way round, so that writing to a closed stream is an error, and text is not lost
// silently.
void occupy_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

int run_words(std::span<const std::string> words, Session& session) {
  const Command all = program();
  if (words.empty()) {
    write_to_stderr(short_help(all));
    return kExitUsage;
  }
  if (words.front() == kCompletionWord) {
    session.out.write(completions(words.subspan(1), all));
    return kExitDone;
  }
  const auto [command, help] = parse(words, all);
  if (!help) return command.run(session);
  session.out.write(help_page(command));
  return kExitDone;
}

// Everything that needs memory is made before anything is written.
int report(const Error& failure, bool json, Output& out) {
  const std::string text = failure_text(failure, wants_color(STDERR_FILENO));
  const std::string event = json ? failure_event(failure) : std::string();
  out.flush_quietly();  // writes what came before the failure
  write_to_stderr(text);
  (void)Stream::standard(STDOUT_FILENO).write(event);  // only the failure that came first is reported
  return exit_code(failure);
}

// Reports that there is no memory; needs none.
int report_without_memory(bool json) noexcept {
  // No thread takes the signals any more, and this output may have no reader: let signals end the program.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
  write_to_stderr("error: out of memory\n");
  if (json) (void)Stream::standard(STDOUT_FILENO).write(kOutOfMemoryEvent);
  return kExitInternal;
}

int run_and_report(const std::vector<std::string>& words, bool json) {
  Output out = Output::standard();
  // Lives until the end, because a signal must also end a report that nobody reads.
  std::optional<SignalWatcher> signals;
  try {
    signals.emplace();
    Session session{out, *signals};
    const int code = run_words(words, session);
    out.flush();
    return code;
  } catch (const OutputClosed&) {
    return exit_code_of_signal(signals->received());
  } catch (const OutputStopped&) {
    return exit_code_of_signal(signals->received());
  } catch (...) {
    try {
      std::rethrow_exception(reported(std::current_exception()));
    } catch (const Error& error) {
      return report(error, json, out);
    }
  }
}

}  // namespace

int run(int count, const char* const* words) noexcept {
  bool json = false;
  try {
    occupy_standard_streams();
    const std::vector<std::string> all(words, words + count);
    // The raw words are searched, because a command line that does not parse is reported as JSON, too.
    json = std::find(all.begin(), all.end(), "--json") != all.end();
    return run_and_report(all, json);
  } catch (...) {
    // There was no memory for the report.
    return report_without_memory(json);
  }
}

}  // namespace millrace::cli

#include <unistd.h>

#include <fmt/format.h>

#include "millrace/core/errors.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/cli/commands.h"
#include "millrace/trainer/cli/compare_page.h"
#include "millrace/trainer/cli/compare_text.h"
#include "millrace/trainer/cli/configuration.h"
#include "millrace/trainer/cli/exit_code.h"
#include "millrace/trainer/cli/terminal.h"

namespace millrace::cli {

namespace {

// One line that is written over on a terminal, else a line a round.
class RoundProgress {
 public:
  explicit RoundProgress(bool quiet) : quiet_(quiet), live_(is_terminal(STDERR_FILENO)) {}
  ~RoundProgress() { clear(); }
  RoundProgress(const RoundProgress&) = delete;
  RoundProgress& operator=(const RoundProgress&) = delete;

  void show(int64_t round, int64_t rounds, std::string_view name) {
    const std::string line =
        round == 0 ? fmt::format("warming up: {}", name) : fmt::format("round {} of {}: {}", round, rounds, name);
    if (quiet_) return;
    if (live_) {
      write_to_stderr("\r\x1b[K" + cut_to_width(escape_controls(line), terminal_width(STDERR_FILENO) - 1));
    } else if (round != round_) {
      write_to_stderr(round == 0 ? "warming up\n" : fmt::format("round {} of {}\n", round, rounds));
    }
    round_ = round;
  }
  void clear() {
    if (!quiet_ && live_ && round_ >= 0) write_to_stderr("\r\x1b[K");
    round_ = -1;
  }

 private:
  const bool quiet_, live_;
  int64_t round_ = -1;
};

void write_file(const std::string& path, const std::string& text) {
  Output out = Output::file(path);
  out.write(text);
  out.close();
}

}  // namespace

int run_compare(const Arguments& arguments, Session& session) {
  Comparer comparer(read_configuration(arguments));
  std::optional<Comparison> found;
  {
    RoundProgress progress(arguments.quiet);
    const auto guard = session.signals.while_running([&comparer] { comparer.stop(); });
    found = comparer.run({.on_training = [&progress](int64_t round, int64_t rounds, std::string_view name) {
      progress.show(round, rounds, name);
    }});
  }
  if (!found) return exit_code_of_signal(session.signals.received());
  const std::string text = compare_text(*found);
  const bool json_out = arguments.json_file == "-";
  if (json_out) {
    write_to_stderr(text);
    session.out.write(compare_json(*found));
  } else {
    session.out.write(text);
    if (!arguments.json_file.empty()) write_file(arguments.json_file, compare_json(*found));
  }
  session.out.flush();
  if (!arguments.html_file.empty()) write_file(arguments.html_file, compare_page(*found));
  if (!found->equal_weights()) {
    throw InternalError("deliveries of the same batches ended with other weights", {}, "please report this");
  }
  return kExitDone;
}

}  // namespace millrace::cli

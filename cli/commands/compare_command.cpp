#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/compare/compare_page.h"
#include "millrace/cli/compare/compare_text.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/status_line.h"
#include "millrace/cli/process/usage_error.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/atomic_file.h"
#include "millrace/trainer/files/files_in_use.h"

namespace millrace::cli {

namespace {

void write_file(const std::string& path, const std::string& text) {
  Output out = Output::file(path);
  out.write(text);
  out.close();
}

// Finds out before the comparison that its result could not be written.
void check_files(const Arguments& arguments, const InputFiles& files) {
  for (const std::string& path : {arguments.json_file, arguments.html_file}) {
    if (path.empty() || path == "-") continue;
    const std::string loss = would_overwrite(path, files, arguments.config);
    if (!loss.empty()) throw UsageError(cat("writing ", quote(path, 4096), ' ', loss), {}, "give it another name");
    check_writable(path);
  }
  const bool both = !arguments.json_file.empty() && !arguments.html_file.empty();
  if (both && same_file(arguments.json_file, arguments.html_file)) {
    throw UsageError("--json and --html name the same file");
  }
}

}  // namespace

int run_compare(const Arguments& arguments, Session& session) {
  Comparer comparer(read_configuration(arguments), read_catalog(arguments));
  check_files(arguments, comparer.files());
  std::optional<Comparison> found;
  {
    StatusLine status(arguments.quiet);
    const auto guard = session.signals.while_running([&comparer] { comparer.stop(); });
    found = comparer.run({.on_training = [&status](int64_t round, int64_t rounds, std::string_view name) {
      status.show(round == 0 ? std::string("warming up") : cat("round ", round, " of ", rounds), name);
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

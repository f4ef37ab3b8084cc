#include <stop_token>

#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/cli/commands.h"
#include "millrace/trainer/cli/exit_code.h"
#include "millrace/trainer/cli/number_format.h"
#include "millrace/trainer/generate.h"

namespace millrace::cli {

int run_generate_sum(const Arguments& arguments, Session& session) {
  std::stop_source stop;
  const auto guard = session.signals.while_running([&stop] { stop.request_stop(); });
  const GenerateResult result = generate_sum({.folder = arguments.out,
                                              .files = arguments.files,
                                              .rows = arguments.rows,
                                              .features = arguments.features,
                                              .seed = arguments.seed,
                                              .force = arguments.force,
                                              .stop = stop.get_token()});
  const auto files = static_cast<int64_t>(result.paths.size());
  session.out.write(cat(result.stopped ? "stopped: wrote " : "wrote ", count_of(files, "file"), ", ",
                        count_of(files * arguments.rows, "row"), " (", result.rows_of_label[1], " with label 1), ",
                        format_bytes(result.bytes), " in ", escape_controls(arguments.out), '\n'));
  session.out.flush();
  return result.stopped ? exit_code_of_signal(session.signals.received()) : static_cast<int>(kExitDone);
}

}  // namespace millrace::cli

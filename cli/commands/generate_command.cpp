#include <stop_token>
#include <utility>

#include "millrace/cli/commands/commands.h"
#include "millrace/cli/generate/generate.h"
#include "millrace/cli/generate/generate_images.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

// Calls `generate` with a token that a signal stops, and says what it wrote; `note` gives more on its rows.
template <class Generate, class Note>
int run_generator(const Arguments& arguments, Session& session, const Generate& generate, const Note& note) {
  std::stop_source stop;
  const auto guard = session.signals.while_running([&stop] { stop.request_stop(); });
  const GenerateResult result = generate(stop.get_token());
  const auto files = static_cast<int64_t>(result.paths.size());
  session.out.write(cat(result.stopped ? "stopped: wrote " : "wrote ", count_of(files, "file"), ", ",
                        count_of(files * arguments.rows, "row"), note(result), ", ", format_bytes(result.bytes), " in ",
                        escape_controls(arguments.out), '\n'));
  session.out.flush();
  return result.stopped ? exit_code_of_signal(session.signals.received()) : static_cast<int>(kExitDone);
}

}  // namespace

int run_generate_sum(const Arguments& arguments, Session& session) {
  const auto generate = [&](std::stop_token stop) {
    return generate_sum({.folder = arguments.out,
                         .files = arguments.files,
                         .rows = arguments.rows,
                         .features = arguments.features,
                         .seed = arguments.seed,
                         .force = arguments.force,
                         .stop = std::move(stop)});
  };
  return run_generator(arguments, session, generate, [](const GenerateResult& result) {
    return cat(" (", result.rows_of_label[1], " with label 1)");
  });
}

int run_generate_images(const Arguments& arguments, Session& session) {
  const auto generate = [&](std::stop_token stop) {
    return generate_images({.folder = arguments.out,
                            .files = arguments.files,
                            .rows = arguments.rows,
                            .size = arguments.size,
                            .seed = arguments.seed,
                            .force = arguments.force,
                            .stop = std::move(stop)});
  };
  return run_generator(arguments, session, generate, [](const GenerateResult&) { return ""; });
}

}  // namespace millrace::cli

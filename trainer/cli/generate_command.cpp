#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/cli/commands.h"
#include "millrace/trainer/cli/exit_code.h"
#include "millrace/trainer/cli/number_format.h"
#include "millrace/trainer/generate.h"

namespace millrace::cli {

int run_generate_sum(const Arguments& arguments, Session& session) {
  const GenerateResult result = generate_sum({.folder = arguments.out,
                                              .files = arguments.files,
                                              .rows = arguments.rows,
                                              .features = arguments.features,
                                              .seed = arguments.seed,
                                              .force = arguments.force});
  const int64_t rows = arguments.files * arguments.rows;
  session.out.write(cat("wrote ", count_of(arguments.files, "file"), ", ", count_of(rows, "row"), " (", result.positive,
                        " with label 1), ", format_bytes(result.bytes), " in ", escape_controls(arguments.out), '\n'));
  return kExitDone;
}

}  // namespace millrace::cli

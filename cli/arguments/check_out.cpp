#include "millrace/cli/arguments/check_out.h"

#include "millrace/cli/process/usage_error.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/files_in_use.h"

namespace millrace::cli {

void check_out(const Arguments& arguments, const InputFiles& files, const std::string& source) {
  if (arguments.out.empty()) return;
  const std::string loss = would_overwrite(arguments.out, files, source);
  if (!loss.empty()) throw UsageError(cat("--out ", quote(arguments.out, 4096), ' ', loss), {}, "give it another name");
}

}  // namespace millrace::cli

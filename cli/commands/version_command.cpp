#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/core/text.h"
#include "millrace/version.h"

namespace millrace::cli {

namespace {

std::string compiler() {
#if defined(__clang__)
  return cat("clang ", __clang_major__, '.', __clang_minor__, '.', __clang_patchlevel__);
#else
  return cat("g++ ", __GNUC__, '.', __GNUC_MINOR__, '.', __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

int run_version(Session& session) {
  const BuildDescription build = describe_build();
  std::string features;
  for (const std::string& feature : build.processor) features += ' ' + feature;
  session.out.write(cat("trainer (millrace) ", version(), "\nbuild: ", build.build_type, ", ", compiler(),
                        "\ncuda: ", build.cuda.empty() ? "built without" : build.cuda, "\nprocessor:",
                        features.empty() ? " baseline" : features, "\nlibraries: ", join(build.libraries, ", "), '\n'));
  return kExitDone;
}

}  // namespace millrace::cli

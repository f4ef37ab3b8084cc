#include "millrace/core/text.h"
#include "millrace/core/version.h"
#include "millrace/trainer/cli/commands.h"
#include "millrace/trainer/cli/exit_code.h"

namespace millrace::cli {

int run_version(Session& session) {
  const VersionInfo info = version_info();
  std::string features;
  for (const std::string& feature : info.processor) features += ' ' + feature;
  session.out.write(cat("trainer (millrace) ", info.version, "\nbuild: ", info.build_type, ", ", info.compiler,
                        "\ncuda: ", info.cuda.empty() ? "built without" : info.cuda,
                        "\nprocessor:", features.empty() ? " baseline" : features, "\nlibraries: oneDNN ", info.onednn,
                        ", oneTBB ", info.onetbb, '\n'));
  return kExitDone;
}

}  // namespace millrace::cli

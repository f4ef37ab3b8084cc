#include "millrace/cli/process/exit_code.h"

#include <string_view>
#include <utility>

#include "millrace/core/text.h"

namespace millrace::cli {

MILLRACE_DEFINE_ERROR(UsageError, Error, config);

std::string exit_codes_text() {
  static constexpr std::pair<ExitCode, std::string_view> kCodes[] = {{kExitDone, "done"},
                                                                     {kExitUsage, "usage"},
                                                                     {kExitData, "bad data"},
                                                                     {kExitMissing, "input missing"},
                                                                     {kExitInternal, "internal"},
                                                                     {kExitIo, "I/O or device"},
                                                                     {kExitConfig, "configuration"},
                                                                     {kExitHungUp, "hung up"},
                                                                     {kExitInterrupted, "interrupted"},
                                                                     {kExitTerminated, "terminated"}};
  std::string out;
  for (const auto& [code, meaning] : kCodes) out += cat(out.empty() ? "" : ", ", static_cast<int>(code), ' ', meaning);
  return out;
}

int exit_code(const Error& error) {
  if (dynamic_cast<const UsageError*>(&error) != nullptr) return kExitUsage;
  switch (error.kind()) {
    case ErrorKind::config: return kExitConfig;
    case ErrorKind::data: return kExitData;
    case ErrorKind::missing: return kExitMissing;
    case ErrorKind::io: return kExitIo;
    case ErrorKind::device: return kExitIo;
    case ErrorKind::internal: return kExitInternal;
  }
  return kExitInternal;
}

int exit_code_of_signal(int number) { return number == 0 ? 0 : 128 + number; }

}  // namespace millrace::cli

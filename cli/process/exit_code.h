// The exit codes of the program. The numbers are from sysexits.h; for signals, they are the numbers that shells use.
#pragma once

#include <string>

#include "millrace/core/errors.h"

namespace millrace::cli {

enum ExitCode : int {
  kExitDone = 0,
  kExitUsage = 2,
  kExitData = 65,
  kExitMissing = 66,
  kExitInternal = 70,
  kExitIo = 74,
  kExitConfig = 78,
  kExitHungUp = 129,
  kExitInterrupted = 130,
  kExitTerminated = 143,
};

// "0 done, 2 usage, ...": all of them, for the help.
std::string exit_codes_text();

// The command line itself is wrong: kExitUsage.
MILLRACE_DECLARE_ERROR(UsageError, Error);

// The exit code after this failure.
int exit_code(const Error& error);
// The exit code of a run that signal `number` stopped; kExitDone for 0, no signal.
int exit_code_of_signal(int number);

}  // namespace millrace::cli

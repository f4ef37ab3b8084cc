// Exit codes: what the program tells its caller. The numbers are those of sysexits.h and of shells for signals.
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

// What a failure of this kind ends with.
int exit_code(ErrorKind kind);
// What a run ends with that signal `number` stopped.
int exit_code_of_signal(int number);

}  // namespace millrace::cli

// Session: what every command is given: its output, the signals, and where words for people go.
#pragma once

#include "millrace/cli/process/output.h"
#include "millrace/cli/process/signals.h"

namespace millrace::cli {

struct Session {
  Output& out;  // standard output
  SignalWatcher& signals;
};

}  // namespace millrace::cli

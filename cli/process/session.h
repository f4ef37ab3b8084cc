// Session: what every command gets: its output and the signals.
#pragma once

#include "millrace/cli/process/output.h"
#include "millrace/cli/process/signals.h"

namespace millrace::cli {

struct Session {
  Output& out;  // standard output
  SignalWatcher& signals;
};

}  // namespace millrace::cli

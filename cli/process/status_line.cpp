#include "millrace/cli/process/status_line.h"

#include <unistd.h>

#include "millrace/cli/process/output.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

StatusLine::StatusLine(bool quiet) : quiet_(quiet), live_(is_terminal(STDERR_FILENO)) {}

void StatusLine::show(std::string_view what, std::string_view detail) {
  if (quiet_) return;
  if (live_) {
    const std::string line = escape_controls(cat(what, detail.empty() ? "" : ": ", detail));
    write_to_stderr("\r\x1b[K" + cut_to_width(line, terminal_width(STDERR_FILENO) - 1));
    shown_ = true;
  } else if (what != last_) {
    write_to_stderr(escape_controls(what) + '\n');
    last_ = what;
  }
}

void StatusLine::clear() {
  if (shown_) write_to_stderr("\r\x1b[K");
  shown_ = false;
}

}  // namespace millrace::cli

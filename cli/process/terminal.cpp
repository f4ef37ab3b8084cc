#include "millrace/cli/process/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "millrace/cli/process/output.h"
#include "millrace/cli/text/text_layout.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

size_t terminal_width(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool wants_color(int descriptor) {
  const char* refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  const char* kind = std::getenv("TERM");
  return kind != nullptr && std::string_view(kind) != "dumb" && is_terminal(descriptor);
}

std::string paint(std::string_view text, Color color, bool enabled) {
  if (!enabled) return std::string(text);
  return cat("\x1b[1;", color == Color::red ? "31" : "36", 'm', text, "\x1b[0m");
}

std::string cut_to_width(std::string_view text, size_t columns) {
  size_t bytes = 0;
  for (size_t shown = 0; bytes < text.size() && shown < columns; ++shown) {
    bytes += std::max<size_t>(utf8_length(text.substr(bytes)), 1);
  }
  return std::string(text.substr(0, bytes));
}

std::string folded_for(int descriptor, std::string text) {
  return is_terminal(descriptor) ? folded(text, terminal_width(descriptor)) : std::move(text);
}

StatusLine::StatusLine(bool quiet) : quiet_(quiet), live_(is_terminal(STDERR_FILENO)) {}

void StatusLine::show(std::string_view what, std::string_view detail) {
  if (quiet_) return;
  if (live_) {
    const std::string all = escape_controls(cat(what, detail.empty() ? "" : ": ", detail));
    overwrite(fitting_words(all, terminal_width(STDERR_FILENO) - 1));
  } else if (what != last_) {
    write_to_stderr(escape_controls(what) + '\n');
    last_ = what;
  }
}

void StatusLine::overwrite(std::string text) {
  if (text == shown_) return;
  write_to_stderr(cat('\r', text, "\x1b[K"));
  shown_ = std::move(text);
}

void StatusLine::write_above(std::string_view text) {
  write_to_stderr(cat(shown_.empty() ? "" : "\r\x1b[K", text, '\n', shown_));
}

void StatusLine::clear() {
  if (!shown_.empty()) write_to_stderr("\r\x1b[K");
  shown_.clear();
}

}  // namespace millrace::cli

// The abilities of the terminal, if there is one, and a status line on it. One thread uses a StatusLine.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::cli {

bool is_terminal(int descriptor);
// Columns of the terminal; 80 if it does not tell.
size_t terminal_width(int descriptor);
// Whether it is a terminal that understands colours, and NO_COLOR is not set.
bool wants_color(int descriptor);

enum class Color { red, cyan };
// `text` in bold and in `color`; unchanged if `enabled` is false.
std::string paint(std::string_view text, Color color, bool enabled);

// The first `columns` characters.
std::string cut_to_width(std::string_view text, size_t columns);
// Lines that fit the terminal, as folded() makes them; unchanged if `descriptor` is no terminal.
std::string folded_for(int descriptor, std::string text);

// Says on standard error what a long command is doing: on a terminal in one line that is written over, elsewhere in a
// new line whenever something new begins. The destructor wipes the line on the terminal. Whatever changes is one write,
// so that nobody sees half of it.
class StatusLine {
 public:
  explicit StatusLine(bool quiet = false);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // `detail` may change often; it is shown only on a terminal.
  void show(std::string_view what, std::string_view detail = {});
  // Writes over the line. REQUIRES: standard error is a terminal, and `text` is narrower than it, or it would wrap and
  // could not be wiped.
  void overwrite(std::string text);
  // Writes lines of their own; the line, if it is shown, goes on below them.
  void write_above(std::string_view text);
  void clear();

 private:
  const bool quiet_, live_;
  std::string shown_;  // empty: nothing
  std::string last_;
};

}  // namespace millrace::cli

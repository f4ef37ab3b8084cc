// What the terminal, if there is one, can show; and a line on it. One thread uses a StatusLine.
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

// Says on standard error what a long command is doing: on a terminal in one line that is written over, elsewhere in a
// new line whenever something new begins. The destructor wipes the line on the terminal.
class StatusLine {
 public:
  explicit StatusLine(bool quiet = false);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // `detail` may change often; it is shown only on a terminal.
  void show(std::string_view what, std::string_view detail = {});
  // Writes over the line, as much as fits. REQUIRES: standard error is a terminal.
  void overwrite(std::string_view text);
  void clear();

 private:
  const bool quiet_, live_;
  bool shown_ = false;
  std::string last_;
};

}  // namespace millrace::cli

// StatusLine: says on standard error what a long command is doing: on a terminal in one line that is written over,
// elsewhere in a new line whenever something new begins.
//
// One thread uses it. The destructor wipes the line on the terminal.
#pragma once

#include <string>
#include <string_view>

namespace millrace::cli {

class StatusLine {
 public:
  explicit StatusLine(bool quiet);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // `detail` may change often; it is shown only on a terminal.
  void show(std::string_view what, std::string_view detail = {});
  void clear();

 private:
  const bool quiet_, live_;
  bool shown_ = false;
  std::string last_;
};

}  // namespace millrace::cli

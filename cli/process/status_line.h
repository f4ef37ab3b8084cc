// StatusLine: what a long command is about, on standard error: one line that is written over on a terminal, else a line
// whenever something new begins.
//
// One thread uses it. The destructor wipes what a terminal shows.
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

  // `detail` is shown on a terminal alone, where it may change often.
  void show(std::string_view what, std::string_view detail = {});
  void clear();

 private:
  const bool quiet_, live_;
  bool shown_ = false;
  std::string last_;
};

}  // namespace millrace::cli

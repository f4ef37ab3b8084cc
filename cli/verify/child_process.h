// ChildProcess: this program once more, with other arguments. Its lines are read while it runs, and it can be killed.
//
//   ChildProcess child({.words = {"train", "mlp.yaml", "--json"}, .error_file = "errors.txt"});
//   std::string line;
//   while (child.next_line(line, Clock::time_point::max()) == ChildProcess::Got::line) ...
//   const ChildProcess::End end = child.wait();
//
// It reads nothing from standard input, does not get the terminal's signals, and does not outlive the thread that began
// it. One thread uses a ChildProcess.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "millrace/core/clock.h"
#include "millrace/core/descriptor.h"

namespace millrace::cli {

class ChildProcess {
 public:
  struct Args {
    std::vector<std::string> words;             // after the program's name
    std::vector<std::string> environment = {};  // "NAME=value", besides ours
    std::string error_file;                     // gets what it writes to standard error, after what is there
  };
  // Throws IoError if the system refuses.
  explicit ChildProcess(const Args& args);
  // Kills what still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  enum class Got {
    line,     // a whole one, without its end
    nothing,  // it is `until`
    end,      // no more will come
    stop,     // a signal ends our own work
  };
  Got next_line(std::string& line, Clock::time_point until);
  void kill() noexcept;

  struct End {
    int code = 0;    // of a normal end
    int signal = 0;  // that it died of, or 0
  };
  // Waits for the end.
  End wait();

 private:
  pid_t process_ = -1;
  std::optional<End> end_;
  Descriptor out_;
  std::string unread_;
  size_t begin_ = 0;  // of what is not given out of `unread_`
  bool closed_ = false;
};

}  // namespace millrace::cli

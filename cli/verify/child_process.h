// ChildProcess: runs this program once more, with other arguments. The caller reads its lines while it runs, and can
// kill it.
//
//   ChildProcess child({.words = {"train", "mlp.yaml", "--json"}, .error_file = "errors.txt"});
//   std::string line;
//   while (child.next_line(line, Clock::time_point::max()) == ChildProcess::Got::line) ...
//   const ChildProcess::End end = child.wait();
//
// The child reads nothing from standard input, does not get the terminal's signals, and ends with the thread that began
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
    std::vector<std::string> environment = {};  // "NAME=value", in addition to this process's
    std::string error_file;                     // the child's standard error is appended to it
  };
  // Throws IoError if the child cannot be started.
  explicit ChildProcess(const Args& args);
  // Kills the child if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  enum class Got {
    line,     // a whole line, without its newline
    nothing,  // the time `until` came first
    end,      // no more lines will come
    stop,     // a signal asks this process to stop
  };
  Got next_line(std::string& line, Clock::time_point until);
  void kill() noexcept;

  struct End {
    int code = 0;    // the exit code, if no signal killed it
    int signal = 0;  // the signal that killed it, or 0
  };
  // Waits until the child has ended.
  End wait();

 private:
  pid_t process_ = -1;
  std::optional<End> end_;
  Descriptor out_;
  std::string unread_;
  size_t begin_ = 0;  // where the part of `unread_` begins that was not given out
  bool closed_ = false;
};

}  // namespace millrace::cli

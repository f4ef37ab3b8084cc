// Runs a program, and tells what it wrote and how it ended.
//
//   CommandResult result = run_command({"/bin/echo", "words"});
//
// A Command is a running program: its output can be read, signals can be sent, and pipes can be closed.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace millrace::testing {

struct CommandResult {
  int exit_code = -1;  // the exit code of a normal end
  int signal = 0;      // the signal that ended it, or 0
  std::string out, err;
};

struct CommandOptions {
  std::string folder = {};                    // the folder to run in; empty: this process's
  std::vector<std::string> environment = {};  // "NAME=value" besides ours
  std::string out_file = {};                  // standard output goes there instead of into `out`
  bool terminal = false;                      // standard error is a terminal
  bool out_terminal = false;                  // standard output is a terminal, another one
  int columns = 100;                          // columns of the terminals
  bool nonblocking_out = false;               // another program that shares standard output may do this
  bool full_out = false;                      // no room is left in standard output, and only finish() reads it
};

class Command {
 public:
  // Throws std::runtime_error when the program cannot be started.
  explicit Command(const std::vector<std::string>& words, const CommandOptions& options = {});
  // Kills the program if it still runs.
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // Waits until `text` has been written to standard output (standard error); false when the stream ended before.
  bool wait_for_out(std::string_view text) { return wait_for(out_, text); }
  bool wait_for_err(std::string_view text) { return wait_for(err_, text); }
  void send(int signal) const;
  // Closes our end of its standard output.
  void close_out();
  // Waits until unread output leaves little room in standard output (standard error); false if the program ended
  // before.
  bool wait_for_full_out() { return wait_until_full(out_); }
  bool wait_for_full_err() { return wait_until_full(err_); }
  // Waits until it writes a file in `folder` that does not have its final name yet; false if it ended before.
  bool wait_for_unfinished_file(const std::string& folder) const;
  // Whether it ends before the time is over.
  bool ends_within(int milliseconds) const;
  // Waits for the end without reading anything, and kills the program after a minute. Then reads everything that is
  // left.
  CommandResult finish_unread();
  // Reads everything that is left and waits for the end.
  CommandResult finish();

 private:
  struct Stream {
    int descriptor = -1;
    std::string text;
  };
  bool wait_for(Stream& stream, std::string_view text);
  bool wait_until_full(const Stream& stream) const;
  // Waits for bytes on either stream and takes them; false when both have ended.
  bool pump();

  pid_t process_ = -1;
  Stream out_, err_;
  bool leaves_out_ = false;
};

CommandResult run_command(const std::vector<std::string>& words, const CommandOptions& options = {});

}  // namespace millrace::testing

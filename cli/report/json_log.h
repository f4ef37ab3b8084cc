// JsonLog: the file of the key log.json, which gets the lines that --json prints. A training that goes on from a
// checkpoint appends to the file: the start event, and events before the checkpoint, are not repeated.
//
//   check_log(trainer);
//   if (const auto path = log_file(trainer)) trainer.appends_to(*path);     // a resume cuts it
//   JsonLog log(log_file(trainer).value_or(""), resumed);
//   log.begin();                                                            // when the training begins or goes on
//   if (!log.write(line)) warn(log.failure());
//
// One thread uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/input/files/append_file.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

// The value of log.json in the training's configuration.
std::optional<std::string> log_file(const Trainer& trainer);

// Throws ConfigError, placed at the key `log`, if log.json is a file that the training reads, or writes for another
// purpose; IoError if the file cannot be written.
void check_log(const Trainer& trainer);

class JsonLog {
 public:
  // Opens nothing yet. An empty path means that there is no log: nothing is ever written.
  JsonLog(std::string path, bool goes_on) : path_(std::move(path)), goes_on_(goes_on) {}

  // Opens the file, and empties it unless the training goes on. Throws IoError.
  void begin();
  // Adds a line, which is in the file when this returns. Does nothing before begin(). Returns false for the first line
  // that cannot be written: the file keeps the lines before it, and may get later ones.
  [[nodiscard]] bool write(std::string_view line);
  // Why a line is missing; empty if none is.
  const std::string& failure() const { return failure_; }

 private:
  const std::string path_;
  const bool goes_on_;
  std::optional<AppendFile> file_;
  uint64_t length_ = 0;  // bytes of whole lines
  std::string failure_;
};

}  // namespace millrace::cli

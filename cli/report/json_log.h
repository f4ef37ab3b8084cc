// JsonLog: the file of the key log.json. It gets the lines that --json prints, and a training that goes on from a
// checkpoint goes on with it: the beginning of the training and what came before the checkpoint are not told twice.
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

// log.json of the training's configuration.
std::optional<std::string> log_file(const Trainer& trainer);

// Throws ConfigError, placed at the key `log`, if log.json is a file that the training needs or writes otherwise;
// IoError if it cannot be written.
void check_log(const Trainer& trainer);

class JsonLog {
 public:
  // Opens nothing yet. Without a path there is no log: nothing happens then.
  JsonLog(std::string path, bool goes_on) : path_(std::move(path)), goes_on_(goes_on) {}

  // Opens the file, which is empty then, unless the training goes on. Throws IoError.
  void begin();
  // Adds a line, which is in the file when this returns; does nothing before begin(). False for the first line that
  // cannot be written: the file then holds the lines before it, and may get later ones.
  [[nodiscard]] bool write(std::string_view line);
  // Why a line is missing; empty if none is.
  const std::string& failure() const { return failure_; }

 private:
  const std::string path_;
  const bool goes_on_;
  std::optional<AppendFile> file_;
  uint64_t length_ = 0;  // of whole lines
  std::string failure_;
};

}  // namespace millrace::cli

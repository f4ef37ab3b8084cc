// OnnxRuntime: answers of onnxruntime, which a Python program runs that is started for it: python3, as PATH finds it,
// with the packages onnxruntime and numpy.
//
//   OnnxRuntime runtime("m.onnx");
//   runtime.load();
//   for (const std::string& line : runtime.run(batch, rows)) ..
//
// One thread uses it; stop() may be called from any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/descriptor.h"

namespace millrace::cli {

class OnnxRuntime {
 public:
  // Starts python3. Throws MissingError if there is none.
  explicit OnnxRuntime(const std::string& file);
  // Waits until the file is loaded. Throws MissingError if there is no onnxruntime, DataError if it refuses the file.
  void load();
  ~OnnxRuntime();
  OnnxRuntime(const OnnxRuntime&) = delete;
  OnnxRuntime& operator=(const OnnxRuntime&) = delete;

  const std::string& version() const { return version_; }
  // `batch` is a line of JSON: for each input a list with the list of values of each row. Returns a line for each of
  // the `rows`: the values of all outputs, numbers as text, texts as the hexadecimal digits of their UTF-8 bytes after
  // an x. Throws DataError with the message of onnxruntime.
  std::vector<std::string> run(std::string_view batch, size_t rows);
  // Makes load() and run() throw soon, also a call that waits now.
  void stop() noexcept;

 private:
  void send(std::string_view text);
  std::string line();  // empty at the end

  pid_t process_ = -1;
  Descriptor stream_;
  std::string unread_, version_;
};

}  // namespace millrace::cli

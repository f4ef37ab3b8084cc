// RemoteFiles: the files of this input as its workers see them. A graph that is bound to them needs no file on this
// machine. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/state.h"
#include "millrace/input/files/file_system.h"
#include "millrace/trainer/remote/zmq_socket.h"

namespace millrace {

// A worker's answer to a question about files; `bytes` is what it read, if that was asked.
struct FileAnswer {
  State state;
  std::string bytes;
};

class RemoteFiles final : public FileSystem {
 public:
  // Asks some worker; throws what it threw.
  using Ask = std::function<FileAnswer(State question)>;
  explicit RemoteFiles(Ask ask) : ask_(std::move(ask)) {}

  std::unique_ptr<File> open(const std::string& path) override;
  // Throws ConfigError: workers have no streams.
  std::unique_ptr<ByteStream> open_stream(const std::string& path) override;
  Type type(const std::string& path) override { return look(path).type; }
  Look look(const std::string& path) override;
  std::vector<std::string> match(const std::string& pattern) override { return names("match", pattern); }
  std::vector<std::string> list(const std::string& folder) override { return names("list", folder); }

 private:
  std::vector<std::string> names(std::string_view what, const std::string& path);

  const Ask ask_;
};

// The worker's side: answers a question from its own files. Throws DataError for a question that is none, and what the
// files throw.
FileAnswer answer_file_question(const State& question, FileSystem& files);

}  // namespace millrace

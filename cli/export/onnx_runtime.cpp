#include "millrace/cli/export/onnx_runtime.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

// Python would look for modules in the current folder first, where the data lie; "" stands for it. Standard output may
// be used by what is imported, so answers go to a descriptor of their own.
constexpr const char* kProgram = R"python(
import sys
sys.path = [path for path in sys.path if path]
import json, os
answers = os.fdopen(os.dup(0), "w")
def say(word, text=""):
    answers.write(word + " " + " ".join(str(text).split()) + "\n")
    answers.flush()
try:
    import numpy as np
    import onnxruntime
except Exception as error:
    say("missing", error)
    sys.exit()
try:
    session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
except Exception as error:
    say("refused", error)
    sys.exit()
say("ready", onnxruntime.__version__)
types = {"tensor(float)": np.float32, "tensor(double)": np.float64}
def values(port, rows):
    if port.type == "tensor(string)":
        out = np.array(rows, dtype=object)
    else:
        out = np.array([[float(value) for value in row] for row in rows]).astype(types[port.type])
    return out.reshape([len(rows)] + port.shape[1:])
def text(value):
    return "x" + value.encode().hex() if isinstance(value, str) else repr(float(value))
for line in os.fdopen(os.dup(0), encoding="utf-8"):
    batch = json.loads(line)
    try:
        feed = {port.name: values(port, rows) for port, rows in zip(session.get_inputs(), batch)}
        outputs = [output.reshape(len(batch[0]), -1) for output in session.run(None, feed)]
    except Exception as error:
        say("failed", error)
        sys.exit()
    for row in zip(*outputs):
        say("row", " ".join(text(value) for output in row for value in output))
)python";

constexpr const char* kHint =
    "python3 -m pip install onnxruntime, or activate the environment that has it; the ONNX file is complete anyway";

// Starts python3 with `stream` as standard input, from which it also answers.
pid_t start_python(int stream, const std::string& file) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, stream, STDIN_FILENO);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0);
  }
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  // Python is in a process group of its own. So Ctrl-C reaches only this program, and stop() ends Python.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const char* const words[] = {"python3", "-c", kProgram, file.c_str(), nullptr};
  pid_t process = -1;
  const int code = ::posix_spawnp(&process, "python3", &actions, &attributes, const_cast<char* const*>(words), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (code != 0) throw MissingError(cat("--check needs python3: ", errno_text(code)), {}, kHint);
  return process;
}

// The text after the first word of a line.
std::string after_word(const std::string& line) {
  const size_t blank = line.find(' ');
  return blank == line.npos ? std::string() : line.substr(blank + 1);
}

}  // namespace

OnnxRuntime::OnnxRuntime(const std::string& file) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw IoError(cat("cannot make a pair of sockets: ", errno_text(errno)));
  }
  stream_ = Descriptor(ends[0]);
  const Descriptor other(ends[1]);
  process_ = start_python(other.get(), file);
}

OnnxRuntime::~OnnxRuntime() {
  if (process_ > 0) ::kill(process_, SIGKILL);  // it has nothing to finish
  while (process_ > 0 && ::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void OnnxRuntime::load() {
  const std::string answer = line(), text = after_word(answer);
  if (answer.starts_with("missing ")) {
    throw MissingError(cat("--check needs onnxruntime and numpy in python3: ", text), {}, kHint);
  }
  if (answer.starts_with("refused ")) throw DataError(cat("onnxruntime refuses the file: ", text));
  if (!answer.starts_with("ready "))
    throw MissingError("--check needs python3, which ended without an answer", {}, kHint);
  version_ = text;
}

void OnnxRuntime::stop() noexcept { ::shutdown(stream_.get(), SHUT_RDWR); }

std::string OnnxRuntime::line() {
  size_t end = 0;
  while ((end = unread_.find('\n')) == unread_.npos) {
    std::array<char, 65536> bytes;
    const ssize_t count = ::recv(stream_.get(), bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    unread_.append(bytes.data(), static_cast<size_t>(count));
  }
  std::string out = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return out;
}

void OnnxRuntime::send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(stream_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw IoError(cat("cannot write to python3: ", errno_text(errno)));
    text.remove_prefix(static_cast<size_t>(count));
  }
}

std::vector<std::string> OnnxRuntime::run(std::string_view batch, size_t rows) {
  send(batch);
  send("\n");
  std::vector<std::string> out;
  while (out.size() < rows) {
    const std::string answer = line();
    if (!answer.starts_with("row ")) {
      throw DataError(cat("onnxruntime fails: ", answer.empty() ? "python3 ended" : after_word(answer)));
    }
    out.push_back(after_word(answer));
  }
  return out;
}

}  // namespace millrace::cli

#include <malloc.h>

#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/systemd_socket.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/serve/predict_service.h"
#include "millrace/core/context.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

constexpr CommandText kServeText = {
    "serve", "Answers rows of JSON by a saved model, over HTTP.",
    "  trainer serve --model FILE [--port N] [--bind ADDRESS] [OPTIONS]",
    R"(POST /predict takes a list of objects, whose keys are the columns of the data that the model was
trained on, and answers with a list of the objects that `trainer predict --format jsonl` prints, in
that order; row is the place in the list, from 0. Numbers and texts are read as they would be in a
CSV file; null is a missing value. GET /healthz says ok, GET /metrics is for Prometheus:

  curl -d '[{"age": 31, "city": "Rome"}]' http://127.0.0.1:8080/predict

SIGHUP loads the model file anew, without a request lost; if it is broken, the old one goes on.
SIGTERM and SIGINT end the server when the requests that have come are answered.

There are no passwords and no TLS: a proxy in front of it has these.

EXAMPLES:
  trainer serve --model model.safetensors --port 8080
  trainer serve --model model.safetensors --bind 0.0.0.0 --threads 4 --threshold 0.3
)",
    "trainer predict, docs/serving.md"};

constexpr std::string_view kSystemdBind = "systemd";
constexpr int64_t kUsualPort = 8080;

struct ServeArguments : KeyArguments {
  std::string model, bind = "127.0.0.1";
  int64_t port = kUsualPort, threads = 0;
  std::optional<double> threshold;
  bool best = false, quiet = false;

  void declare(Command& c) {
    c.text("--model", model, "FILE", "the model, as a training saved it, or a checkpoint");
    c.flag("--best", best,
           "the model of the best validation before a checkpoint was written, instead of the one of its last step");
    c.number("--port", port, {.least = 0, .most = 65535}, "where to listen; 0: any free port, which a line tells");
    c.text("--bind", bind, "ADDRESS",
           "the address to listen at: this machine only by default, 0.0.0.0 for all; or systemd, for the socket of a "
           ".socket unit");
    c.number("--threads", threads, {.least = 0, .most = Executor::kMostThreads},
             "how many threads take requests, and how many answer them; 0: as many as the process has processors");
    c.add("--threshold", "P", "class 1 if its probability is above P, instead of 0.5, for models that say yes or no",
          [this](const std::string& text) { threshold = number_in<double>({.most = 1}, "--threshold", text); });
    KeyArguments::declare(c);
    c.heading("OUTPUT");
    c.flag("-q,--quiet", quiet, "print nothing but errors");
  }
  void check(const Command& c) {
    if (model.empty()) throw UsageError("no model is given", {}, c.line() + " --model FILE");
    refuse_dash("--model", model);
    if (bind == kSystemdBind && port != kUsualPort) {
      throw UsageError("--port is not for --bind systemd", {}, "the .socket unit says where systemd listens");
    }
  }
};

ListeningSocket socket_of(const ServeArguments& arguments) {
  if (arguments.bind != kSystemdBind) return listen_at(arguments.bind, static_cast<uint16_t>(arguments.port));
  const SystemdSocket given = systemd_socket();
  return {.descriptor = Descriptor(given.descriptor),
          .address = given.endpoint.substr(std::string_view("tcp://").size())};
}

// What the signals ask for.
class Wishes {
 public:
  enum class Wish : uint8_t { reload, end };

  void add(Wish wish) {
    {
      const MutexLock lock(mutex_);
      (wish == Wish::end ? end_ : reload_) = true;
    }
    changed_.notify_one();
  }
  // Waits for the next one; `reload` stands for all that came meanwhile.
  Wish next() {
    const MutexLock lock(mutex_);
    while (!reload_ && !end_) mutex_.wait(changed_);
    reload_ = false;
    return end_ ? Wish::end : Wish::reload;
  }

 private:
  Mutex mutex_;
  std::condition_variable changed_;
  bool reload_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool end_ MILLRACE_GUARDED_BY(mutex_) = false;
};

int run_serve(const ServeArguments& arguments, Session& session) {
  using Wish = Wishes::Wish;
  // Signals may come while the model is still being loaded.
  Wishes wishes;
  const auto reloads = session.signals.while_asked([&wishes] { wishes.add(Wish::reload); }, SIGHUP);
  const auto ends = session.signals.while_running([&wishes] { wishes.add(Wish::end); });
#ifdef M_MMAP_THRESHOLD
  // glibc raises this otherwise, and keeps the memory of large bodies when they are answered.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
  const Catalog catalog = read_catalog(arguments);
  const NetworkOptions options{.overrides = arguments.overrides, .best = arguments.best};
  std::mutex mutex;
  StatusLine lines;
  const auto say = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.write_above(escape_controls(line));
  };
  const auto log = [&](const std::string& line) {
    if (!arguments.quiet) say(line);
  };
  PredictService service(
      {.socket = socket_of(arguments),
       .threads = arguments.threads > 0 ? static_cast<int>(arguments.threads) : Executor::available_threads(),
       .load =
           [&] {
             return std::make_shared<const ServedModel>(ModelFile::read(arguments.model), options, catalog,
                                                        arguments.threshold);
           },
       .log = log,
       .log_error = [&](const std::string& line) { say("error: " + line); }});
  while (wishes.next() == Wish::reload) service.reload();
  service.stop();
  log("ended");
  return exit_code_of_signal(session.signals.received());
}

}  // namespace

Command serve_command() { return make_command(kServeText, run_serve); }

}  // namespace millrace::cli

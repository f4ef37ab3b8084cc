#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/systemd_socket.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/clock.h"
#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/remote/worker_server.h"

namespace millrace::cli {

namespace {

constexpr CommandText kWorkerText = {
    "worker", "Decodes rows for trainings on other machines.",
    R"(  trainer worker --bind ENDPOINT [--root DIR] [--key NAME.key --clients DIR | --insecure])",
    R"(A training names its workers by the key workers. It sends them pieces of its data to decode, so
its rows are the same with any workers and without any, while workers come, go and fail. A worker
reads the files below --root, where relative paths begin; nothing outside is there for trainers.

With --key and --clients everything is encrypted, and only trainings whose public key lies in the
folder get in (trainer keys makes keys). The folder is read again on SIGHUP. Without keys a worker
listens on this machine only, unless --insecure is given.

It ends at SIGINT or SIGTERM; trainings then ask others, or decode themselves.

EXAMPLES:
  trainer worker --bind tcp://127.0.0.1:5599
  trainer worker --bind tcp://0.0.0.0:5599 --root /data --key worker.key --clients clients/
)",
    "trainer keys, trainer config workers, docs/remote.md"};

constexpr std::string_view kSystemd = "systemd";

struct WorkerArguments : PluginArguments {
  WorkerSettings settings;
  int64_t threads = 0;
  bool quiet = false;

  void declare(Command& c) {
    c.text("--bind", settings.bind, "ENDPOINT",
           "where to listen: tcp://ADDRESS:PORT, with port 0 for any free one; or systemd, for the socket of a .socket "
           "unit");
    c.text("--root", settings.root, "DIR", "the folder below which files may be read");
    c.number("--threads", threads, {.least = 0, .most = Executor::kMostThreads},
             "how many pieces to decode at once; 0: as many as the process has processors");
    PluginArguments::declare(c);
    c.heading("SECURITY");
    c.text("--key", settings.key, "FILE", "NAME.key of trainer keys: who this worker is");
    c.text("--clients", settings.clients, "DIR", "the folder with the .pub files of those who may use it");
    c.flag("--insecure", settings.insecure, "let anyone who reaches ENDPOINT read the files, without keys");
    c.heading("OUTPUT");
    c.flag("-q,--quiet", quiet, "print nothing but errors");
  }
  void check(const Command& c) {
    if (settings.bind.empty()) throw UsageError("no endpoint is given", {}, c.line() + " --bind tcp://127.0.0.1:5599");
    if (settings.bind != kSystemd && (!settings.bind.starts_with("tcp://") || settings.bind.rfind(':') <= 6)) {
      throw UsageError(cat("--bind: expected tcp://ADDRESS:PORT or systemd, got ", quote(settings.bind)));
    }
    if (settings.key.empty() != settings.clients.empty()) throw UsageError("--key and --clients need each other");
    if (!settings.key.empty() && settings.insecure) throw UsageError("--insecure is for a worker without keys");
  }
};

std::string counts_text(const WorkerServer::Counts& now, double rows_per_second) {
  return cat(count_of(static_cast<int64_t>(now.peers), "connection"), ", ",
             count_of(static_cast<int64_t>(now.requests), "request"), ", ", format_rate(rows_per_second), " rows/s, ",
             format_bytes(now.bytes), " sent");
}

// Lines for people, on standard error, and one line about what it does on a terminal.
class WorkerDisplay {
 public:
  explicit WorkerDisplay(bool quiet) : quiet_(quiet), status_(quiet) {}

  void say(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (!quiet_) status_.write_above(line);
  }
  void show(const WorkerServer::Counts& now) {
    const double seconds = std::chrono::duration<double>(Clock::now() - then_).count();
    const double rate = static_cast<double>(now.rows - rows_) / seconds;
    rows_ = now.rows;
    then_ = Clock::now();
    const std::lock_guard lock(mutex_);
    if (!quiet_ && is_terminal(STDERR_FILENO)) {
      status_.overwrite(cut_to_width(counts_text(now, rate), terminal_width(STDERR_FILENO) - 1));
    }
  }

 private:
  const bool quiet_;
  std::mutex mutex_;
  StatusLine status_;
  uint64_t rows_ = 0;
  Clock::time_point then_ = Clock::now();
};

int run_worker(const WorkerArguments& arguments, Session& session) {
  const Catalog catalog = read_catalog(arguments);
  WorkerDisplay display(arguments.quiet);
  WorkerSettings settings = arguments.settings;
  settings.threads = arguments.threads > 0 ? static_cast<int>(arguments.threads) : Executor::available_threads();
  settings.log = [&display](const std::string& line) { display.say(line); };
  if (settings.bind == kSystemd) {
    const SystemdSocket socket = systemd_socket();
    settings.bind = socket.endpoint;
    settings.listening = socket.descriptor;
  }
  WorkerServer server(settings, catalog);
  display.say(cat("listening at ", server.endpoint(), ", ", count_of(settings.threads, "thread")));

  std::mutex mutex;
  std::condition_variable_any changed;
  std::jthread shows([&](std::stop_token stop) {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, stop, std::chrono::seconds(1), [&] { return stop.stop_requested(); })) {
      display.show(server.counts());
    }
  });
  // Without keys there is nothing to read again, and SIGHUP ends it as it ends other commands.
  const int reload = settings.key.empty() ? SIGUSR1 : SIGHUP;
  const auto reloads = session.signals.while_asked([&server] { server.reload(); }, reload);
  const auto guard = session.signals.while_running([&server] { server.stop(); });
  server.run();
  shows = {};
  return session.signals.received() != 0 ? exit_code_of_signal(session.signals.received()) : kExitDone;
}

}  // namespace

Command worker_command() { return make_command(kWorkerText, run_worker); }

}  // namespace millrace::cli

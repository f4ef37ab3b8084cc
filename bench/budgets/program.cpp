// The program as a user starts it: its size, the time to the first finished step, and the memory of a whole training;
// and the step while another process keeps one processor busy.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/budgets/budget.h"
#include "bench/budgets/data.h"
#include "bench/budgets/network.h"
#include "millrace/core/text.h"

extern char** environ;

namespace millrace::bench {

namespace {

constexpr double kParameterMiB = (1024.0 * 1024 + 1024 + 1024 + 1) * 4 / (1 << 20);

// The configuration of the notebook's training, on rows of a file.
std::string config_file(const Setting& setting) {
  const std::string path = setting.folder + "/notebook.yaml";
  std::ofstream(path) << "seed: 23\nthreads: 2\ninput:\n  - filename_queue: {files: \"" << data_file(setting.folder)
                      << "\", epochs: 1}\n  - csv_reader\n"
                         "  - decode_csv: {fields: {features: {columns: 0-1023}, label: {columns: 1024}}}\n"
                         "  - shuffle_batch: {batch_size: 23, capacity: 79, min_after_dequeue: 10, threads: 2}\n"
                         "model:\n  - dense: {units: 1024, activation: relu}\n  - dense: {units: 1}\n"
                         "loss: sigmoid_cross_entropy\nmetrics: [accuracy]\n"
                         "optimizer: {sgd: {learning_rate: 0.1}}\n";
  return path;
}

struct Ran {
  double seconds = 0;
  double peak_mib = 0;
};

// The most memory that a running process has had.
double peak_mib(pid_t process) {
  std::ifstream status(cat("/proc/", process, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}

// `watch`: also watches its memory, which costs time.
Ran run(const std::vector<std::string>& words, bool watch) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const double start = wall_seconds();
  pid_t child = 0;
  const int failure = posix_spawnp(&child, arguments[0], &quiet, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (failure != 0) throw Skip{cat("cannot start ", words[0])};
  int status = 0;
  double peak = 0;
  // The peak of wait4() begins with this process's own memory, so the peak is read while the child runs.
  while (watch && waitpid(child, &status, WNOHANG) == 0) {
    peak = std::max(peak, peak_mib(child));
    usleep(500);
  }
  if (!watch) waitpid(child, &status, 0);
  if (status != 0) throw Skip{cat(words[0], " failed")};
  return {wall_seconds() - start, peak};
}

Ran run_trainer(const Setting& setting, int steps, bool watch) {
  return run({setting.trainer, "--config", config_file(setting), "--set", cat("train.steps=", steps), "--quiet"},
             watch);
}

// The size of the program without its symbols.
Ratio stripped_mib(const Setting& setting) {
  std::filesystem::create_directories(setting.folder);
  const std::string copy = setting.folder + "/trainer-stripped";
  run({"strip", "-s", "-o", copy, setting.trainer}, false);
  return {static_cast<double>(std::filesystem::file_size(copy)) / (1 << 20), 0};
}

// A process that is busy until this object is destroyed.
class BusyProcess {
 public:
  BusyProcess() : child_(fork()) {
    if (child_ != 0) return;
    for (std::atomic<unsigned> turns{0};;) turns.fetch_add(1, std::memory_order_relaxed);
  }
  ~BusyProcess() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_;
};

Ratio beside_another(const Setting& setting) {
  if (Executor::available_threads() != 2) throw Skip{"the budget is for two processors"};
  constexpr int kSteps = 150;
  Executor executor(2);
  Context context(Device::cpu(), executor);
  Network network(context, 256);
  const auto steps = [&] {
    return timed(wall_seconds, [&] {
      for (int i = 0; i < kSteps; ++i) network.step();
    });
  };
  return compare(setting.rounds, steps, [&] {
    const BusyProcess busy;
    return steps();
  });
}

}  // namespace

void add_program_budgets(Budgets& out) {
  out.push_back({"program/size", "MiB of the program, stripped, without its shared libraries", 5, false, stripped_mib});
  out.push_back({"program/start", "milliseconds of a whole training of one step, batch 23", 50, false,
                 [](const Setting& setting) {
                   return median_of(setting.rounds, [&] { return 1e3 * run_trainer(setting, 1, false).seconds; });
                 }});
  out.push_back({"program/memory", "MiB at most, above the parameters, in a training of 200 steps, batch 23", 64, false,
                 [](const Setting& setting) {
                   return median_of(setting.rounds,
                                    [&] { return run_trainer(setting, 200, true).peak_mib - kParameterMiB; });
                 }});
  out.push_back(
      {"step/beside", "a step beside one busy process on two processors over one alone", 1.7, false, beside_another});
}

}  // namespace millrace::bench

// P3 without memory, for whole programs: whichever allocation of the command line or of a program in C fails, it is
// told that memory ran out, and nothing ends the process. Calls of libraries (LibraryCall) are spared.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <thread>

#include "millrace/c.h"
#include "millrace/cli/process/signals.h"
#include "millrace/cli/report/progress.h"
#include "millrace/cli/run.h"
#include "millrace/core/text.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/temp_folder.h"

namespace millrace::testing {
namespace {

constexpr int kDone = 0, kInternal = 70, kEnough = 200;

class ProgramOutOfMemory : public ::testing::Test {
 protected:
  ProgramOutOfMemory() {
    std::string rows;
    for (int row = 0; row < 12; ++row) rows += cat(row, ",", 20 - row, ".25,", row % 3 == 0 ? 1 : 0, "\n");
    folder_.write("rows.csv", rows);
    folder_.write("held.csv", rows);
    folder_.write("small.yaml", kYaml);
  }

  // Runs `program` with allocation 0, 1 and so on failing, each time in a process of its own, until it needs fewer. To
  // save time most numbers are left out; MILLRACE_TEST_EVERY_ALLOCATION tries them all. Returns how many there were.
  int64_t fail_each(const std::function<int()>& program) {
    const int64_t stride = std::getenv("MILLRACE_TEST_EVERY_ALLOCATION") != nullptr ? 1 : 113;
    for (int64_t number = 0;; number += stride) {
      const int status = run_failing(program, number);
      const std::string said = TempFolder::read(folder_.path("said"));
      if (WIFEXITED(status) && WEXITSTATUS(status) == kEnough) return number;
      EXPECT_TRUE(WIFEXITED(status)) << "allocation " << number << " ends with signal " << WTERMSIG(status) << said;
      const int code = WEXITSTATUS(status);
      EXPECT_TRUE(code == kDone || code == kInternal)
          << "allocation " << number << " ends with " << code << ": " << said;
      if (code == kInternal) {
        EXPECT_NE(said.find("out of memory"), std::string::npos) << "allocation " << number << ": " << said;
      }
      for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
        EXPECT_NE(entry.path().extension(), ".tmp") << "allocation " << number;
      }
      if (HasFailure()) return -1;
    }
  }

  int run_failing(const std::function<int()>& program, int64_t number) {
    const std::string said = folder_.path("said");
    const pid_t child = ::fork();
    if (child == 0) {
      const int file = ::open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(file, STDOUT_FILENO);
      ::dup2(file, STDERR_FILENO);
      if (::chdir(folder_.path().c_str()) != 0) ::_exit(1);
      fail_any_allocation(number);
      int code = 1;
      try {
        code = program();
      } catch (...) {  // nothing may come out of a program
      }
      ::_exit(any_allocation_failed() ? code : kEnough);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }

  static int trainer(std::initializer_list<const char*> words) {
    return cli::run(static_cast<int>(words.size()), words.begin());
  }

  static constexpr const char* kYaml =
      "seed: 23\ndevice: cpu\nthreads: 2\n"
      "input:\n"
      "  - filename_queue: {files: rows.csv, shuffle: false, epochs: 2}\n"
      "  - csv_reader: {header: false}\n"
      "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n"
      "  - shuffle_batch: {batch_size: 4, min_after_dequeue: 4}\n"
      "model:\n"
      "  - dense: {units: 3, activation: relu}\n"
      "  - dense: {units: 1}\n"
      "loss: sigmoid_cross_entropy\n"
      "metrics: [accuracy]\n"
      "optimizer: {adam: {learning_rate: 0.1}}\n"
      "train: {log_every: 2}\n"
      "validation: {files: held.csv, every: 3, keep_best: true}\n";

  TempFolder folder_;
};

TEST_F(ProgramOutOfMemory, ChecksAreToldOfIt) {
  EXPECT_GT(fail_each([] { return trainer({"check", "small.yaml"}); }), 1000);
}

TEST_F(ProgramOutOfMemory, TrainingsAreToldOfIt) {
  EXPECT_GT(fail_each([] { return trainer({"train", "small.yaml", "--save", "m.safetensors"}); }), 1000);
  EXPECT_GT(fail_each([] { return trainer({"train", "small.yaml", "--json", "--trace", "trace.json"}); }), 1000);
}

TEST_F(ProgramOutOfMemory, PredictionsAreToldOfIt) {
  ASSERT_EQ(WEXITSTATUS(run_failing(
                [] {
                  return trainer({"train", "small.yaml", "--save", "m.safetensors"});
                },
                INT64_MAX)),
            kEnough);
  EXPECT_GT(fail_each([] { return trainer({"predict", "--model", "m.safetensors", "rows.csv"}); }), 1000);
  EXPECT_GT(fail_each([] { return trainer({"evaluate", "--model", "m.safetensors", "rows.csv", "--json"}); }), 1000);
}

TEST_F(ProgramOutOfMemory, UsersOfTheWrongWordsAreToldOfIt) {
  EXPECT_GT(fail_each([] {
              const int code = trainer({"train", "small.yaml", "--jason", "--json"});
              return code == 2 ? kDone : code;
            }),
            10);
}

TEST_F(ProgramOutOfMemory, AWatcherOfSignalsThatCannotBeMadeLeavesNothing) {
  const auto program = [] {
    try {
      const cli::SignalWatcher signals;
    } catch (const InternalError&) {
      sigset_t blocked;
      pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
      return cli::SignalWatcher::stop_request() == -1 && sigismember(&blocked, SIGTERM) == 0 ? kDone : 1;
    }
    return 1;
  };
  EXPECT_EQ(run_failing(program, 0), 0);
}

TEST_F(ProgramOutOfMemory, ALiveLineThatFailedComesLater) {
  const auto program = [] {
    cli::Progress progress(cli::ProgressStyle::live);
    fail_any_allocation(0);  // on the thread that goes on with the line
    progress.stopping();
    struct stat said {};
    while (said.st_size == 0 && ::fstat(STDERR_FILENO, &said) == 0) std::this_thread::yield();
    return kDone;
  };
  EXPECT_EQ(run_failing(program, INT64_MAX), 0);
  const std::string said = TempFolder::read(folder_.path("said"));
  EXPECT_TRUE(said.starts_with("\rstopping") && said.ends_with("\x1b[K\r\x1b[K")) << said;
}

// A program in C that trains, saves, and predicts with the model as it is and as it was saved. Returns kDone, kInternal
// for MILLRACE_ERROR_INTERNAL with a text, else 1.
int c_program() {
  millrace_catalog* catalog = nullptr;
  millrace_trainer* trainer = nullptr;
  millrace_network *network = nullptr, *loaded = nullptr;
  millrace_error* error = nullptr;
  const float values[2] = {1, 2};
  const void* const fields[1] = {values};
  float outputs[1] = {};
  millrace_status status = millrace_catalog_new(&catalog, &error);
  if (status == MILLRACE_OK) status = millrace_trainer_from_file("small.yaml", nullptr, 0, catalog, &trainer, &error);
  if (status == MILLRACE_OK) status = millrace_trainer_run(trainer, nullptr, nullptr, &error);
  if (status == MILLRACE_OK) status = millrace_trainer_save(trainer, "m.safetensors", &error);
  if (status == MILLRACE_OK) status = millrace_trainer_network(trainer, &network, &error);
  if (status == MILLRACE_OK) status = millrace_network_predict(network, fields, 1, outputs, &error);
  if (status == MILLRACE_OK) status = millrace_network_load("m.safetensors", 1, catalog, &loaded, &error);
  if (status == MILLRACE_OK) status = millrace_network_predict(loaded, fields, 1, outputs, &error);
  const bool told = error != nullptr && millrace_error_status(error) == status;
  if (told) ::write(STDERR_FILENO, millrace_error_text(error), std::string_view(millrace_error_text(error)).size());
  millrace_error_free(error);
  millrace_network_free(loaded);
  millrace_network_free(network);
  millrace_trainer_free(trainer);
  millrace_catalog_free(catalog);
  if (status == MILLRACE_OK) return kDone;
  return told && status == MILLRACE_ERROR_INTERNAL ? kInternal : 1;
}

TEST_F(ProgramOutOfMemory, ProgramsInCAreToldOfIt) { EXPECT_GT(fail_each(c_program), 1000); }

}  // namespace
}  // namespace millrace::testing

// The whole input path from the page cache (reading, decoding, shuffling and placing) against `pread` and decode_csv of
// the same bytes; and trainings from text against the times of their two halves.
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/budgets/budget.h"
#include "bench/budgets/data.h"
#include "bench/budgets/decoder.h"
#include "bench/budgets/input_path.h"
#include "bench/budgets/network.h"
#include "bench/budgets/training.h"

namespace millrace::bench {

namespace {

constexpr int kSteps = 150;

void bare(const std::string& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  std::string buffer(kChunk + 16384, ' ');
  Decoder decoder;
  for (off_t at = 0;;) {
    const ssize_t got = pread(descriptor, buffer.data(), buffer.size(), at);
    if (got <= 0) break;
    const std::string_view text(buffer.data(), static_cast<size_t>(got));
    at += static_cast<off_t>(decoder.run(text, std::min(kChunk, text.size())));
  }
  close(descriptor);
}

Ratio path_over_bare(const Setting& setting) {
  const std::string file = data_file(setting.folder);
  const Spec list = input_list({.files = file});
  Executor executor(2);
  return compare(
      setting.rounds, [&] { return timed(process_seconds, [&] { bare(file); }); },
      [&] { return timed(process_seconds, [&] { read_all(executor, list); }); });
}

// The time of a step if its processor time and its input's were divided among the processors without loss.
class Halves {
 public:
  explicit Halves(const std::string& file)
      : executor_(2),
        context_(Device::cpu(), executor_),
        network_(context_, kBatch),
        list_(input_list({.files = file})) {}

  double seconds() {
    const double steps = timed(process_seconds, [&] {
      for (int i = 0; i < kSteps; ++i) network_.step();
    });
    const double input = timed(process_seconds, [&] { read_all(executor_, list_); });
    return (steps / kSteps + input / (kRowsOfFile / kBatch)) / executor_.threads();
  }

 private:
  Executor executor_;
  Context context_;
  Network network_;
  Spec list_;
};

Ratio training_over_halves(const Setting& setting) {
  if (Executor::available_threads() < 2) throw Skip{"not so many processors"};
  const std::string file = data_file(setting.folder);
  Halves halves(file);
  return compare(
      setting.rounds, [&] { return halves.seconds(); }, [&] { return step_seconds(file, 2); });
}

// For a model whose step is tiny compared with its input. The base includes the start and the filling of the pool,
// which the training leaves out together with its first steps.
Ratio tiny_over_input(const Setting& setting) {
  if (Executor::available_threads() < 2) throw Skip{"not so many processors"};
  const std::string file = data_file(setting.folder);
  constexpr int kEpochs = 6;
  const Spec list = input_list({.files = file, .epochs = kEpochs});
  Executor executor(2);
  return compare(
      setting.rounds,
      [&] { return timed(wall_seconds, [&] { read_all(executor, list); }) / (kEpochs * kRowsOfFile / kBatch); },
      [&] { return step_seconds(file, 2, ""); });
}

}  // namespace

void add_input_budgets(Budgets& out) {
  out.push_back(
      {"input/path", "processor time of the input path over pread and decode_csv", 1.25, false, path_over_bare});
  out.push_back({"input/training", "a step on text over the processor time of step and input, shared out", 1.05, false,
                 training_over_halves});
  out.push_back({"input/tiny", "a step of a model without hidden layers, on text, over its input alone", 1.11, false,
                 tiny_over_input});
}

}  // namespace millrace::bench

// repeat: runs everything before it again when its rows end. Each run has its own passes, and so its own order of
// files.
#include <optional>

#include "millrace/input/catalog.h"
#include "millrace/input/rows/empty_passes.h"
#include "millrace/input/run/run_length.h"

namespace millrace {
namespace {

class Repeat final : public RowBuffer {
 public:
  struct Options {
    std::optional<int64_t> epochs;
    void declare(OptionReader& o) {
      o.optional("epochs", epochs, {.min = 1, .max = 4294967295.0}, "how often; absent: endlessly");
      o.used_as("epochs", OptionUse::ends);
      o.decides("epochs", Decides::length);
    }
  };
  static constexpr std::string_view kDoc = "runs everything before it again when it ends";
  static constexpr std::string_view kExample = "epochs: 10";

  explicit Repeat(const Options& options) : epochs_(options.epochs) {}

  bool endless(const std::vector<bool>& inputs) const override { return !epochs_ || RowBuffer::endless(inputs); }
  uint32_t passes() const override { return static_cast<uint32_t>(epochs_.value_or(1)) * RowBuffer::passes(); }

  std::optional<double> share() const override {
    const std::optional<double> of_run = epochs_ ? RowBuffer::share() : std::nullopt;
    if (!of_run) return {};
    return (static_cast<double>(runs_done_) + *of_run) / static_cast<double>(*epochs_);
  }

  RowSpan pull(int64_t at_most) override {
    // Billions of runs may have no rows, so the loop asks whether it was cancelled.
    while (!cancelled()) {
      if (const RowSpan span = input().pull(at_most)) {
        run_has_rows_ = true;
        return span;
      }
      if (epochs_ && runs_done_ + 1 >= static_cast<uint64_t>(*epochs_)) return {};
      if (!epochs_ && !run_has_rows_) throw_endless(name());
      ++runs_done_;
      run_has_rows_ = false;
      RowBuffer::rewind(run_of(runs_done_));
    }
    return {};
  }
  void rewind(uint32_t run) override {
    first_run_ = run * static_cast<uint32_t>(epochs_.value_or(1));
    runs_done_ = 0;
    run_has_rows_ = false;
    RowBuffer::rewind(run_of(0));
  }
  void save(State& state) const override {
    state.set("first_run", first_run_);
    state.set("runs_done", runs_done_);
    state.set("run_has_rows", run_has_rows_ ? 1 : 0);
    save_length(state, length());
  }
  void restore(const State& state) override {
    first_run_ = state.count("first_run", UINT32_MAX);
    const uint64_t then = saved_length(state, length());
    runs_done_ = state.count("runs_done", then == 0 ? State::kMostCount : then - 1);
    check_length(name(), {.saved = then, .now = length(), .run = first_run_, .begun = runs_done_ + 1});
    run_has_rows_ = state.count("run_has_rows", 1) != 0;
  }

 private:
  uint64_t length() const { return static_cast<uint64_t>(epochs_.value_or(0)); }
  // The number of a run for the ops before this one.
  uint32_t run_of(uint64_t done) const { return first_run_ + static_cast<uint32_t>(done); }

  const std::optional<int64_t> epochs_;
  uint32_t first_run_ = 0;
  uint64_t runs_done_ = 0;
  bool run_has_rows_ = false;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(repeat, Repeat);

// mix: gives rows of several inputs; the input of each row is drawn at random.
//
// Draw j, counted from 0 over the whole run, multiplies to_unit(philox64(seed, fnv1a64(name), j)) by the sum of the
// weights of the inputs that are in the draw. Then it adds up these weights in the order of `from`, and takes the first
// input at which the running sum is above that product. With `stop: first` the rows end when a drawn input has none
// left. With `stop: all` that input leaves the draw, and the next draw decides.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/input/catalog.h"
#include "millrace/input/ops/shared/join.h"

namespace millrace {

enum class MixStop : uint8_t { first, all };
template <>
struct EnumNames<MixStop> {
  static constexpr std::pair<std::string_view, MixStop> kNames[] = {{"first", MixStop::first}, {"all", MixStop::all}};
};

namespace {

constexpr double kMostWeight = 1e15;
constexpr double kMostSpread = 1e15;  // rarer inputs are not waited for

class Mix final : public RowBuffer {
 public:
  struct Options {
    std::vector<double> weights;
    MixStop stop = MixStop::first;

    void declare(OptionReader& o) {
      o.optional(
          "weights", weights, {.min = 0, .max = kMostWeight},
          "how often each input is drawn, relative to the others, in the order of from; absent: all equally often");
      o.optional("stop", stop, "end when the first input ends, or when all have ended");
    }
  };
  static constexpr std::string_view kDoc = "gives rows of several inputs, the input of each row drawn at random";
  static constexpr std::string_view kExample = "weights: [3, 1]";

  explicit Mix(Options options) : options_(std::move(options)) {}

  bool joins() const override { return true; }
  bool endless(const std::vector<bool>& inputs) const override {
    if (options_.stop == MixStop::all) return RowBuffer::endless(inputs);
    // The rows end if an input that can be drawn ends.
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i] && options_.weights[i] > 0) return false;
    }
    return true;
  }

  Port bind(const BindArgs& args) override {
    seed_ = args.seed;
    stream_ = fnv1a64(args.name);
    if (options_.weights.empty()) options_.weights.assign(args.inputs.size(), 1.0);
    if (options_.weights.size() != args.inputs.size()) {
      throw ConfigError(cat("weights: expected one number for each of the ", args.inputs.size(), " inputs, got ",
                            options_.weights.size()));
    }
    gone_.assign(args.inputs.size(), false);
    if (!(sum() > 0)) throw ConfigError("weights: expected at least one above 0");
    check_inputs(args);
    return RowBuffer::bind(args);
  }

  int64_t spread() const override {
    double total = 0, rarest = kMostWeight;
    for (const double weight : options_.weights) {
      total += weight;
      if (weight > 0) rarest = std::min(rarest, weight);
    }
    const double one_in = total / rarest * static_cast<double>(std::max<int64_t>(RowBuffer::spread(), 1));
    return static_cast<int64_t>(std::ceil(std::min(one_in, kMostSpread)));
  }

  // With `stop: first` the input that is furthest decides.
  std::optional<double> share() const override {
    if (options_.stop == MixStop::all) return RowBuffer::share();
    std::optional<double> most;
    for (size_t i = 0; i < gone_.size(); ++i) {
      if (const auto one = input(i).share(); one && options_.weights[i] > 0) most = std::max(*one, most.value_or(0));
    }
    return most;
  }

  RowSpan pull(int64_t) override {
    while (!ended_ && sum() > 0) {
      const size_t drawn = draw();
      const RowSpan row = input(drawn).pull(1);
      ++draws_;
      if (row) return row;
      gone_[drawn] = true;
      ended_ = options_.stop == MixStop::first;
    }
    return {};
  }
  // The draws go on, so another run mixes in another way. Only run 0 repeats the first run.
  void rewind(uint32_t run) override {
    if (run == 0) draws_ = 0;
    ended_ = false;
    gone_.assign(gone_.size(), false);
    RowBuffer::rewind(run);
  }
  void save(State& state) const override {
    state.set("draws", draws_);
    state.set("ended", ended_ ? 1 : 0);
    save_flags(state, "gone", gone_);
  }
  void restore(const State& state) override {
    draws_ = state.count("draws");
    ended_ = state.count("ended", 1) != 0;
    load_flags(state, "gone", gone_);
  }

 private:
  double weight(size_t index) const { return gone_[index] ? 0 : options_.weights[index]; }
  double sum() const {
    double total = 0;
    for (size_t i = 0; i < gone_.size(); ++i) total += weight(i);
    return total;
  }

  size_t draw() const {
    const double mark = to_unit(philox64(seed_, stream_, draws_)) * sum();
    double running = 0;
    size_t last = 0;
    for (size_t i = 0; i < gone_.size(); ++i) {
      if (weight(i) == 0) continue;
      running += weight(i);
      last = i;
      if (mark < running) return i;
    }
    return last;  // only after a rounding error
  }

  Options options_;
  uint64_t seed_ = 0, stream_ = 0;
  uint64_t draws_ = 0;
  bool ended_ = false;
  std::vector<bool> gone_;  // inputs that have ended
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(mix, Mix);
